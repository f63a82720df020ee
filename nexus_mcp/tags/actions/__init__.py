"""Define the inline actions of tags, in the table ACTIONS."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.tags.actions.definition import Action


def _memory_store() -> Action:
    from nexus_mcp.tags.actions.note_store import ACTION

    return ACTION


def _memory_gc() -> Action:
    from nexus_mcp.tags.actions.memory_gc import ACTION

    return ACTION


def _rule_store() -> Action:
    from nexus_mcp.tags.actions.note_store import RULE_ACTION

    return RULE_ACTION


def _plan_decide() -> Action:
    from nexus_mcp.tags.actions.decide import ACTION

    return ACTION


# Loaded on demand, because most messages have no tag.
ACTIONS: dict[str, Callable[[], Action]] = {
    "memory_store": _memory_store,
    "memory_gc": _memory_gc,
    "rule_store": _rule_store,
    "plan_decide": _plan_decide,
}
