"""Hooks past their deadline: during the reading of the catalog, and while everything hangs."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import NoReturn

from nexus_mcp.catalog import load
from nexus_mcp.lifecycle import deadline
from tests.reliability.suites.hostile.project import OWN, Ground

_SOON_S = 0.2
_LONG_S = 60.0
_LOOK_S, _LOOKS = 0.05, 100
"""A hook hangs if it is at work after so many looks at the clock. Looks are counted, because on a busy machine those of
its deadline come late, too.
"""
_HUNG = 75


def play(ground: Ground, rng: random.Random, _: str, __: int) -> None:
    """Check that at the deadline a restricted agent is denied, and the main session is not allowed."""
    ground.lay("the time for parsing is over")
    ground.put("agents/unread/meta.yml", OWN.replace("gardener", "unread"))
    ground.put("agents/unread/body.md", "x")
    for agent in rng.sample(["gardener", "architect", "unread"], 3):
        ground.is_denied(agent, before=_no_time)
    for where, before in (("while the catalog is read", _stuck), ("and its answer takes as long", _stuck_twice)):
        ground.lay(f"the hook hangs {where}")
        ground.is_denied("gardener", before=before)
        if ground.has_failed:
            return  # a hook that hangs once would hang each time
        answer = ground.hook("pre_tool_use", {"tool": "Write", "tool_input": {"file_path": "a"}}, before)
        if answer is not None and answer["decision"] == "allow":
            ground.fail("an edit is allowed after the deadline")


def _no_time() -> None:
    deadline.READING_CPU_S = -1.0


def _stuck() -> None:
    """Make the first read of the catalog slow, but not the second one, for the answer at the deadline."""
    deadline.WALL_S, deadline.LAST_S = _SOON_S, _LONG_S  # enough time for the second read on a busy machine
    real, calls = load.usable, [0]

    def usable(root: str, is_over: Callable[[], bool] | None = None) -> load.Catalog:
        calls[0] += 1
        if calls[0] == 1:
            _hang()
        return real(root, is_over)

    load.usable = usable


def _stuck_twice() -> None:
    deadline.WALL_S = _SOON_S
    load.usable = lambda root, is_over=None: _hang()


def _hang() -> NoReturn:
    """Do nothing for longer than the deadline allows, and then end the process without an answer."""
    for _ in range(_LOOKS):
        time.sleep(_LOOK_S)
    os._exit(_HUNG)
