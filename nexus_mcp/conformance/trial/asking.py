"""One call within a fixture, and its record."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nexus_mcp.conformance.evidence import exchange
from nexus_mcp.conformance.tokens import fill
from nexus_mcp.conformance.trouble import TargetTrouble

if TYPE_CHECKING:
    from nexus_mcp.conformance.fixture import Action, Asserts
    from nexus_mcp.conformance.reply import Reply
    from nexus_mcp.conformance.result import Exchange
    from nexus_mcp.conformance.session import Session


class Answer(NamedTuple):
    """An answer, and what was said about it. `described`: the target gave an output schema that it was held against."""

    label: str
    reply: Reply
    asserts: Asserts
    described: bool = False


class Book(NamedTuple):
    """Where calls are recorded: under this label, in this list. `root` is the path of the project."""

    label: str
    log: list[Exchange]
    root: str


async def call(session: Session, action: Action, asserts: Asserts, book: Book) -> Answer:
    """Calls a tool and records it, whatever comes of it. Raises TargetTrouble when no answer comes."""
    params = fill(action.params, book.root)
    try:
        reply = await session.call(action.tool, params)
    except TargetTrouble as trouble:
        book.log.append(exchange(book.label, action.tool, params, trouble=trouble.sentence, earlier=len(book.log)))
        raise
    book.log.append(exchange(book.label, action.tool, params, reply, earlier=len(book.log)))
    return Answer(book.label, reply, asserts, session.describes(action.tool) and not reply.failed)
