"""`nexus-mcp history`, `history search`, `history show` and `history diff`: look at closed cycles."""

from __future__ import annotations

import time

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Argument, Command, Option, parse_count
from nexus_mcp.cli.workspace_options import JSON, PROJECT, print_json, workspace_from
from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from nexus_mcp.cli.blocks import Line, Table
    from nexus_mcp.cli.options import Values
    from nexus_mcp.store.history.archive import Archive
    from nexus_mcp.store.store import Store

SHOWN = 20
NUMBER = Option("--number", "N", "show the last N cycles, also -n N (default: 20)", short="-n")
SINCE = Option("--since", "WHEN", "only cycles closed since then: 7d, 12h, 2w or a date")
BRANCH = Option("--branch", "NAME", "only cycles closed on this git branch")
NONE_YET = "No cycle is closed yet: task_close closes the plan and its tasks as one cycle."

_MOST_WORDS = 99
QUERY = Argument("QUERY", "a text in a cycle; letter case is ignored", count=_MOST_WORDS, least=1)
CYCLE = Argument("CYCLE", "a number, a date such as 2026-11-03, or last")
PAIR = Argument("OLD NEW", "two cycles: a number, a date such as 2026-11-03, or last", count=2)


def open_store(values: Values) -> Store:
    """Return the store of the project that the options name."""
    from nexus_mcp.store.store import Store

    return Store(workspace_from(values))


def since_from(values: Values, option: Option = SINCE) -> str:
    """Return the stamp that `option` names, "" without it. Raise UsageError."""
    if option.name not in values:
        return ""
    from nexus_mcp.views import period

    return period.since(values[option.name], time.time(), option.name)


def show(blocks: Iterable[Line | Table]) -> int:
    """Print the blocks, and return the exit code OK."""
    from nexus_mcp.cli.terminal import open_screen

    open_screen().show(blocks)
    return exits.OK


def print_json_view(view: dict[str, Any]) -> int:
    """Print the view as one line of JSON, and return the exit code OK."""
    print_json(view)
    return exits.OK


def _list(values: Values) -> int:
    """Print the newest cycles, newest first. Raise UsageError, StateError, PathRefused, StorageError."""
    from nexus_mcp.cli import cycle_blocks
    from nexus_mcp.views import cycles

    most = parse_count(values.get(NUMBER.name, str(SHOWN)), NUMBER.name)
    since, branch = since_from(values), values.get(BRANCH.name, "")
    view = open_store(values).history(
        lambda archive: cycles.cycle_rows(archive, since=since, branch=branch, most=most),
    )
    if JSON.name in values:
        return print_json_view(view)
    if not view["cycles"]:
        return show(
            cycle_blocks.nothing(view["total"], NONE_YET, [since and "since then", branch and "on that branch"])
        )
    return _show_rows(view, None)


def _search(values: Values) -> int:
    """Print the newest cycles that match, newest first. Raise UsageError, StateError, PathRefused, StorageError."""
    from nexus_mcp.cli import cycle_blocks
    from nexus_mcp.views import cycles
    from nexus_mcp.views.matches import first_match, is_in_names

    query = " ".join(values.lists[QUERY.name])
    if not query.strip():
        raise UsageError("nexus-mcp history search needs a text.", next_step="nexus-mcp history lists all cycles.")
    most = parse_count(values.get(NUMBER.name, str(SHOWN)), NUMBER.name)
    since, branch = since_from(values), values.get(BRANCH.name, "")

    # Every cycle has the names of fields, so a match in such a name is noise. Only if the query is in one of them, each
    # matching cycle is parsed to find a match elsewhere.
    accept = (lambda cycle: first_match(cycle, query)) if is_in_names(query) else None

    def look(archive: Archive) -> tuple[dict[str, Any], list[Any]]:
        view = cycles.cycle_rows(archive, query=query, since=since, branch=branch, most=most, accept=accept)
        if JSON.name in values:
            return view, []
        return view, [first_match(archive.cycle(row["number"] - 1), query) for row in view["cycles"]]

    view, found = open_store(values).history(look)
    if JSON.name in values:
        return print_json_view(view)
    if not view["cycles"]:
        where = [f"with {query[:40]!r}", since and "since then", branch and "on that branch"]
        return show(cycle_blocks.nothing(view["total"], NONE_YET, where))
    return _show_rows(view, found)


