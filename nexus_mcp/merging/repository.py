"""Run git on the repository around a project: read history.json of a commit, and change the configuration.

Nothing is fetched, and no program that the repository names is run.
"""

from __future__ import annotations

import os
import signal

from nexus_mcp.errors import NexusError, UsageError
from nexus_mcp.merging.versions import MergeUndecided
from nexus_mcp.store.journal import HISTORY, HISTORY_LIMIT
from nexus_mcp.workspace import find_root

HEAD = "HEAD"
_NEXUS = ".nexus"
_FILE = b"100"  # prefix of the mode of a regular file
FIX_GIT = "Run git status to see why git fails, then run the command again."
_QUESTION = "the file's content in a commit"
SECONDS = 10.0
"""Timeout of one git command."""
# Variables that could point git to another repository (git rev-parse --local-env-vars).
_LOCAL = frozenset(
    f"GIT_{name}"
    for name in (
        "ALTERNATE_OBJECT_DIRECTORIES", "CONFIG", "CONFIG_PARAMETERS", "CONFIG_COUNT", "OBJECT_DIRECTORY", "DIR",
        "WORK_TREE", "IMPLICIT_WORK_TREE", "GRAFT_FILE", "INDEX_FILE", "NO_REPLACE_OBJECTS", "REPLACE_REF_BASE",
        "PREFIX", "SHALLOW_FILE", "COMMON_DIR", "INTERNAL_SUPER_PREFIX", "NAMESPACE",
    )
)  # fmt: skip
# In a partial clone git fetches missing objects with a program that the repository names.
NO_FETCH = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1"}
# A monitor, hook or pager in the configuration is a program that the repository names.
SAFE = ("--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=")


class UnknownCommit(MergeUndecided):
    """There is no such commit, or no repository."""


def committed_copy(root: str, revision: str = HEAD) -> bytes | None:
    """Return history.json of the commit `revision` for the project at `root`; None if the commit has no such file.

    Raise UnknownCommit without such a commit or a repository; MergeUndecided when git fails, or when the file in the
    commit is too large or no regular file.
    """
    # If `.nexus` is a repository of its own, git tracks the file there.
    folder = os.path.join(root, _NEXUS)
    path = HISTORY
    if not os.path.isdir(folder):
        folder, path = root, f"{_NEXUS}/{HISTORY}"
    if not os.path.lexists(os.path.join(find_root(None, {}, folder), ".git")):
        raise UnknownCommit("there is no git repository here")
    name = f"{revision}^{{commit}}"
    code, commit = query(
        _QUESTION, folder, "rev-parse", "--verify", "--quiet", "--end-of-options", name, allowed=(0, 1)
    )
    if code:
        raise UnknownCommit(f"git has no commit {revision!r} here")
    listed = query(_QUESTION, folder, "ls-tree", "-z", commit.decode().strip(), "--", path)[1]
    if not listed:
        return None
    mode, _, object_ = listed.partition(b"\t")[0].split(b" ")
    if not mode.startswith(_FILE):
        raise MergeUndecided(f"it is not a regular file in {revision}")
    blob = object_.decode()
    size = int(query(_QUESTION, folder, "cat-file", "-s", blob)[1])
    if size > HISTORY_LIMIT:
        raise MergeUndecided(f"it is larger in {revision} than {HISTORY_LIMIT >> 20} MiB, the limit for reading it")
    # The stored bytes, without the filters and conversions of the attributes.
    return query(_QUESTION, folder, "cat-file", "blob", blob)[1]


def query(
    question: str, folder: str, *words: str, allowed: tuple[int, ...] = (0,), advice: str = FIX_GIT
) -> tuple[int, bytes]:
    """Run git in `folder`. Return (exit code, stdout).

    Raise MergeUndecided if the exit code is not in `allowed`; the error contains `question` (the unknown fact) and
    `advice`.
    """
    try:
        code, data, complaint = run_git(folder, *words)
    except UsageError as error:
        code, data, complaint = -1, b"", error.fault.rstrip(".")
    if code not in allowed:
        raise MergeUndecided(f"git does not report {question} ({complaint})", advice)
    return code, data


