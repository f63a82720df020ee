"""Choose strategy, reviewers and advisor of a task, and the paths that a session may change. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nexus_mcp.catalog.path_limits import NO_SOURCE_EDIT, NO_TEST_EDIT, Limit, matches
from nexus_mcp.run.config import RunConfig, Strategy
from nexus_mcp.run.events import Role

TEXT_AGENTS = ("writer", "strategist")
_ADVISORS = {"engineer": "architect", "writer": "strategist", "researcher": "postdoc", "tester": "architect"}


def strategy(
    task: Mapping[str, Any], config: RunConfig, *, has_tests: bool, override: Strategy | None = None
) -> Strategy:
    """Return the strategy of a task: the override, that of a tag in its texts or of its owner, or the default.

    Without an override, a task of TEXT_AGENTS has `none`. A project without tests has `test-after` instead of a
    strategy that writes tests first.
    """
    chosen = override or _configured_strategy(task, config)
    if override is None and task.get("owner") in TEXT_AGENTS:
        return "none"
    return chosen if has_tests or chosen == "none" else "test-after"


def _configured_strategy(task: Mapping[str, Any], config: RunConfig) -> Strategy:
    text = " ".join(
        str(task.get(name, "")) for name in ("title", "context", "approach", "acceptance", "risk")
    ).casefold()
    for tag, found in config.strategies.tags.items():
        if f"[{tag.casefold()}]" in text or f"#{tag.casefold()}" in text:
            return found
    return config.strategies.by_owner.get(str(task.get("owner", "")), config.strategies.default)


def reviewers(task: Mapping[str, Any], category: str, config: RunConfig, chosen: Strategy) -> tuple[str, ...]:
    """Return the agents that judge the work of a task, each once. `category` is that of its owner."""
    found: list[str] = []
    if chosen == "three-session-tdd":
        found.append("tester")
    found += config.review.get(category, []) if task.get("owner") not in TEXT_AGENTS else []
    if task.get("owner") in TEXT_AGENTS:
        found += config.review.get("text", [])
    if str(task.get("risk", "")).strip():
        found += config.review.get("risk", [])
    return tuple(dict.fromkeys(found))


def advisor(owner: str) -> str:
    """Return the agent that advises this owner when a task reaches its third tier."""
    return _ADVISORS.get(owner, "architect")


def limit(role: Role, chosen: Strategy, config: RunConfig) -> Limit | None:
    """Return the limit of the files that a session may change, None without one."""
    if chosen != "three-session-tdd":
        return None
    if role == "test-writer":
        return Limit(NO_SOURCE_EDIT, (*config.tests, *config.test_writer_may))
    return Limit(NO_TEST_EDIT, config.tests) if role == "implementer" else None


def violations(files: Iterable[str], role: Role, chosen: Strategy, config: RunConfig) -> list[str]:
    """Return the files that a session changed and may not change."""
    found = limit(role, chosen, config)
    return [] if found is None else [file for file in files if not found.allows(file)]


def has_tests(files: Iterable[str], config: RunConfig) -> bool:
    """Return whether one of the project's files is a test."""
    return any(matches(file, config.tests) for file in files)
