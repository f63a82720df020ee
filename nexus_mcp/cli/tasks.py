"""`nexus-mcp tasks`: the task list, all of it or a part."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.workspace_options import PROJECT, print_json, workspace_from
from nexus_mcp.errors import UsageError
from nexus_mcp.wording import join_first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.blocks import Line, Table
    from nexus_mcp.cli.options import Values

READY = Option("--ready", "", "only tasks that can be started now")
BLOCKED = Option("--blocked", "", "only tasks that wait for others, and why")
OWNER = Option("--owner", "NAME", "only tasks of this owner")
JSON = Option("--json", "", "print the tasks as JSON")
_NONE = "There are no tasks now. Your agents add them with task_add; nexus-mcp history shows closed ones."
_MOST_OWNERS = 10


def run(values: Values) -> int:
    """Print the tasks that match. Raise UsageError, StateError, PathRefused, StorageError."""
    if READY.name in values and BLOCKED.name in values:
        raise UsageError("--ready and --blocked exclude each other.", next_step="Leave one out.")
    from nexus_mcp.store.store import Store
    from nexus_mcp.views import task_rows, tasks

    states = {READY.name: (task_rows.READY,), BLOCKED.name: (task_rows.WAITING,)}
    wanted = [state for name, ones in states.items() if name in values for state in ones]
    document = Store(workspace_from(values)).tasks()
    view = tasks.tasks(document, states=wanted, owner=values.get(OWNER.name, ""))
    if JSON.name in values:
        print_json(view)
        return exits.OK
    from nexus_mcp.cli.terminal import open_screen

    screen = open_screen()
    everything = task_rows.rows([] if document is None else document["tasks"])
    screen.show(_blocks(view, everything, values, screen.width))
    return exits.OK


def _blocks(view: dict[str, Any], everything: list[Any], values: Values, width: int) -> list[Line | Table]:
    from nexus_mcp.cli.blocks import BLANK, Line, heading
    from nexus_mcp.cli.task_lines import GROUPS, plain_table, problem_lines, task_table
    from nexus_mcp.views import tasks

    if not everything:
        return [Line(_NONE)]
    if not view["tasks"]:
        return [Line(_no_hit(view, values))]
    known = tasks.by_id(everything)
    ordered = [row for state in GROUPS for row in view["tasks"] if row["state"] == state]
    problems: list[Line | Table] = [*problem_lines(view["tasks"], view["cycles"])]
    if not width:
        return [plain_table(ordered, known), *problems]
    shown: list[Line | Table] = [_progress_line(view, everything, values, width)]
    for state in GROUPS:
        there = [row for row in ordered if row["state"] == state]
        if there:
            words = tasks.WORDS[state].capitalize()
            shown += [BLANK, heading(words, str(len(there)) if len(there) > 1 else ""), task_table(there, known)]
    return [*shown, *([BLANK, heading("Problems"), *problems] if problems else [])]


def _progress_line(view: dict[str, Any], everything: list[Any], values: Values, width: int) -> Line:
    """Return the progress of all tasks, or of the tasks of --owner; if the list is filtered, with a label."""
    from nexus_mcp.cli.task_lines import progress
    from nexus_mcp.views import task_rows, tasks

    if owner := values.get(OWNER.name, ""):
        mine = tasks.of_owner(everything, owner)
        return progress(task_rows.counts(mine), width, f"Tasks of {mine[0]['owner']}")
    is_part = READY.name in values or BLOCKED.name in values
    return progress(view["counts"], width, "All tasks" if is_part else "")


def _no_hit(view: dict[str, Any], values: Values) -> str:
    """Return the message for options that no task matches, with the owners, or the numbers of tasks and a next step."""
    owner = values.get(OWNER.name, "")
    if owner and owner.casefold() not in (name.casefold() for name in view["owners"]):
        names = join_first(view["owners"], _MOST_OWNERS)
        return f"No task has the owner {owner}. " + (f"The owners are {names}." if names else "No task has an owner.")
    counts = view["counts"]
    what = "ready" if READY.name in values else "waiting" if BLOCKED.name in values else "there"
    whose = f" of {owner}" if owner else ""
    parts = [f"{counts[state]} {words}" for state, words in _state_words() if counts[state]]
    return f"No task{whose} is {what} now; in all there are {', '.join(parts)}. nexus-mcp tasks lists them."


def _state_words() -> list[tuple[str, str]]:
    from nexus_mcp.cli.task_lines import GROUPS
    from nexus_mcp.views.tasks import WORDS

    return [(state, WORDS[state]) for state in GROUPS]


COMMAND = Command(
    "tasks",
    "list the tasks, the ready ones, or what blocks the others",
    "Lists the tasks by state. nexus-mcp task TASK-ID shows one in full.\n"
    "Exit code 0, also when no task matches; 1: the file cannot be read.",
    (READY, BLOCKED, OWNER, JSON, PROJECT),
    run,
    examples=(
        ("nexus-mcp tasks --ready", "list what can be started now"),
        ("nexus-mcp tasks --blocked --owner engineer", "list the tasks of engineer that wait, and why"),
    ),
)
