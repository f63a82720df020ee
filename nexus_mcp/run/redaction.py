"""Keep secrets out of what a run writes: logs, transcripts, outputs, briefs, questions, reports.

A variable of the environment counts as secret by its name, and one of a linked `.env` file also if its value looks like
a secret. A password in a URL counts in any variable. A secret value is replaced by `[NAME]` wherever it occurs. Fields
of events that the run reads back, such as paths and commits, stay.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nexus_mcp.run.events import Event

_NAME = re.compile(r"(?i)(key|token|secret|passw|passphrase|credential|auth(?!or)|cookie|session_id|dsn|private)")
_PASSWORD = re.compile(r"://[^/\s:@]*:([^@\s/]+)@")
_SHORTEST = 8
"""Shorter values do not count as secrets: they would be replaced in many other places."""
_LOOK = 16
"""Minimum length of a value of an `.env` file that counts as secret by its looks, whatever its name."""
_NOT_SECRET = frozenset(("SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_SESSION_ID", "KEYBOARD"))
_STRUCTURE = frozenset(
    (
        *("type", "at", "run", "host", "base", "path", "branch", "commit", "id", "harness", "model", "agent", "role"),
        *("files", "name", "tier", "strategy", "status", "phase", "trigger", "checkout"),
    )
)
"""Fields of events that the run reads back; with a part replaced the run could not use them."""
_ENV_FILE = re.compile(r"(?i)^(\.env(\..*)?|.*\.env)$")
_ENV_BYTES = 1 << 20
_QUOTES = "\"'`"


class Redactor:
    """Replaces the secrets of one environment, and those of the `.env` files that worktrees link to."""

    def __init__(self, environ: Mapping[str, str] | None = None, *, root: str = "", links: Iterable[str] = ()) -> None:
        """Read the environment, and the `.env` files among `links`, which are paths relative to `root`."""
        secrets = dict(_of_environment(os.environ if environ is None else environ))
        for link in links:
            secrets.update(_of_file(os.path.join(root, link)))
        forms = {form: f"[{name}]" for value, name in secrets.items() for form in _forms(value)}
        self._table = [(value, forms[value]) for value in sorted(forms, key=len, reverse=True)]
        self._bytes = [(value.encode("utf-8", "surrogateescape"), name.encode()) for value, name in self._table]

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        for value, name in self._table:
            if value in text:
                text = text.replace(value, name)
        return text

    def data(self, data: bytes) -> bytes:
        """Return the bytes without secrets."""
        for value, name in self._bytes:
            if value in data:
                data = data.replace(value, name)
        return data

    def event(self, event: Event) -> Event:
        """Return the event without secrets in its texts; the fields of _STRUCTURE stay."""
        if not self._table:
            return event
        before = event.model_dump()
        after = {name: value if name in _STRUCTURE else self.value(value) for name, value in before.items()}
        return event if after == before else type(event).model_validate(after)

    def value(self, value: Any) -> Any:
        """Return a JSON value without secrets in its texts; names of fields stay."""
        if not self._table:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {name: self.value(one) for name, one in value.items()}
        return [self.value(one) for one in value] if isinstance(value, list) else value


def _of_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield (value, name) of each secret; the path of an existing file is no secret."""
    for name, value in environ.items():
        is_named = bool(_NAME.search(name)) and name not in _NOT_SECRET
        if is_named and len(value) >= _SHORTEST and not value.isspace() and not os.path.exists(value):
            yield value, name
        yield from _passwords(name, value)


def _passwords(name: str, value: str) -> Iterator[tuple[str, str]]:
    """Yield (password, name) of each URL with a password in a value, such as `postgres://user:password@host`."""
    for found in _PASSWORD.finditer(value):
        if len(found[1]) >= _SHORTEST:
            yield found[1], name


def _of_file(path: str) -> Iterator[tuple[str, str]]:
    """Yield (value, name) of each secret in an `.env` file; nothing for any other file, or for an unreadable one."""
    if not _ENV_FILE.match(os.path.basename(path)):
        return
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return
            text = file.read(_ENV_BYTES).decode("utf-8", "surrogateescape")
    except OSError:  # the agents cannot read it either
        return
    for name, value in _assignments(text):
        for one in {value, *(line for line in value.split("\n") if len(line) >= _LOOK)}:
            is_long = len(one) >= _SHORTEST and not one.isspace()
            if is_long and ((_NAME.search(name) and not os.path.exists(one)) or _looks_secret(one)):
                yield one, name
        yield from _passwords(name, value)


def _looks_secret(value: str) -> bool:
    """Return whether a value looks like a key: long, in one piece, with letters and digits, no path and no address."""
    return (
        len(value) >= _LOOK
        and not any(one.isspace() for one in value)
        and any(one.isdigit() for one in value)
        and any(one.isalpha() for one in value)
        and "://" not in value
        and not value.startswith(("/", "./", "../", "~/"))
    )


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """Yield (name, value) of the lines `NAME=value` and `export NAME='value'`; a quoted value may span lines."""
    lines = iter(text.replace("\r\n", "\n").split("\n"))
    for line in lines:
        name, equals, rest = line.strip().removeprefix("export ").partition("=")
        name, rest = name.strip(), rest.strip()
        if not equals or not name or name.startswith("#"):
            continue
        quote = rest[:1]
        if not quote or quote not in _QUOTES:
            yield name, rest.partition(" #")[0].strip()
            continue
        rest = rest[1:]
        while quote not in rest and (following := next(lines, None)) is not None:
            rest += f"\n{following}"
        value = rest.partition(quote)[0]
        yield name, value
        if "\\n" in value:  # between double quotes, \n means a line break
            yield name, value.replace("\\n", "\n")


def _forms(value: str) -> set[str]:
    """Return the value itself, and its forms in a JSON string and in a JSON string within another one."""
    found = {value}
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        found |= {once, json.dumps(once, ensure_ascii=ascii_only)[1:-1]}
    return found
