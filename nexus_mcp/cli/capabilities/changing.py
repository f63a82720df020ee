"""`nexus-mcp capabilities add` and `remove`: change the project's files, keeping their comments."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.capabilities.words import AGENT, CLASS, HARNESS, TOOL, capability, class_, harnesses, tool_
from nexus_mcp.cli.exits import defer_interrupt
from nexus_mcp.cli.hints import nearest
from nexus_mcp.cli.options import Argument, Command
from nexus_mcp.cli.workspace_options import PROJECT, workspace_from
from nexus_mcp.errors import NexusError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.editing.own import Edit
    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.cli.options import Values

CAPABILITY = Argument("[CAPABILITY]", "what the agent may not do, with --agent", least=0)
_FROZEN = (
    "The list there says what is shipped now, and stays because of a comment in it or beside it. Take it out by\n"
    "hand, or this project goes without what a later release adds to it."
)
_EXAMPLES = "no_shell_exec --agent writer, or --class shell_command_exec --tool NAME --harness-id codex"


def _add(values: Values) -> int:
    return _run(values, add=True)


def _remove(values: Values) -> int:
    return _run(values, add=False)


def _run(values: Values, *, add: bool) -> int:
    """Make the change and print it. Raise UsageError or NexusError with nothing changed."""
    from nexus_mcp.catalog import shipped
    from nexus_mcp.catalog.load import load

    verb = "add" if add else "remove"
    of_agent, of_class = {CAPABILITY.name, AGENT.name}, {CLASS.name, TOOL.name}
    present = values.keys() & (of_agent | of_class)
    if present not in (of_agent, of_class) or (present == of_agent and HARNESS.name in values):
        raise UsageError(
            f"capabilities {verb} takes a capability with --agent, or --class with --tool.",
            next_step=f"Example: nexus-mcp capabilities {verb} {_EXAMPLES}",
        )
    workspace = workspace_from(values)
    catalog, below = load(workspace.root), shipped.read()
    edit, message = (_agent if present == of_agent else _class)(values, catalog, below, add=add)
    if edit is None:
        print(message)
        return exits.OK
    from nexus_mcp.catalog.editing.own import carry_out
    from nexus_mcp.store.store import Store

    store = Store(workspace)
    with defer_interrupt(store.stop):
        done = carry_out(store, edit, below)
    print(f"{done.path}: {message}")
    if done.is_frozen:
        print(_FROZEN)
    return exits.OK


def _agent(values: Values, catalog: Catalog, below: dict[str, Any], *, add: bool) -> tuple[Edit | None, str]:
    """Return the change, None when there is nothing to do, and the message to print."""
    from nexus_mcp.catalog.capabilities import effective, removal_fault
    from nexus_mcp.catalog.editing.own import of_agent

    agent, name = catalog.agent(values[AGENT.name]), capability(values[CAPABILITY.name], catalog)
    agent_id, has = agent["id"], name in effective(agent)
    if add:
        if has:
            return None, f"{agent_id} has {name} already."
        return of_agent(agent_id, name, agent["capabilities"], add=True), f"{agent_id} has {name} now."
    canonical = agent["capabilities"] if agent_id in below["agents"] else ()
    fault = removal_fault(agent_id, name, canonical)
    if fault:
        raise NexusError(fault, effect="nothing was changed.", next_step=_instead(catalog, name))
    if not has:
        added = f"This project added {' '.join(agent['added'])}." if agent["added"] else ""
        raise NexusError(f"{agent_id} does not have {name}", effect="nothing was changed.", next_step=added)
    return of_agent(agent_id, name, canonical, add=False), f"{agent_id} does not have {name} any more."


def _instead(catalog: Catalog, name: str) -> str:
    """Return the advice for a capability that stays: the agents that may do the work."""
    from nexus_mcp.catalog.capabilities import effective

    able = [other for other, entry in catalog.agents.items() if name not in effective(entry)]
    own = "write an agent of your own under another id, in .nexus/agents"
    return f"Give the work to {' or '.join(able)}, or {own}." if able else f"{own.capitalize()}."


def _class(values: Values, catalog: Catalog, below: dict[str, Any], *, add: bool) -> tuple[Edit | None, str]:
    """Return the same as `_agent`, for a tool of a class."""
    from nexus_mcp.catalog.editing.own import of_class
    from nexus_mcp.catalog.tool_names import matches_any

    maps = harnesses(values, catalog)
    if len(maps) != 1:
        raise UsageError(f"--class needs --harness-id: one of {', '.join(maps)}.")
    harness, name, tool = maps[0], class_(values, catalog), tool_(values)
    tools = catalog.maps[harness]["classes"][name]
    if add:
        if matches_any(tools, tool):
            return None, f"{tool} is of {name} in {harness} already."
        return of_class(harness, name, tool, tools, add=True), f"{tool} is of {name} in {harness} now."
    if tool not in tools:
        raise NexusError(f"{tool!r} is not of {name} in {harness}{nearest(tool, tools)}")
    shipped = below["maps"].get(harness, {"classes": {name: ()}})["classes"][name]
    if tool in shipped:
        added = [other for other in tools if other not in shipped]
        raise NexusError(
            f"{tool} is of {name} in the map of {harness} that is shipped, and may not be taken out: agents "
            "that may not use the class could use this tool then",
            effect="nothing was changed.",
            next_step=f"This project added {', '.join(added)}."
            if added
            else "This project added nothing to the class.",
        )
    if tools == [tool]:
        raise NexusError(
            f"{tool} is the only tool of {name} in {harness}: without it, whatever the class forbids would be allowed",
            effect="nothing was changed.",
            next_step="Add the tool that takes its place first.",
        )
    return of_class(
        harness, name, tool, tools, add=False, below=shipped
    ), f"{tool} is not of {name} in {harness} any more."


_OPTIONS = (AGENT, CLASS, TOOL, HARNESS, PROJECT)

ADD = Command(
    "add",
    "keep an agent from something, or name a tool of a class",
    "With --agent: adds a capability to what the agent may not do. With --class and\n"
    "--tool: says that a tool of a harness is of that class. The comments of the\n"
    "file that is changed stay.",
    _OPTIONS,
    _add,
    argument=CAPABILITY,
)
REMOVE = Command(
    "remove",
    "take back what this project added",
    "With --agent: takes a capability away that this project added; one that a\n"
    "shipped agent has of itself stays. With --class and --tool: takes a tool out of\n"
    "that class that this project added; one of the shipped map stays. A list that\n"
    "then says what is shipped goes, and the comments of the file stay.",
    _OPTIONS,
    _remove,
    argument=CAPABILITY,
)
