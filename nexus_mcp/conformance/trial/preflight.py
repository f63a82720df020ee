"""Before the first fixture: whether the target starts, answers and has any of the tools. If not, nothing is judged."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nexus_mcp.conformance.in_thread import in_thread
from nexus_mcp.conformance.processes.allowance import Allowance
from nexus_mcp.conformance.processes.starting import NAME_IT
from nexus_mcp.conformance.settings.prefix import find_prefix
from nexus_mcp.conformance.target import Place
from nexus_mcp.conformance.trouble import TargetTrouble, TimeRanOut, first_line
from nexus_mcp.errors import HarnessFault

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nexus_mcp.conformance.session import Session
    from nexus_mcp.conformance.target import Target
    from nexus_mcp.conformance.trial.ground import Ground

TOOLS = (
    "plan_start",
    "plan_status",
    "plan_update",
    "plan_decide",
    "task_add",
    "task_list",
    "task_update",
    "task_close",
    "history_search",
    "context",
    "artifact_write",
)
"""The tools that a server may have, by the names of the fixtures: one that has any of them is worth judging."""

_NAMED = 8
_NAME = 60


async def preflight(target: Target, asked: Iterable[str], ground: Ground, mark: str) -> None:
    """Connects once, in a project on `ground`. `asked` are the tools of the fixtures.

    Raises HarnessFault, in one line, when the target does not come to an answer, or has no tool that is known.
    """
    sandbox = ground.sandbox()
    session = None
    try:
        sandbox.lay_git()
        session = await _connect(target, Place(sandbox.project, mark, Allowance()))
        _check_tools(target, session, {*TOOLS, *asked})
        await session.end()
    finally:
        if session is not None:
            session.kill()
        await in_thread(sandbox.clear)


async def _connect(target: Target, place: Place) -> Session:
    try:
        try:
            return await target.open(place)
        except TimeRanOut:
            raise
        except TargetTrouble:
            if not target.is_process or not target.start_plainly():
                raise
            # It may be an old server that ends when it is asked what it does not know.
            return await target.open(place)
    except TargetTrouble as trouble:
        raise HarnessFault([f"The server did not get ready: it {trouble}."], next_step=_hint(target)) from trouble
    except OSError as error:
        problem = f"The server could not be started: {target.command[0]}: {error.strerror}."
        raise HarnessFault([problem], next_step=_hint(target) or NAME_IT) from error


def _check_tools(target: Target, session: Session, known: set[str]) -> None:
    listed = session.connection.tools
    if any(target.options.actual(tool) in listed for tool in known):
        return
    shown = (
        ", ".join(first_line(name, _NAME) for name in listed[:_NAMED]) + (" …" if len(listed) > _NAMED else "")
        if listed
        else "none at all"
    )
    prefix = find_prefix(listed, known)
    prefix = prefix if len(prefix) <= _NAME else ""
    hint = f"Its names begin with {prefix}: use --tool-prefix {prefix}" if prefix else ""
    if not hint and any(tool in listed for tool in known):
        hint = "Its names have no prefix: leave --tool-prefix out."
    raise HarnessFault([f"The server has none of the tools that the fixtures ask; it lists {shown}."], next_step=hint)


def _hint(target: Target) -> str:
    """The commonest mistake: a path in the command that is meant from where the user is."""
    for place, word in enumerate(target.command):
        is_path = place > 0 or os.path.dirname(word)  # else it is looked for on the PATH
        if is_path and not os.path.isabs(word) and os.path.isfile(word):
            return f"It runs in a project of its own: give {word} as an absolute path."
    return ""
