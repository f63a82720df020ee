"""session_start: create the folders, and report the open work of an earlier session."""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.lifecycle.sources import both_of, list_ids, select_unfinished, tell_copies
from nexus_mcp.quoting import quote
from nexus_mcp.state.plan import PENDING
from nexus_mcp.store import agents
from nexus_mcp.store.harness_files import drop_old_tracker
from nexus_mcp.wording import finished_text, join_first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RESETTING = ("startup", "clear", "")
COMPACT = "compact"
_TITLE, _FILES = 120, 10
_PATH = 400


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Create the folders.

    A new session (source "startup", "clear" or none) starts without agents; those of other active sessions stay. It
    gets warnings about the open work of an earlier session; a missing capability map is reported in its context. A
    session with any other source, such as "resume" or "compact", continues and keeps its agents. After a compaction it
    gets the context of context_compact, unless it has that context already.
    """
    source, session = params.get("source", ""), params.get("session_id", "")
    reset = source in RESETTING
    if reset:
        _report_missing_map(ctx)
        _warn_about_leftovers(ctx)  # called before any write: its errors state that nothing has changed
    try:
        kept = agents.begin(ctx.store, ctx.harness_id, session, reset=reset)
    except NexusError:
        if source == COMPACT:  # the readable parts are sent nevertheless
            _give(ctx, session)
        raise
    if kept:
        ctx.warn(
            f"The record of an earlier session's agents could not be read, and is kept as {kept}. Check its content."
        )
    deleted = _delete_old_tracker(ctx)
    if ctx.workspace.state_root != ctx.workspace.root:
        main = quote(ctx.workspace.state_root, _PATH)
        ctx.give(
            f"This is a worktree of {main}, whose .nexus/state/ both use: they share plan, tasks, artifacts and "
            "history. Notes, rules, agents and skills are this worktree's own."
        )
    tell_copies(ctx)
    if not ctx.host.is_elsewhere:  # a client elsewhere has its own checkout, whose index is not here
        _report_conflicts(ctx)
    if reset:
        from nexus_mcp.lifecycle.session_memory import SessionMemory

        SessionMemory(ctx, session).forget()
    elif source == COMPACT:
        _give(ctx, session)
    return {"reset": reset, "deleted": deleted}


def _report_missing_map(ctx: EventContext) -> None:
    """Report a missing capability map in the context, not as a warning, because an empty project must cause no
    warnings.
    """
    from nexus_mcp.catalog.capabilities import missing_map_warning
    from nexus_mcp.lifecycle.sources import catalog_of

    text = missing_map_warning(catalog_of(ctx), ctx.harness_id)
    if text:
        ctx.give(f"Tell the user: {text}")


def _report_conflicts(ctx: EventContext) -> None:
    """Name the files with unresolved merge conflicts in the context, because an edit of such a file may be blocked
    unless an unfinished task names the file.
    """
    from nexus_mcp.lifecycle.merge_conflicts import find_conflicts

    try:
        names = find_conflicts(ctx.workspace.root).names
    except NexusError as error:
        ctx.warn(f"Whether files have unresolved conflicts is not known: {error}")
        return
    if names:
        shown = join_first(names, _FILES, lambda name: quote(name, _TITLE))
        ctx.give(
            f"Files with unresolved merge conflicts: {shown}. Tell the user. Resolve the conflicts of a file only "
            "for a task that names the file."
        )


def _give(ctx: EventContext, session: str) -> None:
    from nexus_mcp.lifecycle.session_context import give
    from nexus_mcp.lifecycle.session_memory import STARTED

    give(ctx, session, by=STARTED)


def _delete_old_tracker(ctx: EventContext) -> list[str]:
    try:
        return drop_old_tracker(ctx.store)
    except NexusError as error:
        ctx.warn(str(error))
        return []


def _warn_about_leftovers(ctx: EventContext) -> None:
    """Warn about plan.json and tasks.json if they exist; an unreadable one causes its own warning."""
    plan, tasks = both_of(ctx)
    if plan is not None:
        ctx.warn(f"plan.json is left from an earlier session: {_plan_text(plan, tasks)}")
    if tasks is not None:
        ctx.warn(f"tasks.json is left from an earlier session: {_tasks_text(tasks)}")


def _plan_text(plan: dict[str, Any], tasks: dict[str, Any] | None) -> str:
    pending = sum(issue["status"] == PENDING for issue in plan["issues"])
    head = (
        f"plan {plan['id']}, topic {quote(plan['topic'], _TITLE)}, {pending} of {len(plan['issues'])} issues pending. "
    )
    if pending:
        then = (
            "Go on with it: plan_status shows it, plan_decide records a decision; plan_start archives it and starts "
            "another."
        )
    elif tasks and tasks["tasks"]:  # the warning about tasks.json has the next step
        then = "All issues are decided, and the plan has tasks."
    else:
        then = (
            "All issues are decided: derive the tasks with task_add, or close the plan with task_close if it needs "
            "none."
        )
    return f"{head}{then}"


def _tasks_text(tasks: dict[str, Any]) -> str:
    rows = tasks["tasks"]
    left = select_unfinished(rows)
    if left:
        return f"it has the unfinished {list_ids(left)}. Go on with them: task_list shows them, and which are ready."
    if rows:
        return f"{finished_text(len(rows))} Call task_close to archive it."
    return "it has no tasks. Add them with task_add, or call task_close to begin anew."


EVENT = Event(optional=("source", "session_id"), run=run)
