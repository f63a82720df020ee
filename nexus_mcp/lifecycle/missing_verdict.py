"""Warn when an agent that checks work ends without a verdict, neither stored nor in its last message."""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.lifecycle.sources import catalog_of
from nexus_mcp.program import command
from nexus_mcp.quoting import quoted_name
from nexus_mcp.state.times import stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.lifecycle.definition import EventContext

FOLDERS = ("artifacts", "verdicts")
"""The folder of stored verdicts below the state folder."""
_CHECKING = "check"
_WORD = "verdict"
_MOST = 1000


def warn_missing(ctx: EventContext, name: str, began: str, message: str) -> None:
    """Warn if `name` is an agent that checks, and gave no verdict since it `began` (a stamp, "" if unknown)."""
    agent = catalog_of(ctx).agents.get(name)
    if agent is None or agent["category"] != _CHECKING or _has_verdict(message) or _is_stored(ctx, began):
        return
    ctx.warn(
        f"{quoted_name(name)} has ended without a verdict, so its check has no result. Ask it for its verdict, "
        f"or let another agent check; {command('verdict TASK FILE')} stores it."
    )


def _has_verdict(message: str) -> bool:
    """Return whether a line of the message begins with the word verdict and has a colon, as in the texts of our agents,
    or the message has the JSON text `"approved"`.
    """
    heads = (line.lstrip("*#_` \t{\"'").casefold() for line in message.splitlines())
    return any(head.startswith(_WORD) and ":" in head for head in heads) or '"approved"' in message


def _is_stored(ctx: EventContext, began: str) -> bool:
    """Return whether a verdict was stored since `began`; False if the folder of verdicts cannot be read."""
    try:
        with ctx.store.state_as_it_is() as state:
            artifacts = None if state is None else state.child(FOLDERS[0])
            if artifacts is None:
                return False
            with artifacts:
                verdicts = artifacts.child(FOLDERS[1])
                if verdicts is None:
                    return False
                with verdicts:
                    found = (verdicts.look(one) for one in verdicts.names(_MOST))
                    return any(info is not None and stamp(info.st_mtime) >= began for info in found)
    except NexusError:
        return False
