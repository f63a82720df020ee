"""The files that a contributor writes for a new tool, a new lifecycle event and a new doctor check."""

from __future__ import annotations

import json
from typing import Any

from tests.adding.tree import Tree

TOOL = '''\
"""task_rename: give a task another title."""

from __future__ import annotations

from nexus_mcp.errors import ToolError
from nexus_mcp.state import shapes
from nexus_mcp.store.paths import TASKS
from nexus_mcp.store.transaction import Transaction
from nexus_mcp.tools.definition import ID, TASK, TASK_METADATA, Tool, ToolContext, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(ctx: ToolContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """Set the title of a task."""

    def change(now: Transaction) -> dict[str, Any]:
        if now.tasks is None:
            raise ToolError("tasks.json not found")
        rows = now.tasks["tasks"]
        found = next((row for row in rows if row["id"] == arguments["id"]), None)
        if found is None:
            raise ToolError(f"Task id {arguments['id']} not found")
        task = {**found, "title": arguments["title"]}
        changed = {**now.tasks, "tasks": [task if row is found else row for row in rows]}
        now.put(TASKS, changed, shapes.TASK, {"title": task["title"]})
        now.what = f"renames task {task['id']}"
        return {"task": shapes.order(task, shapes.part(shapes.TASK))}

    return ctx.store.change(change, ctx.by)


TOOL = Tool(
    name="task_rename",
    title="Rename a task",
    summary="Gives a task another title.",
    description="Give a task another title. On an error nothing was changed.",
    parameters={
        "id": {**ID, "description": "Id of the task."},
        "title": {"type": "string", "minLength": 1, "description": "The new title."},
    },
    required=("id", "title"),
    output=answer({"task": {**TASK, "description": "The whole task, as tasks.json has it."}}),
    run=run,
    classes=(TASK_METADATA,),
    idempotent=True,
)
'''
MODEL = """\
    def task_rename(self, id: int, title: str) -> Any:
        if self.tasks is None:
            raise Refused("tasks.json not found")
        for row in self.tasks["tasks"]:
            if row["id"] == id:
                row["title"] = title
                self._wrote("state/tasks.json")
                return {"task": row}
        raise Refused(f"Task id {id} not found")

"""
EVENT = '''\
"""session_idle: say what an idle session may do."""

from __future__ import annotations

from nexus_mcp.lifecycle.definition import Event, EventContext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Say that the session is idle."""
    ctx.give("The session is idle.")
    return {}


EVENT = Event(optional=("session_id",), run=run)
'''
CHECK = '''\
"""Check that notes hold text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.doctor import places
from nexus_mcp.doctor.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.site import Site


def check(site: Site) -> Iterator[Finding]:
    """Yield each empty note of the folder rules/."""
    for entry in site.files(places.KNOWLEDGE_NOTE):
        if entry.path.startswith(".nexus/rules/") and entry.size == 0:
            yield Finding("made-up-code", entry.path, "is empty")
'''
_TASK = {
    "id": 1,
    "title": "Old",
    "context": "Reason",
    "status": "pending",
    "deps": [],
    "created_at": "2026-01-02T03:04:05.678Z",
}
TOOL_FIXTURE: dict[str, Any] = {
    "test_id": "task_rename_sets_the_title",
    "description": "The title changes and nothing else.",
    "covers": {
        "return_value": {"task_rename": ["task", "task.id", "task.title"]},
        "state_schemas": {"tasks.schema.json": ["tasks", "tasks[].title"]},
    },
    "precondition": {"state_files": {".nexus/state/tasks.json": {"goal": "", "decisions": [], "tasks": [_TASK]}}},
    "action": {"tool": "task_rename", "params": {"id": 1, "title": "New"}},
    "postcondition": {
        "return_value": {"$.task.id": 1, "$.task.title": "New"},
        "state_files": {".nexus/state/tasks.json": {"$.tasks[0].title": "New"}},
    },
}
EVENT_FIXTURE: dict[str, Any] = {
    "test_id": "session_idle_says_so",
    "description": "The context says that the session is idle.",
    "covers": {},
    "event": {"type": "session_idle", "params": {"session_id": "s-1"}},
    "postcondition": {"return_value": {"$.context": "The session is idle."}},
}
TOOL_FILE, TOOLS = "nexus_mcp/tools/task_rename.py", "nexus_mcp/tools/__init__.py"
TOOL_FIXTURES, TASKS_MODEL = "conformance/tools/task_rename.json", "tests/model/tasks.py"
EVENT_FILE, EVENTS = "nexus_mcp/lifecycle/session_idle.py", "nexus_mcp/lifecycle/__init__.py"
EVENT_FIXTURES, EVENT_PAGE = "conformance/lifecycle/session_idle.json", "docs/lifecycle.md"
COMMANDS_PAGE = "docs/commands.md"
CONTRACT_PAGE, RULES = "docs/contract.md", "conformance/rules.yml"
CHECK_FILE, CHECKS = "nexus_mcp/doctor/checks/made_up.py", "nexus_mcp/doctor/checks/__init__.py"
CODES, CHECK_PAGE, CASES = "nexus_mcp/doctor/codes.py", "docs/doctor.md", "tests/doctor/cases.py"


