"""The error hierarchy; run/ and rendering/ add errors of their own. Errors carry data; commands and the server render
them.

NexusError
├── UsageError            the command line or the environment is wrong
├── ToolError             one of the contract's own messages, word for word
├── InvalidArguments      arguments of a call: all unknown names, else all missing ones, else all wrong values
├── UnknownTool           a name that no tool has
├── StateError            a file under .nexus/ cannot be used
│   ├── NewerVersion      a file that this version may read, but not write
│   └── JournalError      a pending change that cannot be completed now
│       └── NewerJournal  a newer version began it
├── PathRefused           a link, a file of another kind than required, or an unsafe name
├── StorageError          the disk, the permissions or the lock prevented an operation; nothing changed
│   ├── ChangedMeanwhile  another program changed the file that was to be replaced (store/replacement.py)
│   ├── FolderGone        the folder was removed before it could be used
│   ├── LockTimeout       another process kept the workspace lock
│   ├── WaitStopped       the server, or Ctrl-C, ended the wait for the lock
│   └── Unlockable        there are no locks on this file system (store/lock.py)
├── NotAppliedYet         the change is recorded, and the next call completes it
│   └── JournalGone       the journal is gone, and part of the change may be lost (store/journal.py)
├── NotConfirmed          the change is made, but the disk did not confirm it
├── UndoRefused           undo cannot or must not take back a change; the call changed nothing itself
├── CatalogError          files of the catalog, or config.yml, do not validate
├── UnknownEntry          an id that no agent or skill in the catalog has
├── InstallRefused        a configuration file of a harness cannot be changed; nothing changed, unless it says so
│   └── EditedByHand      a user edited an installed file or entry; nothing changed
└── HarnessFault          a conformance run without a verdict: bad options or fixtures, or an unusable server
"""

from __future__ import annotations

import errno
import os

UNCHANGED = "nothing was changed."
ITSELF_UNCHANGED = "this call changed nothing itself."
_SHOWN = 100
"""Maximum characters of an unknown name in a message."""
BEGUN = "It was raised once writing had begun."
"""The note (PEP 678) on an unexpected exception that was raised after writing began: the files may have changed."""


class NexusError(Exception):
    """The base of errors that are reported to the caller.

    `fault` names the error and its place, `message` adds the effect on files, `next_step` is the user's next step, or
    "".
    """

    def __init__(self, fault: str, *, effect: str = "", next_step: str = "") -> None:
        self.fault = fault
        self.message = f"{fault}; {effect}" if effect else fault
        self.next_step = next_step
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} {self.next_step}" if self.next_step else self.message


class UsageError(NexusError):
    """The command line or the environment is wrong."""


class ToolError(NexusError):
    """A message of the contract. Harnesses compare its text, so it has no next step."""


class InvalidArguments(NexusError):
    """The arguments of a call, or the params of an event, break their schema. `faults` has one text for each fault."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


class UnknownTool(NexusError):
    """No tool has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Unknown tool: {_quoted_name(name)}")
        self.name = name


class StateError(NexusError):
    """A file under `.nexus/` cannot be used. `file` is its path from the project root, `where` a place in it."""

    effect = UNCHANGED

    def __init__(self, file: str, problem: str, *, where: str = "", next_step: str = "") -> None:
        place = f"{file} ({where})" if where else file
        super().__init__(
            f"{place} {problem}",
            effect=self.effect,
            next_step=next_step or f"Look at {file}, repair it or restore it from a copy, then call again.",
        )
        self.file = file
        self.problem = problem
        self.where = where


class NewerVersion(StateError):
    """A file of a newer major version: it can be read here, but writing it could lose unknown data."""


class JournalError(StateError):
    """A pending change cannot be completed now, or not by this version. The present call changed nothing itself."""

    effect = ITSELF_UNCHANGED


class NewerJournal(JournalError):
    """A pending change whose journal has an unknown version."""


class PathRefused(NexusError):
    """A path that is not used: a link, a file of another kind than required, or a name that could leave its folder."""

    def __init__(self, path: str, problem: str, *, next_step: str) -> None:
        super().__init__(f"{path} {problem}", effect=UNCHANGED, next_step=next_step)
        self.path = path
        self.problem = problem


class StorageError(NexusError):
    """The system, the lock or another program prevented an operation, and nothing was changed.

    `path` is most often from the project root. `reason` is the text of the system or of nexus-mcp.
    """

    def __init__(self, path: str, doing: str, reason: str, *, next_step: str = "") -> None:
        super().__init__(
            f"Could not {doing} {path}: {reason}",
            effect=UNCHANGED,
            next_step=next_step or _check(reason),
        )
        self.path = path
        self.reason = reason


