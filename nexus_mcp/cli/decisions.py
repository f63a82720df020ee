"""`nexus-mcp decisions`: what was decided, and why: each decision with its question, cycle, date and advice."""

from __future__ import annotations

from nexus_mcp.cli.history_views import NONE_YET, open_store, print_json_view, show, since_from
from nexus_mcp.cli.options import Argument, Command, Option, parse_count
from nexus_mcp.cli.workspace_options import JSON, PROJECT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.blocks import Line, Part
    from nexus_mcp.cli.options import Values
    from nexus_mcp.views.decisions import Decision

SHOWN = 20
NUMBER = Option("--number", "N", "show the last N decisions, also -n N (default: 20)", short="-n")
SINCE = Option("--since", "WHEN", "only decisions of cycles closed since then: 7d or a date")
QUERY = Argument("[QUERY]", "words; a decision is shown if it has them all", count=99, least=0)
_INDENT = 2


def run(values: Values) -> int:
    """Print the newest decisions, newest first. Raise UsageError, StateError, PathRefused, StorageError."""
    from nexus_mcp.cli.blocks import BLANK, DIM, Line
    from nexus_mcp.views.decisions import decisions, newest

    query = " ".join(values.lists[QUERY.name])
    most = parse_count(values.get(NUMBER.name, str(SHOWN)), NUMBER.name)
    since = since_from(values, SINCE)
    store = open_store(values)
    both = store.snapshot()
    plan, tasks = both.plan(), both.tasks()
    present = tasks["tasks"] if tasks else ()
    if JSON.name in values:
        return print_json_view(
            store.history(
                lambda archive: decisions(archive, plan, tasks=present, query=query, since=since, most=most),
            )
        )
    view = store.history(lambda archive: newest(archive, plan, query, most, tasks=present, since=since))
    if not view["decisions"]:
        return show(_none(query, since))
    lines: list[Line] = []
    for one in view["decisions"]:
        lines += [*_lines(one), BLANK]
    if not view["more"]:
        return show(lines[:-1])
    return show([*lines, Line((f"The newest {most}; -n {2 * most} shows more.", DIM))])


def _none(query: str, since: str) -> list[Line]:
    from nexus_mcp.cli.blocks import Line

    then = " since then" if since else ""
    if query:
        return [Line(f"No decision has {query[:40]!r}{then}; nexus-mcp history search looks into tasks, too.")]
    return [Line(f"Nothing was decided{then or ' yet'}. {'An earlier --since shows more.' if since else NONE_YET}")]


def _lines(one: Decision) -> list[Line]:
    from nexus_mcp.cli import cycle_blocks
    from nexus_mcp.cli.blocks import DIM, GOOD, QUESTION, STRONG, Line, paragraphs

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
        lines += cycle_blocks.labelled(f"{agent} advised", advice, _INDENT)
    return lines


COMMAND = Command(
    "decisions",
    "show what was decided, and why",
    "Shows each decision with its question, its cycle, its date, its topic and what\n"
    "agents advised, the newest first. Those of the open plan come first. With words\n"
    "it shows the decisions that have them all.",
    (NUMBER, SINCE, JSON, PROJECT),
    run,
    argument=QUERY,
    examples=(
        ("nexus-mcp decisions parser", "show what was decided about a parser, and why"),
        ("nexus-mcp decisions --since 7d", "show the decisions of the last seven days"),
    ),
)