BEFORE_MODEL = "    def task_update("
TOOL_CLASS = "    classes=(TASK_METADATA,),\n"
EVENT_LOAD = """\
def _session_idle() -> Event:
    from nexus_mcp.lifecycle.session_idle import EVENT

    return EVENT


"""
EVENT_ROW = '    "session_idle": Row("the session waits", _session_idle),\n'
TOOL_RULES = """
## task_rename

`task_rename(id, title)` changes the title of a task.

Answer: `task`, the whole task. Files: writes `tasks.json`.

- **task_rename.1** The title changes, and nothing else.
"""
EVENT_RULES = """
### session_idle

- **session_idle.1** The context says that the session is idle.
"""
CHECK_ROW = "    made_up.check,\n"
CHECK_PAGE_ROW = "| `made-up-code` | note | A rule without text. |\n"
CASE = '    Case("made-up-code", "rules/a.md", puts("rules/a.md", "")),\n'
_TABLE, _NEXT_EVENT = "# Loaded on demand", '    "agent_complete": '
_AFTER_EVENTS = "\n- `agent_spawn` and `agent_complete` are"


def as_text(fixture: dict[str, Any]) -> str:
    """Return the text of a file with one fixture."""
    return f"{json.dumps([fixture], indent=2)}\n"


def add_tool(tree: Tree) -> None:
    """Add the tool task_rename: its file, its row, its fixture, its method in the model, its rule."""
    tree.write(TOOL_FILE, TOOL)
    row = "    task_close.TOOL,\n"
    tree.edit(TOOLS, {"    task_list,\n": "    task_list,\n    task_rename,\n", row: f"{row}    task_rename.TOOL,\n"})
    tree.write(TOOL_FIXTURES, as_text(TOOL_FIXTURE))
    tree.edit(TASKS_MODEL, {BEFORE_MODEL: MODEL + BEFORE_MODEL})
    _add_rule(tree, TOOL_RULES, "task_rename.1", TOOL_FIXTURE["test_id"], "\n## task_close\n")


def add_event(tree: Tree) -> None:
    """Add the event session_idle: its file, its row, its fixture, its rows in two pages, its rule."""
    tree.write(EVENT_FILE, EVENT)
    tree.edit(EVENTS, {_TABLE: EVENT_LOAD + _TABLE, _NEXT_EVENT: EVENT_ROW + _NEXT_EVENT})
    tree.write(EVENT_FIXTURES, as_text(EVENT_FIXTURE))
    row = "| `session_idle` | `session_id?` | Says that the session is idle. |\n"
    tree.edit(EVENT_PAGE, {_AFTER_EVENTS: row + _AFTER_EVENTS})
    row = "| `session_idle` | Says that the session is idle. |\n"
    tree.edit(COMMANDS_PAGE, {"| `agent_complete` |": f"{row}| `agent_complete` |"})
    _add_rule(tree, EVENT_RULES, "session_idle.1", EVENT_FIXTURE["test_id"], "\n### context_compact\n")


def _add_rule(tree: Tree, section: str, rule: str, test_id: str, before: str) -> None:
    """Add a section with one rule to the contract before another section, and the fixture of the rule."""
    tree.edit(CONTRACT_PAGE, {before: section + before})
    first = f"{before.split()[1]}.1:\n"
    tree.edit(RULES, {f"\n{first}": f"\n{rule}:\n  - {test_id}\n{first}"})


def add_check(tree: Tree) -> None:
    """Add a check with one code: its file, its row, the row of its code here and in the page, its case."""
    tree.write(CHECK_FILE, CHECK)
    first = "from nexus_mcp.doctor.checks import"
    imports = f"from nexus_mcp.doctor.checks import made_up\n{first}"
    tree.edit(CHECKS, {first: imports, "    lock.check,\n": f"    lock.check,\n{CHECK_ROW}"})
    code = '    "made-up-code": Code(NOTE, "A rule without text.", "Write it, or move the file away."),\n'
    tree.edit(CODES, {'    "old-cycle": Code(': f'{code}    "old-cycle": Code('})
    tree.edit(CHECK_PAGE, {"| `old-cycle` |": f"{CHECK_PAGE_ROW}| `old-cycle` |"})
    tree.edit(CASES, {'    Case("not-utf8", ': f'{CASE}    Case("not-utf8", '})
