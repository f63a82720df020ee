"""`nexus-mcp decisions`: print each decision with its question, cycle, date, topic, tasks and advice."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.blocks import BLANK, DIM, Line
from nexus_mcp.cli.history_views import NONE_YET, open_store, print_json_view, show, since_from
from nexus_mcp.cli.options import Argument, Command, Option, parse_count
from nexus_mcp.cli.workspace_options import JSON, PROJECT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.blocks import Part
    from nexus_mcp.cli.options import Values
    from nexus_mcp.views.decisions import Decision

SHOWN = 20
NUMBER = Option("--number", "N", "show the last N decisions, also -n N (default: 20)", short="-n")
SINCE = Option("--since", "WHEN", "only decisions of cycles closed since then: 7d or a date")
QUERY = Argument("[QUERY]", "words; a decision is shown if it has them all", count=99, least=0)
_INDENT = 2
_NONE_READABLE = "The files that can be read have no decision."


def run(values: Values) -> int:
    """Print the newest decisions, newest first; return 1 if a file cannot be read. Raise UsageError."""
    from nexus_mcp.cli.status_lines import fault_lines
    from nexus_mcp.views.decisions import readable

    query = " ".join(values.lists[QUERY.name])
    most = parse_count(values.get(NUMBER.name, str(SHOWN)), NUMBER.name)
    since = since_from(values, SINCE)
    is_json = JSON.name in values
    view = readable(open_store(values), query=query, since=since, most=most, counted=is_json)
    faults = view["faults"]
    if is_json:
        print_json_view(view)
    else:
        found = _blocks_of(view, most) if view["decisions"] else _none(query, since, is_part=bool(faults))
        show([*fault_lines(faults), *([BLANK] if faults else ()), *found])
    return exits.FAILED if faults else exits.OK


def _blocks_of(view: dict[str, Any], most: int) -> list[Line]:
    lines: list[Line] = []
    for one in view["decisions"]:
        lines += [*_lines(one), BLANK]
    return [*lines, Line((f"The newest {most}; -n {2 * most} shows more.", DIM))] if view["more"] else lines[:-1]


def _none(query: str, since: str, *, is_part: bool) -> list[Line]:
    """Return a line about a list without decisions. `is_part`: a file that may have decisions cannot be read."""
    if is_part:
        return [Line("The files that can be read have no such decision." if query or since else _NONE_READABLE)]
    then = " since then" if since else ""
    if query:
        return [Line(f"No decision has {query[:40]!r}{then}; nexus-mcp history search looks into tasks, too.")]
    return [Line(f"Nothing was decided{then or ' yet'}. {'An earlier --since shows more.' if since else NONE_YET}")]


def _lines(one: Decision) -> list[Line]:
    from nexus_mcp.cli import cycle_blocks
    from nexus_mcp.cli.blocks import GOOD, QUESTION, STRONG, paragraphs

    first, *rest = paragraphs(one["decision"], indent=_INDENT + 2)
    closed = f"cycle {one['cycle']} · {cycle_blocks.day(one['at'])}"
    where: Part = ("open plan", QUESTION) if one["cycle"] is None else (closed, DIM)
    tasks = f" · task {', '.join(map(str, one['tasks']))}" if one["tasks"] else ""
    lines = [
        Line((" ".join(one["question"].split()) or "(no question)", STRONG)),
        Line(*first.parts, lead=[" " * _INDENT, ("→ ", GOOD)]),
        *rest,
        Line(where, (f" · {cycle_blocks.topic_of(one)}{tasks}", DIM), lead=" " * _INDENT),
    ]
    for agent, advice in one["advice"].items():
        lines += cycle_blocks.add_label(f"{agent} advised", advice, _INDENT)
    return lines


COMMAND = Command(
    "decisions",
    "show what was decided, and why",
    "Shows each decision with its question, its cycle, its date, its topic and what\n"
    "agents advised, the newest first. Those of the open plan come first. With words\n"
    "it shows the decisions that have them all. Exit code 0; 1: a file cannot be\n"
    "read, and decisions of other files are shown; 2: wrong command line.",
    (NUMBER, SINCE, JSON, PROJECT),
    run,
    argument=QUERY,
    examples=(
        ("nexus-mcp decisions parser", "show what was decided about a parser, and why"),
        ("nexus-mcp decisions --since 7d", "show the decisions of the last seven days"),
    ),
)
