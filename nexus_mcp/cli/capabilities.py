"""`nexus-mcp capabilities`: show, check and change the restrictions of agents and the tools they cover.

A command line that is wrong in every project raises UsageError (exit code 2). A name that is unknown in this project
raises NexusError (exit code 1, as for a refused change).
"""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.exits import defer_interrupt
from nexus_mcp.cli.hints import suggestion as hint
from nexus_mcp.cli.options import Argument, Command, Group, Option
from nexus_mcp.cli.text_output import wrap
from nexus_mcp.cli.workspace_options import HARNESS_ID, PROJECT, workspace_from
from nexus_mcp.errors import NexusError, UsageError
from nexus_mcp.workspace import check_harness_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.edits import Edit
    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.cli.options import Values

AGENT = Option("--agent", "ID", "an agent, e.g. engineer")
CLASS = Option("--class", "NAME", "a class of tools, e.g. shell_command_exec")
TOOL = Option("--tool", "NAME", "a tool as the harness calls it; * for any characters")
HARNESS = Option(HARNESS_ID.name, HARNESS_ID.metavar, "the harness (default: each that has a map)")


def harnesses(values: Values, catalog: Catalog) -> list[str]:
    """Return the harness that the command line names, else all harnesses with a capability map. Raise UsageError
    for a malformed id, NexusError if the harness has no map.
    """
    if HARNESS.name not in values:
        return list(catalog.maps)
    harness = check_harness_id(values[HARNESS.name])
    if harness not in catalog.maps:
        raise NexusError(
            f"There is no capability map of the harness {harness!r}{hint(harness, catalog.maps)}",
            next_step="Write its tools into .nexus/capability-map.yml; nexus-mcp catalog check lists the missing ones.",
        )
    return [harness]


def capability(word: str, catalog: Catalog) -> str:
    """Return `word`. Raise NexusError if it is not a capability."""
    known = catalog.vocabulary["capabilities"]
    if word not in known:
        raise NexusError(f"There is no capability {word!r}{hint(word, known)}")
    return word


def class_(values: Values, catalog: Catalog) -> str:
    """Return the class of tools that the command line names. Raise NexusError for an unknown class."""
    known = owners(catalog)
    word = values[CLASS.name]
    if word not in known:
        raise NexusError(f"There is no class of tools {word!r}{hint(word, known)}")
    return word


def tool_(values: Values) -> str:
    """Return the tool that the command line names. Raise UsageError for an empty or blank name."""
    word = values[TOOL.name]
    if not word.strip():
        raise UsageError(f"{TOOL.name} needs the name of a tool.")
    return word


def not_both(values: Values, one: Option, other: Option) -> None:
    """Raise UsageError if both options are present, because only one could have an effect."""
    if one.name in values and other.name in values:
        raise UsageError(f"Use either {one.name} or {other.name}, not both.")


def owners(catalog: Catalog) -> dict[str, list[str]]:
    """Return class → the capabilities that forbid it."""
    found: dict[str, list[str]] = {}
    for name, entry in catalog.vocabulary["capabilities"].items():
        for one in entry["classes"]:
            found.setdefault(one, []).append(name)
    return found


JSON = Option("--json", "", "print agents, classes and tools as JSON")
_MORE = " " * 4  # the indent of continuation lines


def _show(values: Values) -> int:
    """Print all agents, one agent or one class; with --json, both agents and classes. Raise UsageError, NexusError."""
    from nexus_mcp.catalog.load import load

    if JSON.name not in values:
        not_both(values, AGENT, CLASS)
        if HARNESS.name in values and not values.keys() & {AGENT.name, CLASS.name}:
            raise UsageError(f"{HARNESS.name} needs {AGENT.name}, {CLASS.name} or {JSON.name}: agents have no harness.")
    catalog = load(workspace_from(values).root)
    maps = harnesses(values, catalog)
    chosen = [catalog.agent(values[AGENT.name])] if AGENT.name in values else list(catalog.agents.values())
    classes = [class_(values, catalog)] if CLASS.name in values else list(owners(catalog))
    if JSON.name in values:
        import json

        print(json.dumps(_document(catalog, chosen, classes, maps), indent=2))
        return exits.OK
    if CLASS.name in values:
        lines = _lines_of_class(catalog, classes[0], maps)
    elif AGENT.name in values:
        lines = _lines_of_agent(catalog, chosen[0], maps)
    else:
        lines = _lines_of_agents(chosen)
    for line in lines:
        print(line)
    return exits.OK


