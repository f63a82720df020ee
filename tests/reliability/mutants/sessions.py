"""Faults in how the agents of several sessions are kept apart and recorded."""

from __future__ import annotations

from typing import Any

from nexus_mcp.lifecycle import agent_identity
from nexus_mcp.state import agents as state_agents
from nexus_mcp.state.agents import Records
from nexus_mcp.store import agents as store_agents
from nexus_mcp.store import agents_extension
from nexus_mcp.store.folder import Folder
from tests.reliability.mutants.definition import Mutant


def _one_session() -> tuple[Any, str, Any]:
    return Records, "without", lambda self, sessions: Records([], {}, {})


def _unknown_allowed() -> tuple[Any, str, Any]:
    real = agent_identity.Identity.__init__

    def init(self: agent_identity.Identity, agent_id: str, names: list[str], *, is_unknown: bool = False) -> None:
        real(self, agent_id, names, is_unknown=False)

    return agent_identity.Identity, "__init__", init


def _spawn_forgotten() -> tuple[Any, str, Any]:
    return store_agents, "append_unlocked", lambda store, harness_id, line: None


def _rename_unseen() -> tuple[Any, str, Any]:
    return Folder, "is_file", lambda self, name, fd, **_: True


def _renamed_forgotten() -> tuple[Any, str, Any]:
    return agents_extension, "_absorb", lambda own, events: own.unlink(agents_extension.OLD)


def _counted_twice() -> tuple[Any, str, Any]:
    real = state_agents.make_fold
    return state_agents, "make_fold", lambda records, checksum, events: real(records, checksum, [])


def _owners_lost() -> tuple[Any, str, Any]:
    return state_agents, "_extras", lambda fold: {}


def _beside_afterwards() -> tuple[Any, str, Any]:
    real = store_agents.write

    def write(own: Folder, held: Any, found: Any, records: Records, **options: Any) -> None:
        with _no_append():
            real(own, held, found, records, **options)
        data = own.read("agent-tracker.json", 1 << 20)
        line = state_agents.make_fold(records, store_agents.checksum_of(data), found.events)
        agents_extension.append(own, [line])

    return store_agents, "write", write


def _no_append() -> Any:
    from unittest.mock import patch

    return patch.object(agents_extension, "append", lambda own, lines, most=0: None)


MUTANTS = (
    Mutant("one-session", "The start or the end of a session removes the agents of all other sessions.", _one_session),
    Mutant("unknown-allowed", "An unknown agent may do everything.", _unknown_allowed),
    Mutant("spawn-forgotten", "An event that cannot get the lock is not recorded.", _spawn_forgotten),
    Mutant("rename-unseen", "An append does not check whether the file was renamed meanwhile.", _rename_unseen),
    Mutant("renamed-forgotten", "A renamed file is removed without a last read of it.", _renamed_forgotten),
    Mutant("counted-twice", "An event that the tracker has already is applied again.", _counted_twice),
    Mutant("owners-lost", "The session of an agent is not read back.", _owners_lost),
    Mutant("beside-afterwards", "The extension file of the tracker is written after the tracker.", _beside_afterwards),
)
