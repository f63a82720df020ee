"""Find the project root and the branch that is checked out, check harness ids, and limit the sessions of runs."""

from __future__ import annotations

import errno
import os
import stat

from nexus_mcp.errors import StorageError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import TypeVar

    T = TypeVar("T")

DEFAULT_HARNESS_ID = "nexus-mcp"
ROOT_VARIABLE = "NEXUS_PROJECT_ROOT"
PROJECT_VARIABLE = "CLAUDE_PROJECT_DIR"
"""The environment variable in which Claude Code names the project to the server and hooks of a plugin."""
NO_BRANCH = "_default"
_PLUGINS = "plugins"
_HOMES = (("CLAUDE_CONFIG_DIR", ".claude"), ("CODEX_HOME", ".codex"))
"""For each harness: the environment variable with its folder, and the default folder below the home folder."""
_GIT_FILE_LIMIT = 4096
# After these errors a file counts as absent: it does not exist, is a folder, or we may not read it. Other errors are
# failures of the system, except for two in `_or_nothing`.
_NOTHING = (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError, ValueError)
_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
_ID_CHARACTERS = _LOWER | frozenset("0123456789-")
RUN_VARIABLE = "NEXUS_RUN"
"""Environment variable of the sessions of `nexus-mcp run`: the id of the run."""
LIMIT_VARIABLE = "NEXUS_CAPABILITY"
"""Environment variable of a run's session that may not edit all files: the capability (catalog/path_limits.py)."""
_FREE = frozenset({"reading", "nexus_artifact_write"})
"""Capability classes of the tools that a session of a run may call: the run changes plan and tasks itself."""
TAKEN = ("artifacts", "cache", "idempotency", "lock", "runs")
"""Names in .nexus/state that all harnesses share."""


class Workspace:
    """One project and the harness that works in it. `root` is absolute, with links resolved.

    `state_root` is the folder whose `.nexus` has the state and the history: `root`, or the main worktree (worktree.py).
    `mount` is the prefix that the harness puts before the names of our tools; "" means the one of its capability map.
    """

    __slots__ = ("harness_id", "mount", "root", "state_root")

    def __init__(self, root: str, harness_id: str = DEFAULT_HARNESS_ID, state_root: str = "", mount: str = "") -> None:
        self.root = root
        self.harness_id = harness_id
        self.state_root = state_root or root
        self.mount = mount

    def of_harness(self, harness_id: str) -> Workspace:
        """Return the workspace of the same project for another harness."""
        return Workspace(self.root, harness_id, self.state_root, self.mount * (harness_id == self.harness_id))

    def branch(self) -> str:
        """Return the branch checked out now: its name, `HEAD` when detached, `_default` if no branch is known.

        Raise StorageError when reading fails.
        """
        return _branch(self.root)


def run_denial(tool: str, classes: Mapping[str, Collection[str]], environ: Mapping[str, str]) -> str:
    """Return the reason why a session of a run may not call a tool; "" if it may, or if this is no session of a run.

    `tool` is the name of the tool, with or without the prefix of the client; `classes` maps our tools to their
    capability classes.
    """
    if not environ.get(RUN_VARIABLE):
        return ""
    # A tool without classes is denied, too: nothing says that it only reads.
    kept = [name for name, own in classes.items() if not own or not _FREE.issuperset(own)]
    name = next((name for name in kept if tool.endswith(name)), "")
    return name and (
        f"This session belongs to a run, which keeps plan and tasks itself, so {name} is denied. Do your task, "
        "and report at the end which other work is needed."
    )


def check_harness_id(value: str) -> str:
    """Return `value`. Raise UsageError unless it matches `^[a-z][a-z0-9-]*$` and is not one of TAKEN."""
    if is_harness_id(value):
        return value
    if value not in TAKEN:
        raise UsageError(
            f"The harness id {value!r} is not usable: a harness id starts with a-z and goes on with a-z, 0-9 and -.",
            next_step="Example: --harness-id claude-code",
        )
    raise UsageError(
        f"The harness id {value!r} is not usable: nexus-mcp uses .nexus/state/{value} for something else.",
        next_step="Example: --harness-id claude-code",
    )


def is_harness_id(name: str) -> bool:
    """Return whether `name` is a valid harness id, and so the name of a harness's folder in `.nexus/state`."""
    return bool(name) and name[0] in _LOWER and _ID_CHARACTERS.issuperset(name) and name not in TAKEN


def find_root(option: str | None, environ: Mapping[str, str], cwd: str) -> str:
    """Return the project root, absolute and with links resolved.

    The first of: the option, the environment variable NEXUS_PROJECT_ROOT (empty counts as unset), the nearest folder at
    or above `cwd` that holds `.git`, `cwd`. If `cwd` is in a folder of plugins, the folder that CLAUDE_PROJECT_DIR
    names replaces `cwd`, provided that its path is absolute, and that it exists and is in no folder of plugins. Raise
    UsageError when a named folder does not exist or is inside `.git`, and StorageError when the system fails to look
    for `.git`.
    """
    for source, value in (("--project", option), (ROOT_VARIABLE, environ.get(ROOT_VARIABLE) or None)):
        if value is None:
            continue
        path = os.path.realpath(os.path.join(cwd, value)) if value and "\0" not in value else ""
        if not path or not os.path.isdir(path):
            raise UsageError(f"{source}: {value!r} is not a folder.", next_step="Name an existing project folder.")
        if f"{os.sep}.git" in path:
            _check_outside(path, source, value)
        return path
    start = os.path.realpath(cwd)
    if _plugin_folder(start, environ):
        start = _project_variable(environ) or start
    return _git_root(start) or start


