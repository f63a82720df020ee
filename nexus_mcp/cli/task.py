"""`nexus-mcp task`: show one task in full, with its unfinished dependencies and the tasks that wait for it."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.workspace_options import PROJECT, TASK_ID, find_task, print_json, workspace_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from nexus_mcp.cli.blocks import Line, Table
    from nexus_mcp.cli.options import Values
    from nexus_mcp.views.tasks import Neighbour

JSON = Option("--json", "", "print the task as JSON")
_TEXTS = (("context", "Context"), ("approach", "Approach"), ("acceptance", "Done when"), ("risk", "Risk"))


def run(values: Values) -> int:
    """Print the task. Raise UsageError, NexusError if there is no such task, StateError, PathRefused, StorageError."""
    import time

    from nexus_mcp.errors import NexusError
    from nexus_mcp.store.store import Store
    from nexus_mcp.views.tasks import task

    both = Store(workspace_from(values)).snapshot()
    one, document = find_task(both, values[TASK_ID.name])
    try:
        plan = both.plan()
    except NexusError:  # nexus-mcp status reports the fault; the task itself can be read
        plan = None
    view = task(document, one, plan)
    if JSON.name in values:
        print_json(view)
        return exits.OK
    from nexus_mcp.cli.terminal import open_screen

    screen = open_screen()
    screen.show(_blocks(view, time.time(), screen.width))
    return exits.OK


def _blocks(view: dict[str, Any], now: float, width: int) -> list[Line | Table]:
    from nexus_mcp.cli import blocks
    from nexus_mcp.cli.blocks import BLANK, Line, heading, paragraphs
    from nexus_mcp.cli.status_lines import when
    from nexus_mcp.cli.task_lines import MARKS
    from nexus_mcp.views.tasks import WORDS

    one, row = view["task"], view["row"]
    _, style = MARKS[row["state"]]
    facts: list[Any] = [(WORDS[row["state"]], style)]
    facts += [f"owner {row['owner']}"] if row["owner"] else []
    facts += [f"added {when(row['created_at'], now, width)}"]
    parts = [part for fact in facts for part in ((" · ", blocks.DIM), fact)][1:]
    shown: list[Line | Table] = [
        Line((row["title"], blocks.HEADING), lead=[(f"{row['id']}  ", blocks.DIM)]),
        Line(*parts, lead=" " * (len(str(row["id"])) + 2)),
    ]
    if view["reason"]:
        reason = view["reason"]
        shown += [BLANK, Line(f"{reason[:1].upper()}{reason[1:]}.")]
    if view["cycle"]:
        from nexus_mcp.views.tasks import problems

        shown += [Line((problems([], [view["cycle"]])[0], blocks.PROBLEM))]
    for title, ones in (("Waits for", view["waits_for"]), ("Blocks", view["blocks"])):
        if ones:
            shown += [BLANK, heading(title), _neighbours(ones)]
    if view["issue"] is not None:
        shown += [BLANK, heading("Question", f"issue {view['issue']['id']} of the plan")]
        shown += paragraphs(view["issue"]["title"], indent=2)
        decision = view["issue"].get("decision")
        if decision is not None:
            shown += [BLANK, heading("Decision"), *paragraphs(decision, indent=2)]
        else:
            shown += [Line(("not decided yet", blocks.QUESTION), lead="  ")]
    for name, title in _TEXTS:
        if one.get(name, "").strip():
            shown += [BLANK, heading(title), *paragraphs(one[name], indent=2)]
    return shown


def _neighbours(ones: Sequence[Neighbour]) -> Table:
    from nexus_mcp.cli import blocks
    from nexus_mcp.cli.blocks import DETAIL, LEAD, MAIN, NUMBER, Table
    from nexus_mcp.cli.task_lines import MARKS, owner
    from nexus_mcp.views.tasks import WORDS

    return Table(
        (LEAD, NUMBER, MAIN, DETAIL, DETAIL),
        [
            (
                MARKS[one["state"]],
                str(one["id"]),
                one["title"],
                (WORDS[one["state"]], blocks.DIM),
                owner(one["owner"]),
            )
            for one in ones
        ],
        indent=2,
    )


COMMAND = Command(
    "task",
    "show one task in full, and what it waits for",
    "Shows the task with its context, approach and acceptance, why it is not ready,\n"
    "what it blocks, and the decision that it carries out. Exit code 1: there is no\n"
    "such task, or the file cannot be read.",
    (JSON, PROJECT),
    run,
    argument=TASK_ID,
    examples=(("nexus-mcp task 4", "show task 4, and why it is not ready"),),
)
