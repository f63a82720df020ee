"""Faults in the bounds on project files and time: bounds that do not hold, and actions allowed beyond them."""

from __future__ import annotations

from typing import Any

import yaml

from nexus_mcp.catalog import building, yaml_file
from nexus_mcp.catalog.load import Catalog
from nexus_mcp.catalog.sources import Room
from nexus_mcp.lifecycle import deadline
from nexus_mcp.lifecycle.definition import CONTINUE
from tests.reliability.mutants.definition import Mutant


def _last_key_counts() -> tuple[Any, str, Any]:
    def members(self: Any, pointer: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not isinstance(key := self._events.get_event(), yaml.MappingEndEvent):
            found[key.value] = self._value(self._events.get_event(), f"{pointer}/{key.value}", depth)
        return found

    return yaml_file._Composer, "_members", members


def _no_deadline() -> tuple[Any, str, Any]:
    return deadline.Deadline, "_is_due", lambda self: False


def _late_is_allowed() -> tuple[Any, str, Any]:
    real = deadline.last_answer

    def last_answer(*arguments: Any, **named: Any) -> dict[str, Any]:
        return {**real(*arguments, **named), "decision": CONTINUE}

    return deadline, "last_answer", last_answer


def _unread_is_absent() -> tuple[Any, str, Any]:
    real = building.Work.row

    def row(self: Any, path: str, *arguments: Any) -> Any:
        return None if self._is_over() else real(self, path, *arguments)

    return building.Work, "row", row


def _unlisted_is_unknown() -> tuple[Any, str, Any]:
    return Catalog, "unlisted_agent", lambda self, name: None


def _at_fault_is_absent() -> tuple[Any, str, Any]:
    return building, "faulty_agents", lambda faults, shipped: {}


def _beyond_is_skipped() -> tuple[Any, str, Any]:
    real = building.Work.row

    def row(self: Any, path: str, room: Room, *arguments: Any) -> Any:
        return None if room.is_closed else real(self, path, room, *arguments)

    return building.Work, "row", row


MUTANTS = (
    Mutant("last-key-counts", "If a key is there twice, the last one counts.", _last_key_counts),
    Mutant("no-deadline", "A hook has no deadline.", _no_deadline),
    Mutant("late-is-allowed", "A hook whose time is over allows the tool.", _late_is_allowed),
    Mutant("unread-is-absent", "An agent that was not read in time counts as absent.", _unread_is_absent),
    Mutant("unlisted-is-unknown", "An agent of a folder that is too large counts as unknown.", _unlisted_is_unknown),
    Mutant("at-fault-is-absent", "An agent whose files cannot be used counts as absent.", _at_fault_is_absent),
    Mutant("beyond-is-skipped", "An agent beyond the reading limit counts as absent.", _beyond_is_skipped),
)
