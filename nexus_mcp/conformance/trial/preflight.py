"""Check before the first fixture that the target starts, answers and has at least one of the tools.

Without these no fixture can be judged.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nexus_mcp.conformance.failures import TargetFailure, TargetTimeout, first_line
from nexus_mcp.conformance.processes.process import Allowance
from nexus_mcp.conformance.processes.starting import NAME_PROGRAM_HINT
from nexus_mcp.conformance.settings import find_prefix
from nexus_mcp.conformance.stopping import in_thread
from nexus_mcp.conformance.target import Place
from nexus_mcp.errors import HarnessFault
from nexus_mcp.packaged import data_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nexus_mcp.conformance.client.connection import Session
    from nexus_mcp.conformance.target import Target
    from nexus_mcp.conformance.trial.workspace_root import WorkspaceRoot

_SHARED = "results"
"""The file beside those of the tools, with fixtures about results of every tool."""

_NAMED = 8
_NAME = 60


async def preflight(target: Target, called: Iterable[str], root: WorkspaceRoot, mark: str) -> None:
    """Connect once, in a project below `root`. `called` are the tools of the fixtures.

    Raises HarnessFault when the target does not answer, or has no known tool.
    """
    sandbox = root.sandbox()
    session = None
    try:
        sandbox.lay_git()
        session = await _connect(target, Place(sandbox.project, mark, Allowance()))
        _check_tools(target, session, {*suite_tools(), *called})
        await session.end()
    finally:
        if session is not None:
            session.kill()
        await in_thread(sandbox.clear)


def suite_tools() -> set[str]:
    """Return the tools of our suite, which has a file of fixtures for each: a server with any of them is judged."""
    return {name.removesuffix(".json") for name in os.listdir(data_path("conformance", "tools"))} - {_SHARED}


async def _connect(target: Target, place: Place) -> Session:
    try:
        try:
            return await target.open(place)
        except TargetTimeout:
            raise
        except TargetFailure:
            if not target.is_process or not target.start_plainly():
                raise
            # An old server may end at an unknown request.
            return await target.open(place)
    except TargetFailure as failure:
        raise HarnessFault([f"The server did not become ready: it {failure}."], next_step=_hint(target)) from failure
    except OSError as error:
        problem = f"The server could not be started: {target.command[0]}: {error.strerror}."
        raise HarnessFault([problem], next_step=_hint(target) or NAME_PROGRAM_HINT) from error


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
    raise HarnessFault([f"The server has none of the tools that the fixtures call; it lists {shown}."], next_step=hint)


def _hint(target: Target) -> str:
    """Return the hint about a relative path in the command, the most common mistake, or ""."""
    for place, word in enumerate(target.command):
        is_path = place > 0 or os.path.dirname(word)  # else it is searched on the PATH
        if is_path and not os.path.isabs(word) and os.path.isfile(word):
            return f"It runs in a project of its own: give {word} as an absolute path."
    return ""
