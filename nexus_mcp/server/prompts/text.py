"""Texts that several prompts share: plan and task progress, lists, the user's own words.

Text from files is quoted: it is data, not instructions.
"""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.quoting import inert, quoted
from nexus_mcp.server.prompts.definition import Wrong, own_words
from nexus_mcp.state import plan as plans
from nexus_mcp.state import tasks as lists
from nexus_mcp.tags.route import Outcomes

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.server.prompts.definition import Arguments
    from nexus_mcp.server.resources.definition import ReadContext

MAX_ROWS = 50
"""Ids of ready tasks at most; the tools have the rest."""
_LONGEST = 200


def progress_lines(ctx: ReadContext) -> str:
    """Return one line each for plan and tasks; an unreadable file's line is its error."""
    both = ctx.store.snapshot()
    return "\n".join((_line(lambda: _plan(both.plan())), _line(lambda: _tasks(both.tasks()))))


def _line(make: Any) -> str:
    try:
        return f"- {make()}"
    except NexusError as error:
        return inert(f"- {error.fault}. {error.next_step}".rstrip())


def _plan(plan: dict[str, Any] | None) -> str:
    if plan is None:
        return "No plan is open."
    decided = len(plans.decided(plan))
    return (
        f"Plan {plan['id']}, {quoted(plan['topic'], _LONGEST)}: {decided} of {len(plan['issues'])} issues are decided."
    )


def _tasks(tasks: dict[str, Any] | None) -> str:
    if tasks is None:
        return "There is no task list."
    ready = lists.ready(tasks)
    noun = "task" if len(ready) == 1 else "tasks"
    which = f"; ready: {noun} {', '.join(map(str, ready[:MAX_ROWS]))}{', …' * (len(ready) > MAX_ROWS)}" if ready else ""
    done = lists.count(tasks, lists.COMPLETED)
    doing = lists.count(tasks, lists.IN_PROGRESS)
    return f"Tasks: {done} of {len(tasks['tasks'])} are completed, {doing} in progress{which}."


MOST = 50
"""Lines about issues or notes at most."""
LONGEST = 200
"""Characters of a quoted title or path at most."""


def outcome(ctx: ReadContext, tag: str, variant: str = "", text: str = "") -> dict[str, Any]:
    """Return the outcome of a tag (Outcomes.of). Raises NexusError."""
    outcomes = Outcomes(ctx.catalog(), ctx.store, ctx.workspace.harness_id)
    return outcomes.of({"tag": tag, "variant": variant, "text": text})


def bullet_list(lines: list[str]) -> str:
    """Return the lines as a Markdown list of at most MOST items."""
    rest = len(lines) - MOST
    return "\n".join(f"- {line}" for line in [*lines[:MOST], *([f"and {rest} more"] if rest > 0 else [])])


def user_words(arguments: Arguments, before: str = "") -> str:
    """Return the section with the user's text, after a word `before` it that was parsed as another argument."""
    return own_words("The user's words:", f"{before} {arguments['text']}".strip())


def require_text(arguments: Arguments) -> None:
    """Raise Wrong when the argument `text` is missing."""
    if "text" not in arguments:
        raise Wrong("text is required")
