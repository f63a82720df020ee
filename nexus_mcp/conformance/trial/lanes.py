"""Several server processes on one project at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from nexus_mcp.conformance.fixture import Action
from nexus_mcp.conformance.trial.asking import Answer, Book, call
from nexus_mcp.conformance.trouble import TargetTrouble

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from nexus_mcp.conformance.fixture import Parallel, Step
    from nexus_mcp.conformance.session import Session


async def run_lanes(parallel: Parallel, start: Callable[[], Awaitable[Session]], book: Book) -> list[Answer]:
    """Starts a server for each lane, and when all are up, sends the calls of all lanes at once.

    The answers and the records come in the order of the lanes. Raises TargetTrouble, of the first lane that
    had any, when all have been ended.
    """
    gate = asyncio.Barrier(len(parallel.lanes))
    books = [Book(f"{book.label}, lane {number + 1}", [], book.root) for number in range(len(parallel.lanes))]
    troubles: list[TargetTrouble] = []
    tasks: list[asyncio.Task[list[Answer]]] = []
    try:
        async with asyncio.TaskGroup() as group:
            for lane, own in zip(parallel.lanes, books, strict=True):
                tasks.append(group.create_task(_lane(lane, start, gate, own)))
    except* TargetTrouble as group_of:
        troubles += [error for error in group_of.exceptions if isinstance(error, TargetTrouble)]
    finally:
        for own in books:
            book.log.extend(own.log)
    if troubles:
        raise troubles[0]
    return [answer for task in tasks for answer in task.result()]


async def _lane(
    lane: tuple[Step, ...], start: Callable[[], Awaitable[Session]], gate: asyncio.Barrier, book: Book
) -> list[Answer]:
    session = await start()
    answers = []
    try:
        await gate.wait()
        for step in lane:
            assert isinstance(step.do, Action)
            for _ in range(step.times):
                answers.append(await call(session, step.do, step.asserts, book))
        if complaint := await session.end():
            raise TargetTrouble(complaint)
    finally:
        session.kill()
    return answers
