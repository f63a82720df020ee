"""Choose strategy, agent, model and reviewers of a task, and the paths that a session may change. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from nexus_mcp.run.config import RunConfig, Strategy
from nexus_mcp.run.events import Role

TEXT_AGENTS = ("writer", "strategist")
_ADVISORS = {"engineer": "architect", "writer": "strategist", "researcher": "postdoc", "tester": "architect"}


def strategy(
    task: Mapping[str, Any], config: RunConfig, *, has_tests: bool, override: Strategy | None = None
) -> Strategy:
    """Return the strategy of a task: the override, a tag in its texts, its owner's, or the default.

    A text task has `none`, and a project without tests `test-after` instead of a strategy that writes tests first.
    """
    chosen = override or _configured(task, config)
    if override is None and task.get("owner") in TEXT_AGENTS:
        return "none"
    return chosen if has_tests or chosen == "none" else "test-after"


def _configured(task: Mapping[str, Any], config: RunConfig) -> Strategy:
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
    """Return the agent that advises this owner after two attempts failed."""
    return _ADVISORS.get(owner, "architect")


def allowed_paths(role: Role, chosen: Strategy, config: RunConfig) -> tuple[str, ...]:
    """Return the patterns of paths that a session may change; () for all."""
    if chosen == "three-session-tdd" and role == "test-writer":
        return (*config.tests, *config.test_writer_may)
    return ()


def violations(files: Iterable[str], role: Role, chosen: Strategy, config: RunConfig) -> list[str]:
    """Return the files that a session changed and may not change."""
    if chosen != "three-session-tdd":
        return []
    if role == "test-writer":
        return [file for file in files if not matches(file, (*config.tests, *config.test_writer_may))]
    if role == "implementer":
        return [file for file in files if matches(file, config.tests)]
    return []


def matches(path: str, patterns: Collection[str]) -> bool:
    """Return whether a path from the project root matches one of the patterns; `**` spans folders."""
    return any(_matches(path.split("/"), pattern.split("/")) for pattern in patterns)


def _matches(path: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_matches(path[start:], pattern[1:]) for start in range(len(path) + 1)) or (
            len(pattern) == 1 and bool(path)
        )
    return bool(path) and fnmatchcase(path[0], pattern[0]) and _matches(path[1:], pattern[1:])


def has_tests(files: Iterable[str], config: RunConfig) -> bool:
    """Return whether one of the project's files is a test."""
    return any(matches(file, config.tests) for file in files)
