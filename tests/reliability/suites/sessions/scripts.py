"""The events of two sessions: agents begin, continue and end in both, with the same ids, and hooks are killed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from nexus_mcp.store import agents_extension
from nexus_mcp.workspace import Workspace
from tests.events import handle
from tests.reliability.suite import Tally
from tests.reliability.suites.sessions.rules import Judge
from tests.reliability.suites.sessions.steps import Hook, stepping

Json = Any

NAMES = ("architect", "engineer", "Explore", "reviewer", "general-purpose")
AGENTS = ("a-1", "a-2", "a-3")
_KILLED = 0.004  # share of the steps at which a hook is killed
_HOOKS = (4, 10)  # least and most hooks of a session
_AT_CHANGES = ((60, True),)
_STEPS = ((1, False), (3, False), (400, False), (60, True), (60, True))
"""(Maximum steps of a turn, whether the turn ends before a change.)"""


class Clock:
    """A clock in milliseconds; several hooks may begin in the same millisecond."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._ms = 1_767_323_045_250

    def __call__(self) -> float:
        self._ms += self._rng.choice((0, 1, 1, 30))
        return self._ms / 1000


def play(folder: Path, rng: random.Random, times: int, *, renamed: bool) -> Tally:
    """Play this many interleavings, each in a project of its own.

    `renamed`: a hook with the lock always renames the file that others append to, and stops before each of its changes.
    """
    tally = Tally()
    for number in range(times):
        root = folder / str(number)
        (root / ".nexus/state").mkdir(parents=True)
        (root / ".nexus/state/tasks.json").write_text('{"goal": "", "decisions": [], "tasks": []}')
        with patch.object(agents_extension, "TIDY_FROM", 1 if renamed else rng.choice((1, 1, 600, 1 << 14))):
            told = _interleaving(root, rng, tally, _AT_CHANGES if renamed else _STEPS)
            tally.failures += [f"interleaving {number}: {one}" for one in told[:3]]
        tally.counts["interleavings"] += 1
        if len(tally.failures) >= 10:
            break
    return tally


def _interleaving(root: Path, rng: random.Random, tally: Tally, turns: tuple[tuple[int, bool], ...]) -> list[str]:
    workspace, clock = Workspace(str(root), "claude-code"), Clock(rng)
    sessions = rng.choice((("s-1", "s-2"), ("s-1", "s-2"), ("s-1", "")))
    names = {(session, agent): rng.choice(NAMES) for session in sessions for agent in AGENTS}
    judge = Judge(root, workspace, clock, names)
    scripts = {session: _script(session, names, rng) for session in sessions}
    running: dict[str, tuple[Hook, str, Json]] = {}
    found: list[str] = []
    with stepping():
        while scripts and not found:
            session = rng.choice([*scripts])
            if session not in running:
                if (told := next(scripts[session], None)) is None:
                    del scripts[session]
                    continue
                event, params = told
                judge.begins(event, params)
                patience = rng.choice((1, 1, 20, 200))
                hook = Hook(partial(handle, event, params, workspace, clock, 0.0), patience)
                running[session] = hook, event, params
            hook, event, params = running[session]
            steps, to_change = rng.choice(turns)
            for _ in range(steps):
                dies = rng.random() < _KILLED
                tally.counts["hooks killed"] += dies
                hook.step(dies=dies)
                tally.counts["steps"] += 1
                if hook.is_over or (to_change and hook.is_at_change):
                    break
            if hook.is_over:
                del running[session]
                tally.counts["hooks"] += 1
                judge.ends(event, params, hook.answer)
                found += [f"{event} {params}: {hook.error}"] if hook.error and not _is_let(event, hook.error) else []
            if hook.is_over or rng.random() < 0.05:
                found += judge.restrictions(session, rng)
        for hook, _, _ in running.values():
            while not hook.is_over:
                hook.step(dies=True)
    return found or judge.at_the_end()


def _is_let(event: str, error: str) -> bool:
    """Return whether the event may fail with this error: the start and the end of a session need the lock."""
    return event in ("session_start", "session_end") and "Could not get the lock" in error


def _script(session: str, names: dict[tuple[str, str], str], rng: random.Random) -> Iterator[tuple[str, Json]]:
    own = {"session_id": session} if session else {}
    yield "session_start", {**own, "source": "startup"}
    for _ in range(rng.randrange(*_HOOKS)):
        agent = rng.choice(AGENTS)
        kind = rng.choices(
            ("agent_spawn", "agent_resume", "agent_complete", "pre_tool_use", "session_start", "session_end"),
            (10, 4, 4, 2, 1, 1),
        )[0]
        if kind == "agent_spawn":
            yield kind, {**own, "agent_id": agent, "agent_name": names[session, agent]}
        elif kind == "agent_complete":
            yield kind, {**own, "agent_id": agent, "last_message": "x" * rng.choice((1, 9000)), "files_touched": ["a"]}
        elif kind == "agent_resume":
            yield kind, {**own, "agent_id": agent}
        elif kind == "pre_tool_use":
            yield kind, {**own, "agent_id": agent, "tool": "Edit", "tool_input": {"file_path": "src/a.py"}}
        elif kind == "session_start":
            yield kind, {**own, "source": rng.choice(("startup", "clear", "resume"))}
        else:
            yield kind, own
