"""The rules for the hooks of two sessions: no agent is forgotten or loses a restriction."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nexus_mcp import schemas
from nexus_mcp.store import agents_extension
from nexus_mcp.workspace import Workspace
from tests.events import handle

Json = Any
Agent = tuple[str, str]

EDIT, ADD = "Edit", "mcp__nexus__task_add"
DENIED = {"architect": {EDIT, ADD}, "reviewer": {EDIT, ADD}, "engineer": {ADD}}
"""Agent name → the tools that the agent may not use. Other names may use both, and unknown agents neither."""
NOBODY = "a-9"
"""An agent id that is in no event."""


class Judge:
    """The events of each agent so far, by session and id. `names` maps an agent to its name.

    An agent counts as `recorded` when its spawn was answered, and no start or end of its session was tried since. The
    tracker must count at least its answered resumes, and at most those that were tried.
    """

    def __init__(self, root: Path, workspace: Workspace, clock: Callable[[], float], names: dict[Agent, str]) -> None:
        self._own = root / ".nexus/state/claude-code"
        self._workspace = workspace
        self._clock = clock
        self._names = names
        self._recorded: set[Agent] = set()
        self._least: Counter[Agent] = Counter()
        self._most: Counter[Agent] = Counter()
        self._tried: set[Agent] = set()

    def begins(self, event: str, params: Json) -> None:
        session = params.get("session_id", "")
        if event in ("session_start", "session_end") and params.get("source") != "resume":
            for agent in [one for one in self._names if one[0] == session]:
                self._recorded.discard(agent)
        agent = session, params.get("agent_id", "")
        if event == "agent_spawn":
            self._most[agent] += agent in self._tried
            self._tried.add(agent)
        elif event == "agent_resume":
            self._most[agent] += 1

    def ends(self, event: str, params: Json, answer: Json) -> None:
        agent = params.get("session_id", ""), params.get("agent_id", "")
        if answer is None:
            return
        if event == "agent_spawn":
            if agent not in self._recorded:
                self._least[agent] = 0
                self._recorded.add(agent)
            else:
                self._least[agent] += 1
        elif event == "agent_resume" and agent in self._recorded:
            self._least[agent] += 1

    def restrictions(self, busy: str, rng: random.Random) -> list[str]:
        """Return the faults in the present restrictions of some agents."""
        told = []
        for session, agent_id in [*rng.sample([*self._names], 2), (busy, NOBODY)]:
            name = self._names.get((session, agent_id), "")
            denied = DENIED.get(name, set()) if name else {EDIT, ADD}
            # An event without a session may be of any session, so agents of all sessions add their restrictions.
            is_exact = (session, agent_id) in self._recorded and session != ""
            for tool in (EDIT, ADD):
                decision = self._decision(session, agent_id, tool)
                if tool in denied and decision != "deny":
                    told.append(
                        f"{name or 'an unknown agent'} {agent_id} of session {session!r}: {decision} for {tool}"
                    )
                elif is_exact and tool not in denied and decision != "allow":
                    told.append(f"{name} {agent_id} of session {session!r} was forgotten: {decision} for {tool}")
        return told

    def _decision(self, session: str, agent_id: str, tool: str) -> str:
        own = {"session_id": session} if session else {}
        given = {**own, "agent_id": agent_id, "tool": tool, "tool_input": {"file_path": "src/a.py"}}
        return str(handle("pre_tool_use", given, self._workspace, self._clock, 0.0)["decision"])

    def at_the_end(self) -> list[str]:
        """Return the faults of the files, after one undisturbed lock holder."""
        last = {"session_id": "s-last", "agent_id": "a-last", "agent_name": "writer"}
        handle("agent_spawn", last, self._workspace, self._clock, 0.0)
        entries = json.loads((self._own / "agent-tracker.json").read_text())
        faults = schemas.faults(schemas.load("state/agent-tracker"), entries)
        told = [f"the tracker is no valid one: {faults[0].pointer} {faults[0].message}"] if faults else []
        lines = (self._own / agents_extension.NAME).read_text().splitlines()
        fold = [line for line in map(json.loads, filter(None, lines)) if line["kind"] == "fold"][-1]
        owners = {(one["agent_id"], one["started_at"]): one.get("session_id", "") for one in fold["agents"]}
        for agent in sorted(self._names):
            session, agent_id = agent
            mine = [
                entry
                for entry in entries
                if entry["agent_id"] == agent_id and owners.get((agent_id, entry["started_at"]), "") == session
            ]
            told += self._about(agent, mine)
        return told

    def _about(self, agent: Agent, mine: list[Json]) -> list[str]:
        who = f"{self._names[agent]} {agent[1]} of session {agent[0]!r}"
        if len(mine) > 1:
            return [f"{who} is in the tracker {len(mine)} times"]
        if agent in self._recorded and not mine:
            return [f"{who} is not in the tracker"]
        if not mine:
            return []
        count = mine[0]["resume_count"]
        least = self._least[agent] if agent in self._recorded else 0
        told = [f"{who} was resumed {count} times, not {least} to {self._most[agent]}"]
        return [] if least <= count <= self._most[agent] else told
