"""pre_tool_use: decide whether a tool may run."""

from __future__ import annotations

import os

from nexus_mcp.catalog.capabilities import all_capabilities, check_tool, restricted_agents
from nexus_mcp.catalog.patches import PROGRAMS
from nexus_mcp.catalog.tool_files import is_edit, meant_names, only_reads, written_paths
from nexus_mcp.errors import NexusError, PathRefused
from nexus_mcp.lifecycle.agent_identity import identify, unknown_denial
from nexus_mcp.lifecycle.definition import ALLOW, BLOCK, DENY, TEXT, Event, EventContext
from nexus_mcp.lifecycle.host import AUTO, OFF, WARN
from nexus_mcp.lifecycle.nexus_files import NOTE, Kinds, names_state, refusal
from nexus_mcp.lifecycle.settings import gate_of
from nexus_mcp.lifecycle.sources import catalog_of, fault_advice, select_unfinished, tasks_of
from nexus_mcp.quoting import quote
from nexus_mcp.store.paths import PLAN, TASKS
from nexus_mcp.workspace import LIMIT_VARIABLE, RUN_VARIABLE, run_denial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.lifecycle.agent_identity import Identity

_CREATION = "nexus_task_creation"
_TASK_UPDATE = "task_update"
_PATH = 200
_MOST = 50
"""The maximum number of files of one call that are checked for conflicts."""
_TEXTS = ("title", "context", "approach", "acceptance", "risk")


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Decide whether a tool may run. A call without an agent comes from the main session."""
    decide(ctx, params)
    if ctx.host.hides_resumes and "agent_id" in params:
        from nexus_mcp.lifecycle.agent_resume import record_hidden

        record_hidden(ctx, params)
    return {}


def decide(
    ctx: EventContext, params: dict[str, Any], *, may_be_agent: bool = False, is_input_lost: bool = True
) -> None:
    """Deny tools that a session of a run may not call, allow tools that only read, deny tools that the agent may not
    use, then check the files that the call edits.

    If there is no capability map, not even a faulty one, the classes of the tools are unknown, so only the first of
    these rules applies. A `task_update` of a task that a run works on gets a warning. With `may_be_agent` a call
    without an agent may come from an agent. `is_input_lost` is false if the call certainly has no input; then its files
    are judged as those of the main session.
    """
    catalog = catalog_of(ctx)
    known, tool = catalog.maps.get(ctx.harness_id), params["tool"]
    if denial := run_denial(tool, catalog.vocabulary["tools"], os.environ):
        ctx.decide(DENY, denial)
        return
    if tool.endswith(_TASK_UPDATE):
        _check_task_lease(ctx, params.get("tool_input"))
    if known is None and not catalog.lost_map(ctx.harness_id):
        return
    ctx.decide(ALLOW)
    if known is not None and only_reads(known, tool):
        return
    # A name that is spelled oddly may mean a tool of the map: the harness decides which tool runs.
    meant = [] if known is None else meant_names(known, tool)
    writer = tool if known is None else next((name for name in meant if is_edit(known, name)), tool)
    edit = None if known is None else written_paths(known, writer, params.get("tool_input"), params.get("file", ""))
    if edit is not None and ctx.host.client is not None:
        paths, is_certain = edit
        edit = ctx.host.client.all_of(paths), is_certain
    names = [tool, *meant]
    if known is not None and edit is not None and not is_edit(known, writer):
        names.append(PROGRAMS[0])
    identity = identify(ctx, params)
    agents = identity.agents(catalog)
    if _is_denied(ctx, catalog, identity, agents, names):
        return
    if edit is not None and os.environ.get(LIMIT_VARIABLE) and _is_limited(ctx, edit):
        return
    if edit is not None:
        is_main = identity.is_main and not may_be_agent
        _judge(ctx, catalog, agents, {**params, "tool": writer}, edit, is_main=is_main or not is_input_lost)


def _is_limited(ctx: EventContext, edit: tuple[list[str], bool]) -> bool:
    """Deny an edit of files that this session of a run may not change; return whether it was denied."""
    from nexus_mcp.catalog.path_limits import limit_of
    from nexus_mcp.lifecycle.session_limit import refusal

    limit = limit_of(os.environ)
    reason = "" if limit is None else refusal(ctx.workspace.root, limit, edit[0], is_certain=edit[1])
    if reason:
        ctx.decide(DENY, reason)
    return bool(reason)


def _check_task_lease(ctx: EventContext, tool_input: Any) -> None:
    """Warn if the call changes a task that a run works on, or worked on when it died, unless a session of a run makes
    the call. If files cannot be read, there is no warning.
    """
    id_ = tool_input.get("id") if isinstance(tool_input, dict) else None
    is_whole = isinstance(id_, int) or (isinstance(id_, float) and id_.is_integer())
    if not is_whole or os.environ.get(RUN_VARIABLE):
        return
    from nexus_mcp.store import run_files
    from nexus_mcp.store.tasks_extension import lease_of

    task = int(id_)  # type: ignore[arg-type]
    try:
        with ctx.store.state_as_it_is() as state:
            lease = lease_of(state, task)
            is_at_work = lease is not None and state is not None and run_files.holder(state) is not None
    except NexusError:
        return
    if lease is None:
        return
    from nexus_mcp.program import command

    run = quote(str(lease.get("run")), _PATH)
    if is_at_work:
        ctx.warn(
            f"The run {run} works on task {task} now. If you complete the task, the run discards its own work on it. "
            f"To take the task over, first type {command(f'run skip {task}')}."
        )
    else:
        ctx.warn(
            f"The run {run} was at work on task {task} and died; {command('run')} continues the task. To take it "
            f"over, first type {command('run unlock')}, which frees it."
        )


def _judge(
    ctx: EventContext,
    catalog: Catalog,
    agents: list[dict[str, Any]],
    params: dict[str, Any],
    edit: tuple[list[str], bool],
    *,
    is_main: bool,
) -> None:
    """Deny an edit that the guard of .nexus/ refuses; without a task list ask the edit gate, unless the edit certainly
    changes only notes; then check merge conflicts and file leases.
    """
    (paths, is_certain), tool = edit, params["tool"]
    kinds = Kinds(ctx.workspace.root, paths, ctx.workspace.state_root)
    is_certain = is_certain and kinds.is_whole
    known = catalog.maps[ctx.harness_id]
    may_reach_state = not is_certain and names_state(params.get("tool_input"))
    reason = refusal(known, tool, kinds.of, is_certain=is_certain, is_main=is_main, may_reach_state=may_reach_state)
    if reason:
        ctx.decide(DENY, reason)
        return
    files = [path for path, kind in kinds.of.items() if kind != NOTE]
    if (files or not is_certain) and not has_file(ctx, TASKS):
        ask_gate(ctx, _reason(catalog, agents, tool, next(iter(files), None)))
    if ctx.decision not in (BLOCK, DENY) and files and not ctx.host.is_elsewhere:
        _check_conflicts(ctx, files)
    if ctx.decision not in (BLOCK, DENY) and files:
        _check_leases(ctx, params, files)


def _check_conflicts(ctx: EventContext, files: list[str]) -> None:
    """Block an edit of a file that git has not merged yet, unless an unfinished task names the file. With the edit gate
    `warn` only warn, with `off` do nothing.
    """
    from nexus_mcp.lifecycle import merge_conflicts

    root = ctx.workspace.root
    try:
        places = {path: os.path.realpath(os.path.join(root, path)) for path in files[:_MOST]}
        doubtful = [path for path, place in places.items() if merge_conflicts.may_be_conflicted(root, place)]
        conflicts = merge_conflicts.find_conflicts(root) if doubtful else None
    except (NexusError, ValueError, OSError) as error:  # a path with a NUL or a loop of links names no file
        if isinstance(error, NexusError):
            ctx.warn(f"Whether files have unresolved conflicts is not known: {error}")
        return
    if conflicts is None or not any(merge_conflicts.is_conflicted(conflicts, places[path]) for path in doubtful):
        return
    gate = gate_of(ctx)
    if gate == OFF:
        return
    texts = [" ".join(str(task.get(name, "")) for name in _TEXTS) for task in select_unfinished(tasks_of(ctx))]
    for path in doubtful:
        names = {os.path.relpath(places[path], top).replace(os.sep, "/") for top in (root, conflicts.top)}
        is_named = any(name in text for name in names for text in texts)
        if not is_named and merge_conflicts.is_conflicted(conflicts, places[path]):
            reason = (
                f"{quote(path, _PATH)} has an unresolved merge conflict, and no task names it. Add a task with "
                "task_add that names the file, if the conflict is to be resolved; else leave the file alone."
            )
            if gate == WARN:
                ctx.warn(reason)
            else:
                ctx.decide(BLOCK, reason)
            return


def _check_leases(ctx: EventContext, params: dict[str, Any], files: list[str]) -> None:
    """Block an agent's edit of a file that another running agent holds, or warn, as gates.file_leases says.

    The main session never holds a file, and its edits are not blocked, because it leads the agents.
    """
    if "agent_id" not in params:
        return
    from nexus_mcp.lifecycle import file_leases

    found = file_leases.find_holder(ctx, params["agent_id"], files)
    mode = file_leases.lease_mode(ctx) if found else file_leases.OFF  # costs more than find_holder, so it is read last
    if mode == file_leases.OFF:
        return
    if mode == file_leases.BLOCK:
        ctx.decide(BLOCK, f"{found} Leave the file alone, and tell the lead: only one of you may edit it at a time.")
    else:
        ctx.warn(f"{found} Read the file again before you edit it, and tell the lead that two agents edit it.")


def ask_gate(ctx: EventContext, reason: str) -> None:
    """Block an edit without a task list, warn or do nothing, as the edit gate of project or installation says."""
    gate = gate_of(ctx)
    if gate == BLOCK or (gate == AUTO and has_file(ctx, PLAN)):
        ctx.decide(BLOCK, reason)
    elif gate == WARN:
        ctx.warn(reason)


def _is_denied(
    ctx: EventContext, catalog: Catalog, identity: Identity, agents: list[dict[str, Any]], tools: list[str]
) -> bool:
    """Deny the call if one of the agents may not use one of these tools; return whether it was denied.

    Otherwise warn about an unknown agent.
    """
    for tool in tools if agents else ():
        barring = frozenset(restricted_agents(catalog, tool, ctx.harness_id))
        barred = [agent for agent in agents if agent["id"] in barring]
        if barred and identity.is_unknown:
            ctx.decide(DENY, unknown_denial([agent["id"] for agent in barred], tool, identity))
            return True
        if barred:
            reason = check_tool(catalog, barred[0]["id"], tool, ctx.harness_id)[1]
            ctx.decide(DENY, f"{reason}{fault_advice(barred[0])}")
            return True
    if identity.is_unknown:
        ctx.warn(f"{identity.unknown_text()}, so it may do what every agent may do.")
    return False


def has_file(ctx: EventContext, name: str) -> bool:
    """Return whether a state file exists. A malformed file counts. If that cannot be checked, return True, too: our
    errors must not block the work.
    """
    try:
        with ctx.store.state() as state:
            return state is not None and state.check_plain(name)
    except PathRefused:
        return True
    except NexusError as error:
        ctx.warn(f"Whether there is a {name} is not known: {error}")
        return True


def _reason(catalog: Catalog, agents: list[dict[str, Any]], tool: str, file: str | None) -> str:
    what = f"change {quote(file, _PATH)}" if file else "change files"
    head = f"There is no task list, and {quote(tool, _PATH)} would {what}: files are edited for a task. "
    capabilities = catalog.vocabulary["capabilities"]
    if any(_CREATION in capabilities[name]["classes"] for agent in agents for name in all_capabilities(agent)):
        return head + (
            "You add no tasks yourself: end here, and tell the lead which task is missing, with title, "
            "context and acceptance. Notes below .nexus/ need none."
        )
    return head + (
        "First add one with task_add, with title, context and acceptance, then use the tool again; if it is not "
        "decided yet what to do, begin with plan_start. Notes below .nexus/ need none."
    )


EVENT = Event(
    required=("tool",),
    optional=("tool_input", "file", "agent_id", "agent_name", "session_id"),
    types={"agent_name": TEXT},  # any name is accepted, because a harness may have agents of its own
    run=run,
)