def _show_rows(view: dict[str, Any], found: list[Any] | None) -> int:
    """Print rows: with ages on a terminal, with times in a pipe."""
    from nexus_mcp.cli import cycle_blocks
    from nexus_mcp.cli.terminal import open_screen
    from nexus_mcp.views import period

    screen, now = open_screen(), time.time()
    when = (lambda stamp: period.age(stamp, now) or "no date") if screen.is_terminal else cycle_blocks.minute
    more = cycle_blocks.more(len(view["cycles"]), view["matching"])
    screen.show([cycle_blocks.table(view["cycles"], when, found), *more])
    return exits.OK


def _show(values: Values) -> int:
    """Print one cycle in full. Raise UsageError, StateError, PathRefused, StorageError."""
    from nexus_mcp.cli import cycle_blocks
    from nexus_mcp.views import cycles

    def look(archive: Archive) -> dict[str, Any]:
        number = cycles.find_number(archive, values[CYCLE.name])
        return cycles.cycle_view(number, archive.cycle(number - 1))

    view = open_store(values).history(look)
    return print_json_view(view) if JSON.name in values else show(cycle_blocks.in_full(view))


def _diff(values: Values) -> int:
    """Print how two cycles differ. Raise UsageError, StateError, PathRefused, StorageError."""
    from nexus_mcp.cli import cycle_blocks
    from nexus_mcp.views import cycles

    def look(archive: Archive) -> dict[str, Any]:
        old, new = (cycles.find_number(archive, word) for word in values.lists[PAIR.name])
        return cycles.compare((old, archive.cycle(old - 1)), (new, archive.cycle(new - 1)))

    view = open_store(values).history(look)
    return print_json_view(view) if JSON.name in values else show(cycle_blocks.differences(view))


LIST = Command(
    "history",
    "list the closed cycles",
    "",  # the description of the group `history` covers it
    (NUMBER, SINCE, BRANCH, JSON, PROJECT),
    _list,
    examples=(
        ("nexus-mcp history --since 7d", "list what was closed in the last seven days"),
        ("nexus-mcp history -n 5 --branch main", "list the last five cycles of a branch"),
    ),
)

SEARCH = Command(
    "search",
    "search the closed cycles for a text",
    "Lists the cycles that have the text, the newest first, and shows where. It\n"
    "looks into all that a cycle holds: topic, questions, decisions, advice, tasks.",
    (NUMBER, SINCE, BRANCH, JSON, PROJECT),
    _search,
    argument=QUERY,
    examples=(("nexus-mcp history search parser", "find the cycles that say something about a parser"),),
)

SHOW = Command(
    "show",
    "show one closed cycle in full",
    "Shows the plan with its decisions and advice, and the tasks. The numbers are\n"
    "those of nexus-mcp history. A date names the newest cycle closed that day.",
    (JSON, PROJECT),
    _show,
    argument=CYCLE,
    examples=(
        ("nexus-mcp history show last", "show the cycle that was closed last"),
        ("nexus-mcp history show 2026-11-03", "show the newest cycle of a day"),
    ),
)

DIFF = Command(
    "diff",
    "compare two closed cycles",
    "Compares the questions with their decisions, and the tasks. Two questions or\n"
    "tasks with the same title count as one.",
    (JSON, PROJECT),
    _diff,
    argument=PAIR,
    examples=(("nexus-mcp history diff 3 last", "compare two plans, their decisions and their tasks"),),
)
