"""One session with one command, for whoever wants to show or measure a server instead of judging it."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from nexus_mcp.conformance.processes.allowance import Allowance
from nexus_mcp.conformance.processes.starting import NAME_IT
from nexus_mcp.conformance.target import Place, stdio
from nexus_mcp.conformance.trouble import TargetTrouble
from nexus_mcp.errors import NexusError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from nexus_mcp.conformance.session import Session
    from nexus_mcp.conformance.target import TargetOptions


@asynccontextmanager
async def one_session(
    command: Sequence[str], project: str, options: TargetOptions | None = None
) -> AsyncIterator[Session]:
    """Starts `command` in the folder `project` and ends it afterwards, with its children, however the block is left.

    Raises NexusError when it cannot be started, answers no handshake, or gives no answer to a call in the block.
    """
    place = Place(project, f"single.{os.getpid()}.{id(command)}", Allowance())
    session = None
    try:
        try:
            session = await stdio(command, options).open(place)
        except OSError as error:
            problem = f"{command[0]} could not be started: {error.strerror}."
            raise NexusError(problem, next_step=NAME_IT) from error
        yield session
        await session.end()
    except TargetTrouble as trouble:
        raise NexusError(f"{command[0]} does not work as an MCP server: it {trouble}.") from trouble
    finally:
        if session is not None:
            session.kill()
