"""`nexus-mcp graph`: print the tasks and their dependencies as text, JSON, Mermaid, DOT or an SVG picture."""

from __future__ import annotations

import sys

from nexus_mcp.cli import exits
from nexus_mcp.cli.history_views import open_store, print_json_view, show
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.workspace_options import JSON, PROJECT
from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.options import Values
    from nexus_mcp.store.history.archive import Archive

TEXT, MERMAID, DOT, SVG = FORMATS = ("text", "mermaid", "dot", "svg")
FORMAT = Option("--format", "FORMAT", f"{', '.join(FORMATS[:-1])} or {SVG} (default: {TEXT})", FORMATS)
HISTORY = Option("--history", "CYCLE", "the tasks of a closed cycle: a number, a date, or last")


def run(values: Values) -> int:
    """Print the graph. Raise UsageError, StateError, PathRefused, StorageError, GraphvizMissing."""
    from nexus_mcp.views.graph import graph

    form = values.get(FORMAT.name, TEXT)
    if JSON.name in values:
        if FORMAT.name in values:
            raise UsageError(f"{JSON.name} and {FORMAT.name} exclude each other.", next_step="Use one of them.")
        return print_json_view(graph(_tasks(values)))
    if form == SVG and sys.stdout.isatty():
        raise UsageError("An SVG is a picture, not text for a terminal.", next_step="Add > graph.svg to the command.")
    view = graph(_tasks(values))
    if form == TEXT:
        return _text(view, is_past=HISTORY.name in values)
    print(_render(form, view), end="")
    return exits.OK


def _text(view: dict[str, Any], *, is_past: bool) -> int:
    from nexus_mcp.cli.blocks import Line
    from nexus_mcp.cli.graph_blocks import graph_blocks

    if not view["nodes"]:
        return show([Line("This cycle has no tasks." if is_past else "There are no tasks: task_add adds them.")])
    return show(graph_blocks(view))


def _render(form: str, view: dict[str, Any]) -> str:
    if form == MERMAID:
        from nexus_mcp.rendering.mermaid import mermaid

        return mermaid(view)
    if form == DOT:
        from nexus_mcp.rendering.dot import dot

        return dot(view)
    from nexus_mcp.rendering.svg import svg

    return svg(view)


def _tasks(values: Values) -> list[dict[str, Any]]:
    """Return the present tasks, or those of the closed cycle that HISTORY names."""
    from nexus_mcp.views import cycles

    store = open_store(values)
    if HISTORY.name not in values:
        tasks = store.tasks()
        return tasks["tasks"] if tasks else []

    def look(archive: Archive) -> list[dict[str, Any]]:
        return cycles.tasks_of(archive.cycle(cycles.find_number(archive, values[HISTORY.name]) - 1))

    return store.history(look)


COMMAND = Command(
    "graph",
    "draw the tasks and their dependencies",
    "Shows in which order the tasks can be done: each step has the tasks that can\n"
    "begin when the steps before it are done. The critical path is the longest chain\n"
    "of unfinished tasks. Tasks that depend on each other in a cycle are named.\n"
    "--format svg needs pygraphviz in the environment of nexus-mcp.",
    (FORMAT, HISTORY, JSON, PROJECT),
    run,
    examples=(
        ("nexus-mcp graph", "show in which order the tasks can be done"),
        ("nexus-mcp graph --format svg > graph.svg", "draw them"),
        ("nexus-mcp graph --history last --format mermaid", "draw the last closed cycle in a Markdown page"),
    ),
)
