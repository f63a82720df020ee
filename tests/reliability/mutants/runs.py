"""Faults in how a run goes on after the death of its executor."""

from __future__ import annotations

from typing import Any

from nexus_mcp.run import dead_executor, processes, run_folder
from nexus_mcp.run.run_folder import RunLock
from nexus_mcp.store import atomic
from tests.reliability.mutants.definition import Mutant


def _orphans_left() -> tuple[Any, str, Any]:
    return processes, "has_left", lambda pid, create_time, run: False


def _orphans_unseen() -> tuple[Any, str, Any]:
    return dead_executor, "_is_of_run", lambda process, run, inside: False


def _run_unlocked() -> tuple[Any, str, Any]:
    return RunLock, "_is_taken", lambda self: True


def _torn_line_joined() -> tuple[Any, str, Any]:
    class Atomic:
        """The module with a reader that finds a line end at the end of each log."""

        write_all = staticmethod(atomic.write_all)
        replace = staticmethod(atomic.replace)
        read_up_to = staticmethod(lambda fd, offset, size: b"\n")

    return run_folder, "atomic", Atomic


MUTANTS = (
    Mutant(
        "orphans-left",
        "The sessions of a dead executor go on beside those of the next one.",
        _orphans_left,
        _orphans_unseen,
    ),
    Mutant("run-unlocked", "Two runs of a project work at once.", _run_unlocked),
    Mutant("torn-line-joined", "The first event after a torn line joins it, and cannot be read.", _torn_line_joined),
)