def _lines_of_agents(agents: list[dict[str, Any]]) -> list[str]:
    """Return a line for each agent; `+` marks a capability that the project added."""
    width = max((len(agent["id"]) for agent in agents), default=0)
    rows = [
        (agent["id"], [*agent["capabilities"], *(f"+{name}" for name in agent["added"])])
        for agent in sorted(agents, key=lambda agent: agent["id"])
    ]
    return [f"{name:{width}}  {' '.join(names) or 'anything'}".rstrip() for name, names in rows]


def _lines_of_agent(catalog: Catalog, agent: dict[str, Any], maps: list[str]) -> list[str]:
    from nexus_mcp.catalog.capabilities import all_capabilities, tools_of

    lines = []
    for name in all_capabilities(agent):
        added = " (added by this project)" if name in agent["added"] else ""
        lines += wrap(f"{name}{added}: {catalog.vocabulary['capabilities'][name]['description']}", "", _MORE)
        for harness in maps:
            lines += _lines_of_tools(harness, tools_of(catalog, name, harness))
    return lines or [f"{agent['id']} may use every tool."]


def _lines_of_class(catalog: Catalog, name: str, maps: list[str]) -> list[str]:
    from nexus_mcp.catalog.tool_files import class_tools

    lines = [f"{name}, blocked by {' and '.join(owners(catalog)[name])}:"]
    for harness in maps:
        lines += _lines_of_tools(harness, class_tools(catalog.maps[harness], name, catalog.vocabulary))
    return lines


def _lines_of_tools(harness: str, tools: list[str]) -> list[str]:
    return wrap(f"{harness}: {', '.join(tools)}", "  ", _MORE)


def _document(
    catalog: Catalog, agents: list[dict[str, Any]], classes: list[str], maps: list[str]
) -> dict[str, dict[str, Any]]:
    from nexus_mcp.catalog.capabilities import all_capabilities, forbidden_tools
    from nexus_mcp.catalog.tool_files import class_tools

    return {
        "agents": {
            agent["id"]: {
                "canonical": agent["capabilities"],
                "added": agent["added"],
                "effective": all_capabilities(agent),
                "disallowed": {harness: forbidden_tools(catalog, agent["id"], harness) for harness in maps},
            }
            for agent in agents
        },
        "classes": {
            harness: {name: class_tools(catalog.maps[harness], name, catalog.vocabulary) for name in classes}
            for harness in maps
        },
    }


SHOW = Command(
    "show",
    "show restrictions, and the tools that they forbid",
    "Without options it prints a line for each agent. With --agent it prints the\n"
    "restrictions of the agent, and the tools that they forbid in each harness. With\n"
    "--class it prints the tools of a class.",
    (AGENT, CLASS, HARNESS, JSON, PROJECT),
    _show,
    examples=(
        ("nexus-mcp capabilities show --agent writer", "show what the agent writer may not do"),
        ("nexus-mcp capabilities show --class shell_command_exec", "show the tools of a class in each harness"),
    ),
)


def _check(values: Values) -> int:
    """Print that the maps are complete, or the classes of a tool, or whether an agent may use it. Return 1 if the agent
    may not use the tool. Raise CatalogError for faults of the project's files, such as an incomplete map; UsageError,
    NexusError.
    """
    from nexus_mcp.catalog.load import load
    from nexus_mcp.catalog.tool_files import class_tools
    from nexus_mcp.quoting import inert

    if AGENT.name in values and TOOL.name not in values:
        raise UsageError("--agent needs --tool. To list all tools, use capabilities show --agent.")
    not_both(values, TOOL, CLASS)
    catalog = load(workspace_from(values).root)
    maps = harnesses(values, catalog)
    if TOOL.name not in values:
        classes = [class_(values, catalog)] if CLASS.name in values else list(owners(catalog))
        for harness in maps:
            tools = {tool for name in classes for tool in class_tools(catalog.maps[harness], name, catalog.vocabulary)}
            print(f"{harness}: {len(classes)} of {len(classes)} classes have a tool, {len(tools)} names in all.")
        return exits.OK
    lines, is_free = _of_tool(catalog, values, maps)
    for line in lines:
        print(inert(line))
    return exits.OK if is_free else exits.FAILED


