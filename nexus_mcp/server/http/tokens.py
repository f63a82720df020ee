"""The token file: hashes, names, projects and rights of the tokens that may call a server over HTTP.

A token is 256 random bits, so a plain SHA-256 protects it: no dictionary helps against it, and a slow hash would only
slow down each request.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import re
import secrets
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from nexus_mcp import log
from nexus_mcp.errors import NexusError, UsageError
from nexus_mcp.program import command
from nexus_mcp.store.codec import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PREFIX = "nexus_"
READ, WRITE, CLOSE = "read", "write", "close"
RIGHTS = (READ, WRITE, CLOSE)
MOST = 1000
"""Tokens in a file, at most."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PROJECT = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_BYTES = 32
_LARGEST = 1 << 20
_VERSION = 1
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class Token(NamedTuple):
    """The record of a token. `projects` is None for all projects; `expires` is in seconds of the epoch.
    `is_generated` is true if the server made the token for its run, without a file.
    """

    name: str
    hash: str
    projects: tuple[str, ...] | None
    rights: frozenset[str]
    created_at: str = ""
    expires: float = math.inf
    is_generated: bool = False

    @property
    def holder(self) -> str:
        """Return the holder of the token's idempotency keys. All generated tokens are one holder: a client may repeat
        a call after a restart of the server.
        """
        return "generated" if self.is_generated else self.hash

    @property
    def id(self) -> str:
        """Return the id of the token. A new token with an old name has another id."""
        return self.hash

    def may_enter(self, project: str) -> bool:
        """Return whether the token is for the project with this name."""
        return self.projects is None or project in self.projects


def generate() -> str:
    """Return a new token."""
    return PREFIX + secrets.token_urlsafe(_BYTES)