def git_folders(root: str) -> tuple[str, str] | None:
    """Return (the top of the working tree around `root`, the folder of git for it); None outside of git.

    Raise StorageError.
    """
    top = _git_root(root)
    return None if top is None else (top, _git_dir(os.path.join(top, ".git")))


def misplaced_in(option: str | None, environ: Mapping[str, str], cwd: str) -> str:
    """Return the folder of plugins that `cwd` is in, if nothing names the project; else "".

    A folder of plugins holds no project: the client that started the server there did not name the project.
    """
    if option is not None or environ.get(ROOT_VARIABLE) or _project_variable(environ):
        return ""
    return _plugin_folder(os.path.realpath(cwd), environ)


def _project_variable(environ: Mapping[str, str]) -> str:
    """Return the folder that CLAUDE_PROJECT_DIR names, with links resolved; "" if it names none or one of plugins."""
    named = environ.get(PROJECT_VARIABLE) or ""
    if not os.path.isabs(named) or "\0" in named or not os.path.isdir(named):
        return ""
    path = os.path.realpath(named)
    return "" if _plugin_folder(path, environ) else path


def _plugin_folder(path: str, environ: Mapping[str, str]) -> str:
    """Return the folder in which a harness keeps its plugins, if the resolved `path` is in it; else ""."""
    home = environ.get("HOME") or environ.get("USERPROFILE") or ""
    for variable, default in _HOMES:
        for base in (environ.get(variable), os.path.join(home, default) if home else None):
            folder = os.path.realpath(os.path.join(base, _PLUGINS)) if base and "\0" not in base else ""
            if folder and os.path.join(path, "").startswith(os.path.join(folder, "")):
                return folder
    return ""


def _check_outside(path: str, source: str, value: str) -> None:
    """Raise UsageError for a folder within `.git`, where a `.nexus` stays hidden. A worktree there is allowed."""
    top = _git_root(path)
    own = None if top is None else os.path.join(top, ".git")
    if own is not None and os.path.join(path, "").startswith(os.path.join(own, "")):
        problem = f"{source}: {value!r} is within {own!r}, the folder of git itself."
        raise UsageError(problem, next_step=f"Name the project folder, {top!r}.")


def _git_root(start: str) -> str | None:
    """Return the nearest folder at or above `start` that holds `.git`, None if there is none. Raise StorageError."""
    folder = start
    while True:
        if _mode(os.path.join(folder, ".git")) is not None:
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _branch(root: str) -> str:
    top = _git_root(root)
    if top is None:
        return NO_BRANCH
    path = os.path.join(_git_dir(os.path.join(top, ".git")), "HEAD")
    # HEAD may be a symbolic link: old versions of git made one, and core.preferSymlinkRefs still does.
    link = stat.S_ISLNK(_mode(path) or 0)
    head = f"ref: {_or_nothing(os.readlink, path, '')}" if link else _first_line(path)
    if head.startswith("ref:"):
        ref = head[4:].strip()
        if ref == "refs/heads/.invalid":  # git stores all refs, also HEAD, in reftables
            return NO_BRANCH
        for prefix in ("refs/heads/", "refs/"):
            if ref.startswith(prefix):
                return ref[len(prefix) :] or NO_BRANCH
        return NO_BRANCH
    is_hash = len(head) in (40, 64) and all(c in "0123456789abcdefABCDEF" for c in head)
    return "HEAD" if is_hash else NO_BRANCH


def _git_dir(dot_git: str) -> str:
    """Return the folder of HEAD: `.git` itself, or the folder named in the file `.git` of a worktree or submodule."""
    line = "" if os.path.isdir(dot_git) else _first_line(dot_git)
    return os.path.join(os.path.dirname(dot_git), line[7:].strip()) if line.startswith("gitdir:") else dot_git


def _first_line(path: str) -> str:
    """Return the first line of a small file, "" when absent or unreadable. Raise StorageError."""
    return _or_nothing(_beginning, path, b"").decode("utf-8", "replace").split("\n", 1)[0].strip()


def _beginning(path: str) -> bytes:
    """Read the start of a file without blocking, even for a FIFO. Raise OSError, ValueError."""
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        return os.read(fd, _GIT_FILE_LIMIT)
    finally:
        os.close(fd)


def _mode(path: str) -> int | None:
    """Return the mode of `path` itself; None when absent or not visible. Raise StorageError."""
    return _or_nothing(lambda path: os.lstat(path).st_mode, path, None)


def _or_nothing(look: Callable[[str], T], path: str, nothing: T) -> T:
    """Return `look(path)`, or `nothing` for an absent file. Raise StorageError when the system fails.

    After a failure, such as no free descriptor, the branch is unknown, and a wrong branch would stay in the history
    forever.
    """
    try:
        return look(path)
    except _NOTHING:
        return nothing
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENAMETOOLONG):
            return nothing
        raise StorageError(path, "read", error.strerror or type(error).__name__) from error