def _of_tool(catalog: Catalog, values: Values, maps: list[str]) -> tuple[list[str], bool]:
    """Return a line for each harness, and whether the agent may use the tool in all of them; without an agent, True."""
    from nexus_mcp.catalog.capabilities import check_tool, classes_of

    tool, lines, is_free = tool_(values), [], True
    for harness in maps:
        known, only_reads, near = _standing(catalog, harness, tool)
        if AGENT.name in values:
            may, answer = check_tool(catalog, values[AGENT.name], tool, harness)
            is_free = is_free and may
            answer = answer or f"{values[AGENT.name]} may use {tool}"
        else:
            may, found = True, classes_of(catalog, tool, harness)
            answer = f"{tool} is in {' and '.join(found) or 'no class'}"
        if not may:
            end = ""
        elif only_reads:
            end = ". It only reads, and that is never refused."
        else:
            end = "." if known else f". The map does not know it{near or '.'}"
        lines.append(f"{harness}: {answer}{end}")
    return lines, is_free


def _standing(catalog: Catalog, harness: str, tool: str) -> tuple[bool, bool, str]:
    """Return (whether the map knows the tool, whether the tool only reads, the suggestion for an unknown tool)."""
    from nexus_mcp.catalog.placeholders import suggestion
    from nexus_mcp.catalog.tool_files import ANY, class_tools, matches_any, own_name

    known, vocabulary = catalog.maps[harness], catalog.vocabulary
    names = [name for one in known["classes"] for name in class_tools(known, one, vocabulary)]
    names += [name for table in ("reading", "editing", "patching", "opening", "resuming") for name in known[table]]
    names += [own_name(known["nexus_tools"], name) for name in vocabulary["tools"]]
    if matches_any(names, tool):
        return True, matches_any(known["reading"], tool), ""
    return False, False, suggestion(tool, tuple(dict.fromkeys(name for name in names if ANY not in name)))


CHECK = Command(
    "check",
    "check the tools of classes, or whether an agent may use one",
    "Without options it checks that all maps are complete, also this project's. With\n"
    "--tool it prints the classes of the tool. With --tool and --agent it prints\n"
    "whether the agent may use the tool, and if not, what to do instead. A tool that\n"
    "a map does not know is allowed. Exit code 1: the agent may not use the tool, or\n"
    "a map is incomplete.",
    (AGENT, CLASS, TOOL, HARNESS, PROJECT),
    _check,
    examples=(
        ("nexus-mcp capabilities check --agent writer --tool Bash", "print whether writer may use the tool Bash"),
    ),
)


CAPABILITY = Argument("[CAPABILITY]", "a restriction of the agent, with --agent", least=0)
_FROZEN = (
    "The list now equals the shipped one, but stays in the file because a comment is in it or beside it.\n"
    "Delete it by hand; else additions of a later release to the shipped list have no effect in this project."
)
_EXAMPLES = "no_shell_exec --agent writer, or --class shell_command_exec --tool NAME --harness-id codex"


def _change(values: Values, *, add: bool) -> int:
    """Make the change, if there is anything to change, and print it. Raise NotConfirmed if the disk did not confirm the
    change; UsageError or another NexusError if nothing has changed.
    """
    from nexus_mcp.catalog.load import load
    from nexus_mcp.catalog.sources import read_shipped

    verb = "add" if add else "remove"
    of_agent, class_tools = {CAPABILITY.name, AGENT.name}, {CLASS.name, TOOL.name}
    present = values.keys() & (of_agent | class_tools)
    if present not in (of_agent, class_tools) or (present == of_agent and HARNESS.name in values):
        raise UsageError(
            f"capabilities {verb} takes a capability with --agent, or --class with --tool.",
            next_step=f"Example: nexus-mcp capabilities {verb} {_EXAMPLES}",
        )
    workspace = workspace_from(values)
    catalog, below = load(workspace.root), read_shipped()
    edit, message = (_edit_of_agent if present == of_agent else _edit_of_class)(values, catalog, below, add=add)
    if edit is None:
        print(message)
        return exits.OK
    from nexus_mcp.catalog.edits import carry_out
    from nexus_mcp.store.store import Store

    store = Store(workspace)
    with defer_interrupt(store.stop):
        done = carry_out(store, edit, below)
    print(f"{done.path}: {message}")
    if done.is_frozen:
        print(_FROZEN)
    return exits.OK