class Repository:
    """A repository with a working tree. `top`: its root; `prefix`: path from there to the project, "" or "a/b/"."""

    __slots__ = ("prefix", "top")

    def __init__(self, top: str, prefix: str) -> None:
        self.top = top
        self.prefix = prefix

    @classmethod
    def around(cls, root: str) -> Repository:
        """Return the repository that contains the folder `root`. Raise UsageError without repository or git."""
        found = []
        for question in ("--show-toplevel", "--show-prefix"):
            code, answer, complaint = _git(root, "rev-parse", question)
            if code:
                raise UsageError(
                    f"{root} is in no git repository with a working tree (git: {complaint}).",
                    next_step="Choose another project with --project, or make a repository there first.",
                )
            found.append(answer.removesuffix("\n"))
        return cls(os.path.realpath(found[0]), found[1])

    def config(self, key: str) -> list[str]:
        """Return the values of `key` in the repository's own configuration."""
        _, answer, _ = _git(self.top, "config", "--local", "--null", "--get-all", key)
        return answer.split("\0")[:-1]

    def set_config(self, key: str, value: str) -> bool:
        """Set `key` to this one value. Return whether that is a change. Raise NexusError."""
        if self.config(key) == [value]:
            return False
        self._change("--replace-all", key, value)
        return True

    def unset_config(self, key: str) -> bool:
        """Remove `key`, and its section if that becomes empty. Return whether the key was there. Raise NexusError."""
        if not self.config(key):
            return False
        self._change("--unset-all", key)
        return True

    def attribute(self, name: str, path: str) -> str:
        """Return the effective value of an attribute of the file at `path`, relative to `top`; "" if git fails."""
        _, answer, _ = _git(self.top, "check-attr", "-z", name, "--", path)
        return answer.split("\0")[2] if answer.count("\0") >= 3 else ""

    def _change(self, *words: str) -> None:
        code, _, complaint = _git(self.top, "config", "--local", *words)
        if code:
            raise NexusError(
                f"git could not change its configuration: {complaint}",
                next_step="Check that no other git process runs in the repository, then run the command again.",
            )


def _git(folder: str, *words: str) -> tuple[int, str, str]:
    """Run git as `run_git` does, with stdout as text."""
    code, answer, complaint = run_git(folder, *words)
    return code, os.fsdecode(answer), complaint


def run_git(
    folder: str, *words: str, data: bytes = b"", index: str = "", seconds: float | None = None, is_literal: bool = True
) -> tuple[int, bytes, str]:
    """Run git in `folder`. Return (exit code, stdout, reason of a failure).

    Runs no program that the repository names, and takes paths literally, not as patterns, unless `is_literal` is false.
    `data` is stdin. `index` is a file that replaces the repository's index. The timeout is `seconds`, or SECONDS. Raise
    UsageError without git, after the timeout, and if `seconds` is not above 0. Ctrl-C at a terminal does not reach git,
    because it would interrupt a change.
    """
    import subprocess

    limit = SECONDS if seconds is None else seconds
    if seconds is not None and seconds <= 0:
        raise UsageError(f"No time is left for git {words[0]} in {folder}.", next_step="Call again.")
    environment = {name: value for name, value in os.environ.items() if name not in _LOCAL}
    try:
        done = subprocess.run(  # noqa: S603
            ["git", *SAFE, "-C", folder, *words],  # noqa: S607 - git from the PATH of the user
            env={
                **environment,
                **NO_FETCH,
                "GIT_LITERAL_PATHSPECS": str(int(is_literal)),
                **({"GIT_INDEX_FILE": index} if index else {}),
            },
            input=data,
            capture_output=True,
            check=False,
            timeout=limit,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # Windows ignores start_new_session
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"git did not answer in {round(limit, 2):g} seconds (git {words[0]} in {folder}).",
            next_step="Run that git command yourself to see what it waits for, then call again.",
        ) from error
    except OSError as error:
        raise UsageError(f"git cannot be run: {error.strerror}.", next_step="Install git, then call again.") from error
    return done.returncode, done.stdout, _complaint(done.returncode, done.stderr.decode("utf-8", "replace"))


def _complaint(code: int, output: str) -> str:
    if code >= 0:
        return reason(output) or (f"exit code {code}" if code else "")
    try:
        return f"ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"ended by signal {-code}"


def reason(output: str) -> str:
    """Return the first line of git's output that begins with "fatal: ", else its first line, "" for no output."""
    lines = output.strip().splitlines()
    return next((line for line in lines if line.startswith("fatal: ")), lines[0] if lines else "")