def _check(reason: str) -> str:
    """Return the next step: what the user has to do before the call is repeated."""
    if reason != os.strerror(errno.EACCES):
        return "Check the free space and the permissions of the folder, then call again."
    return f"Ask its owner for access, then call again; {_command('doctor')} lists the files that a group cannot use."


class FolderGone(StorageError):
    """Another process removed the folder before it was used: a failed first write removes the folders that it made."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "use", "it was removed meanwhile", next_step="Call again.")


class LockTimeout(StorageError):
    """Another process held the workspace lock for longer than the timeout. `pid` is its pid, None if unknown."""

    def __init__(self, path: str, seconds: float, pid: int | None) -> None:
        holder = f"process {pid}" if pid else "another process"
        waited = f"has held it for {round(seconds, 2):g} seconds"
        look = f"look at what {holder} is doing" if pid else f"find out which process has {path} open"
        super().__init__(
            path,
            "get the lock",
            f"{holder} {waited if seconds else 'has it, and no time is left to wait'}",
            next_step=f"Call again; if that fails too, {look}.",
        )
        self.pid = pid


class WaitStopped(StorageError):
    """The server, or Ctrl-C, ended the wait for the workspace lock."""


class NotAppliedYet(NexusError):
    """An error occurred after the commit point: the change is safe and will be completed."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"The change is recorded in {path}, but not all of it could be carried out yet: {reason}.",
            next_step="Do not repeat it: the next call of any tool completes it as long as that file exists. "
            "Check the disk.",
        )
        self.path = path
        self.reason = reason


class NotConfirmed(NexusError):
    """A file was replaced, but the disk did not confirm that the new one survives a power cut."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"The change of {path} was made, but the disk did not confirm it: {reason}.",
            next_step="Before you repeat the change, look for its result, which may be archived or changed since. "
            "Check the disk.",
        )
        self.path = path
        self.reason = reason


class UndoRefused(NexusError):
    """A change in the operation log cannot, or must not, be taken back."""

    def __init__(self, problem: str, *, next_step: str, effect: str = UNCHANGED) -> None:
        super().__init__(problem, effect=effect, next_step=next_step)


class CatalogError(NexusError):
    """Files of the catalog, or config.yml, do not validate. `faults`: a line for each fault, which most often
    begins with `path:line:column: `.
    """

    def __init__(self, faults: list[str], *, next_step: str = "") -> None:
        super().__init__("\n".join(faults), next_step=next_step or f"Correct it, then run {_command('catalog check')}.")
        self.faults = faults


class UnknownEntry(NexusError):
    """No agent or no skill has this id. `kind` is "agent" or "skill"; the next step names `near`, the nearest ids."""

    def __init__(self, kind: str, name: str, near: list[str]) -> None:
        known = f"Did you mean {' or '.join(near)}?" if near else f"{_command('catalog list')} shows the known ones."
        super().__init__(f"There is no {kind} {_quote(name)}.", next_step=known)
        self.kind = kind


class InstallRefused(NexusError):
    """nexus-mcp cannot change the present files of a harness. `faults`: a line for each fault, with its next step.

    `lines` maps a path to the lines that the user can put into it by hand. `is_unchanged` is False if a file could not
    be restored after an error.
    """

    def __init__(
        self,
        faults: list[str],
        *,
        lines: dict[str, str] | None = None,
        next_step: str = "",
        is_unchanged: bool = True,
    ) -> None:
        super().__init__("\n".join(faults), effect=UNCHANGED if is_unchanged else "", next_step=next_step)
        self.faults = faults
        self.is_unchanged = is_unchanged
        self.lines = lines or {}


class EditedByHand(InstallRefused):
    """A user edited files or entries after an installation wrote them."""


class HarnessFault(NexusError):
    """The conformance suite or its target could not be used, so there is no verdict. `faults`: one line per fault."""

    def __init__(self, faults: list[str], *, next_step: str = "") -> None:
        super().__init__("\n".join(faults), next_step=next_step)
        self.faults = faults


def _quote(name: str) -> str:
    from nexus_mcp.quoting import quote

    return quote(name, _SHOWN)


def _quoted_name(name: str) -> str:
    from nexus_mcp.quoting import quoted_name

    return quoted_name(name, _SHOWN)


def _command(words: str) -> str:
    from nexus_mcp.program import command

    return command(words)