def _edit_of_agent(values: Values, catalog: Catalog, below: dict[str, Any], *, add: bool) -> tuple[Edit | None, str]:
    """Return (the change, or None when there is nothing to do; the message to print). Raise NexusError for an unknown
    agent or capability, or a capability that cannot be removed.
    """
    from nexus_mcp.catalog.capabilities import all_capabilities, removal_fault
    from nexus_mcp.catalog.edits import agent_edit

    agent, name = catalog.agent(values[AGENT.name]), capability(values[CAPABILITY.name], catalog)
    agent_id, has = agent["id"], name in all_capabilities(agent)
    if add:
        if has:
            return None, f"{agent_id} has {name} already."
        return agent_edit(agent_id, name, agent["capabilities"], add=True), f"{agent_id} has {name} now."
    canonical = agent["capabilities"] if agent_id in below["agents"] else ()
    fault = removal_fault(agent_id, name, canonical)
    if fault:
        raise NexusError(fault, effect="nothing was changed.", next_step=_instead(catalog, name))
    if not has:
        added = f"This project added {' '.join(agent['added'])}." if agent["added"] else ""
        raise NexusError(f"{agent_id} does not have {name}", effect="nothing was changed.", next_step=added)
    return agent_edit(agent_id, name, canonical, add=False), f"{agent_id} does not have {name} any more."


def _instead(catalog: Catalog, name: str) -> str:
    """Return the next step for a shipped capability, which cannot be removed: name the agents that may do the work."""
    from nexus_mcp.catalog.capabilities import all_capabilities

    able = [other for other, entry in catalog.agents.items() if name not in all_capabilities(entry)]
    own = "write an agent of your own under another id, in .nexus/agents"
    return f"Give the work to {' or '.join(able)}, or {own}." if able else f"{own.capitalize()}."


def _edit_of_class(values: Values, catalog: Catalog, below: dict[str, Any], *, add: bool) -> tuple[Edit | None, str]:
    """Return (the change of a class, or None when there is nothing to do; the message to print). Raise UsageError
    without exactly one harness, NexusError for an unknown name or a tool that cannot be removed.
    """
    from nexus_mcp.catalog.edits import class_edit
    from nexus_mcp.catalog.tool_files import matches_any

    maps = harnesses(values, catalog)
    if len(maps) != 1:
        raise UsageError(f"--class needs --harness-id: one of {', '.join(maps)}.")
    harness, name, tool = maps[0], class_(values, catalog), tool_(values)
    tools = catalog.maps[harness]["classes"][name]
    if add:
        if matches_any(tools, tool):
            return None, f"{tool} is already in {name} of {harness}."
        return class_edit(harness, name, tool, tools, add=True), f"{tool} is now in {name} of {harness}."
    if tool not in tools:
        raise NexusError(f"{tool!r} is not in {name} of {harness}{hint(tool, tools)}")
    shipped = below["maps"].get(harness, {"classes": {name: ()}})["classes"][name]
    if tool in shipped:
        added = [other for other in tools if other not in shipped]
        raise NexusError(
            f"{tool} is in {name} of the shipped map of {harness}, and cannot be removed: agents "
            "that may not use the class could use this tool then",
            effect="nothing was changed.",
            next_step=f"This project added {', '.join(added)}."
            if added
            else "This project added nothing to the class.",
        )
    if tools == [tool]:
        raise NexusError(
            f"{tool} is the only tool in {name} of {harness}: without it the class would forbid nothing",
            effect="nothing was changed.",
            next_step="Add the tool that takes its place first.",
        )
    return class_edit(
        harness, name, tool, tools, add=False, below=shipped
    ), f"{tool} is no longer in {name} of {harness}."


_CHANGING = (AGENT, CLASS, TOOL, HARNESS, PROJECT)

ADD = Command(
    "add",
    "add a restriction to an agent, or a tool to a class",
    "With --agent it adds a capability to an agent: what the agent may not do. With\n"
    "--class, --tool and --harness-id it adds a tool to a class. It keeps the\n"
    "comments of the file.",
    _CHANGING,
    lambda values: _change(values, add=True),
    argument=CAPABILITY,
    examples=(("nexus-mcp capabilities add no_shell_exec --agent writer", "forbid shell commands to writer"),),
)
REMOVE = Command(
    "remove",
    "remove a restriction or tool that this project added",
    "With --agent it removes a capability that this project added. With --class,\n"
    "--tool and --harness-id it removes a tool that this project added to a class.\n"
    "Shipped capabilities and tools stay. It also removes a list that is then the\n"
    "same as the shipped one, and keeps the comments of the file.",
    _CHANGING,
    lambda values: _change(values, add=False),
    argument=CAPABILITY,
    examples=(("nexus-mcp capabilities remove no_shell_exec --agent writer", "take that restriction back"),),
)


COMMAND = Group(
    "capabilities",
    "show, check and change the restrictions of agents",
    "Shows and changes the restrictions of agents, and the tools of a harness that\n"
    "they forbid. The files of a project are .nexus/agents/ID/meta.yml and\n"
    ".nexus/capability-map.yml.",
    {"show": lambda: SHOW, "check": lambda: CHECK, "add": lambda: ADD, "remove": lambda: REMOVE},
)
