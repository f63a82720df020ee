"""The git repository around a project, asked and changed by git itself."""

from __future__ import annotations

import os
import signal

from nexus_mcp.errors import NexusError, UsageError

# What one git tells another that it starts, and would tell ours of another repository (git rev-parse --local-env-vars).
_LOCAL = frozenset(
    f"GIT_{name}"
    for name in (
        "ALTERNATE_OBJECT_DIRECTORIES", "CONFIG", "CONFIG_PARAMETERS", "CONFIG_COUNT", "OBJECT_DIRECTORY", "DIR",
        "WORK_TREE", "IMPLICIT_WORK_TREE", "GRAFT_FILE", "INDEX_FILE", "NO_REPLACE_OBJECTS", "REPLACE_REF_BASE",
        "PREFIX", "SHALLOW_FILE", "COMMON_DIR", "INTERNAL_SUPER_PREFIX", "NAMESPACE",
    )
)  # fmt: skip
# In a partial clone git fetches an object that is missing, through a program or a helper that the repository names.
NO_FETCH = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1"}
# A configured monitor, hook or pager is a program of somebody's choice.
SAFE = ("--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=")

SECONDS = 10.0


class Repository:
    """A repository with a working tree. `top` is its root, `prefix` the way from there to the project: "" or "a/b/"."""

    __slots__ = ("prefix", "top")

    def __init__(self, top: str, prefix: str) -> None:
        self.top = top
        self.prefix = prefix

    @classmethod
    def around(cls, root: str) -> Repository:
        """The one that the folder `root` lies in. Raises UsageError when there is none, or no git to ask."""
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
        """The values of `key` in the repository's own configuration."""
        _, answer, _ = _git(self.top, "config", "--local", "--null", "--get-all", key)
        return answer.split("\0")[:-1]

    def set_config(self, key: str, value: str) -> bool:
        """Give `key` this one value; whether that changed anything. Raises NexusError."""
        if self.config(key) == [value]:
            return False
        self._change("--replace-all", key, value)
        return True

    def unset_config(self, key: str) -> bool:
        """Take `key` out, and its section when nothing else is in it; whether it was there. Raises NexusError."""
        if not self.config(key):
            return False
        self._change("--unset-all", key)
        return True

    def attribute(self, name: str, path: str) -> str:
        """The value of an attribute of the file at `path`, relative to `top`: what is in force, whoever set it."""
        _, answer, _ = _git(self.top, "check-attr", "-z", name, "--", path)
        return answer.split("\0")[2] if answer.count("\0") >= 3 else ""

    def _change(self, *words: str) -> None:
        code, _, complaint = _git(self.top, "config", "--local", *words)
        if code:
            raise NexusError(
                f"git could not change its configuration: {complaint}",
                next_step="See that no other git is at work there, then run it again.",
            )


def _git(folder: str, *words: str) -> tuple[int, str, str]:
    """As `ask`, with stdout as text."""
    code, answer, complaint = ask(folder, *words)
    return code, os.fsdecode(answer), complaint


def ask(
    folder: str, *words: str, data: bytes = b"", index: str = "", seconds: float | None = None
) -> tuple[int, bytes, str]:
    """(exit code, stdout, why it failed). Runs nothing that the repository names. Paths are no patterns.

    `data` comes on stdin. `index` is a file that stands for the repository's own index.
    Raises UsageError when there is no git, or it does not end in `seconds`, or SECONDS. Ctrl-C at a terminal does not
    reach git: whoever carries a change through would lose it in the middle of that.
    """
    import subprocess

    limit = SECONDS if seconds is None else seconds
    if seconds is not None and seconds <= 0:
        raise UsageError(f"No time is left for git {words[0]} in {folder}.", next_step="Call again.")
    environment = {name: value for name, value in os.environ.items() if name not in _LOCAL}
    try:
        done = subprocess.run(  # noqa: S603
            ["git", *SAFE, "-C", folder, *words],  # noqa: S607 - the one that the user has
            env={
                **environment,
                **NO_FETCH,
                "GIT_LITERAL_PATHSPECS": "1",
                **({"GIT_INDEX_FILE": index} if index else {}),
            },
            input=data,
            capture_output=True,
            check=False,
            timeout=limit,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # what Windows has for that
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"git did not answer in {round(limit, 2):g} seconds (git {words[0]} in {folder}).",
            next_step="Run that git command yourself to see what it waits for, then call again.",
        ) from error
    except OSError as error:
        raise UsageError(f"git cannot be run: {error.strerror}.", next_step="Install git, then call again.") from error
    return done.returncode, done.stdout, _complaint(done.returncode, done.stderr.decode("utf-8", "replace"))


def _complaint(code: int, said: str) -> str:
    if code >= 0:
        return reason(said) or (f"exit code {code}" if code else "")
    try:
        return f"ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"ended by signal {-code}"


def reason(output: str) -> str:
    """Why git failed, of all that it said: warnings may come before that."""
    lines = output.strip().splitlines()
    return next((line for line in lines if line.startswith("fatal: ")), lines[0] if lines else "")