def hash_of(text: str) -> str:
    """Return the hash of a token as the file has it."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def find(tokens: Iterable[Token], text: str) -> Token | None:
    """Return the token with this text, or None. The time does not depend on which token matches."""
    wanted, found = hash_of(text), None
    for token in tokens:
        if hmac.compare_digest(token.hash, wanted):
            found = token
    return found


def default_path() -> str:
    """Return the default path of the token file."""
    base = os.environ.get("XDG_CONFIG_HOME") or ""
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "nexus-mcp", "tokens.json")


def load(path: str) -> tuple[Token, ...]:
    """Return the tokens in the file, () if it is absent. Raise UsageError if it cannot be used, or if other users can
    read or change it.
    """
    try:
        fd = os.open(path, os.O_RDONLY | _NO_FOLLOW)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise UsageError(
            f"The token file {path!r} cannot be opened: {error.strerror}.",
            next_step="It has to be a plain file of yours, not a link.",
        ) from error
    try:
        _check(os.fstat(fd), path)  # before open(), which raises an error of its own for a folder
        with open(fd, "rb", closefd=False) as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:  # a server that ignored it would go on with tokens that may be revoked
        raise UsageError(
            f"The token file {path!r} cannot be read: {error.strerror}.", next_step="Check the disk that it is on."
        ) from error
    finally:
        os.close(fd)
    if len(data) > _LARGEST:
        raise UsageError(f"The token file {path!r} is larger than 1 MiB.", next_step="Name the right file: --tokens.")
    return _parse(data, path)


def add(path: str, name: str, projects: tuple[str, ...] | None, rights: Iterable[str], created_at: str) -> str:
    """Add a token to the file, and return it; create the file if it is absent. Raise UsageError, NexusError."""
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot name a token: use letters, digits, '.', '_' and '-', at most 64.",
            next_step=f"Example: {command('token new laptop')}",
        )
    wrong = [project for project in projects or () if not _PROJECT.fullmatch(project)]
    if wrong:
        raise UsageError(
            f"{wrong[0]!r} cannot name a project: use lower case letters, digits and '-'.",
            next_step="A project is named as in its address: /p/NAME/mcp.",
        )
    text = generate()
    with _lock(path):
        tokens = load(path)
        if any(token.name == name for token in tokens):
            raise UsageError(
                f"There is a token {name} already.",
                next_step=f"Choose another name, or: {command(f'token revoke {name}')}",
            )
        if len(tokens) >= MOST:
            raise NexusError(f"The file has {MOST} tokens, the most it may have.", next_step="Revoke some of them.")
        _write(path, [*tokens, Token(name, hash_of(text), projects, frozenset(rights), created_at)])
    return text


def revoke(path: str, name: str) -> None:
    """Remove a token from the file. Raise UsageError if the file has no token with this name."""
    with _lock(path):
        tokens = load(path)
        left = [token for token in tokens if token.name != name]
        if len(left) == len(tokens):
            raise UsageError(f"There is no token {name!r}.", next_step=f"{command('token list')} shows the names.")
        _write(path, left)


def _check(info: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(info.st_mode):
        raise UsageError(f"The token file {path!r} is not a plain file.", next_step="Name another file: --tokens.")
    if os.name != "posix":
        return
    if info.st_uid not in (0, os.geteuid()):
        raise UsageError(f"The token file {path!r} belongs to another user.", next_step="Use a file of yours.")
    if info.st_mode & _OTHERS:
        raise UsageError(
            f"Others may read or change the token file {path!r} (mode {stat.S_IMODE(info.st_mode):o}).",
            next_step="Take their permissions away: chmod 600 FILE. If others could read it, make new tokens.",
        )


def _parse(data: bytes, path: str) -> tuple[Token, ...]:
    try:
        value = decode(data, path)
    except NexusError as error:
        raise UsageError(f"The token file cannot be read: {error.fault}.", next_step="Nothing was changed.") from error
    rows = value.get("tokens") if isinstance(value, dict) and value.get("version") == _VERSION else None
    found = [_token(row) for row in rows] if isinstance(rows, list) and len(rows) <= MOST else [None]
    tokens = tuple(token for token in found if token is not None)
    names = {token.name for token in tokens}
    if len(tokens) != len(found) or len(names) != len(tokens):
        raise UsageError(
            f"The token file {path!r} does not have the shape of version {_VERSION}.",
            next_step=f"Name the right file with --tokens, or make a new one: {command('token new NAME')}",
        )
    return tokens


def _token(row: Any) -> Token | None:
    """Return the token of a row; None if the row is malformed, so that no token gets more rights than intended."""
    if not isinstance(row, dict):
        return None
    name, hash_, projects, rights = (row.get(key) for key in ("name", "hash", "projects", "rights"))
    if not (isinstance(name, str) and NAME.fullmatch(name) and isinstance(hash_, str) and _HASH.fullmatch(hash_)):
        return None
    if "projects" not in row or not (projects is None or _has_texts(projects)):
        return None
    if not (isinstance(rights, list) and _has_texts(rights) and set(rights) <= set(RIGHTS)):
        return None
    at = row.get("created_at")
    return Token(
        name,
        hash_,
        None if projects is None else tuple(projects),
        frozenset(rights),
        at if isinstance(at, str) else "",
    )


def _has_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _write(path: str, tokens: list[Token]) -> None:
    rows = [
        {
            "name": token.name,
            "hash": token.hash,
            "projects": None if token.projects is None else list(token.projects),
            "rights": [right for right in RIGHTS if right in token.rights],
            "created_at": token.created_at,
        }
        for token in tokens
    ]
    data = json.dumps({"version": _VERSION, "tokens": rows}, indent=2).encode() + b"\n"
    folder = os.path.dirname(path) or "."
    temporary = f"{path}.{secrets.token_hex(8)}.tmp"
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o600)
        try:
            with open(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(fd)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise NexusError(
            f"The token file {path!r} cannot be written: {error.strerror}.", next_step="Nothing was changed."
        ) from error
    if os.name == "posix":
        _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    """Sync the name of the file. The change is made already, so a failure is only logged."""
    try:
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        log.warning(f"a power cut could undo this change: {folder!r} cannot be synced: {error.strerror}")


@contextmanager
def _lock(path: str) -> Iterator[None]:
    """Hold the lock of the file in the block, so that no concurrent change is lost. Raise NexusError."""
    try:
        os.makedirs(os.path.dirname(path) or ".", mode=0o700, exist_ok=True)
        fd = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | _NO_FOLLOW, 0o600)
    except OSError as error:
        raise NexusError(
            f"The folder of the token file {path!r} cannot be used: {error.strerror}.",
            next_step="Name another file: --tokens.",
        ) from error
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
