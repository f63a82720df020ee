"""Play one session of a harness with the hooks and the tools, and note each event with its answer."""

from __future__ import annotations

from typing import Any, NamedTuple

from docs.drawings import runs
from nexus_mcp.lifecycle.guard import answer_event
from nexus_mcp.workspace import Workspace

HARNESS = "claude-code"
MAIN = {"session_id": "s1"}
AGENT = {**MAIN, "agent_id": "a1"}
WRITE = {"tool": "Write", "tool_input": {"file_path": "store.py"}}
PLAN = {"topic": "Keep links", "issues": ["Where are links stored?"], "research_summary": "They are in a dict."}
TASK = {"title": "Write the store", "context": "store.py", "owner": "engineer"}


class Step(NamedTuple):
    """What happens in the session; `event` is the hook that the harness calls, or the tool that the model calls."""

    what: str
    event: str
    payload: dict[str, Any]
    show: str = ""
    """The beginning of the line of the answer that the picture shows."""
    is_tool: bool = False


class Seen(NamedTuple):
    """A step and what nexus-mcp answered."""

    step: Step
    answer: dict[str, Any]


STEPS = (
    Step("You start the client", "session_start", {**MAIN, "source": "startup"}),
    Step("The model edits a file", "pre_tool_use", {**MAIN, **WRITE}, "There is no task list"),
    Step("You: [plan] Keep links", "user_message", {**MAIN, "prompt": "[plan] Keep links"}, "The user's tag [plan]"),
    Step("The model starts a plan", "plan_start", PLAN, is_tool=True),
    Step("You: [d] In SQLite.", "user_message", {**MAIN, "prompt": "[d] In SQLite."}, "The user's tag [d]"),
    Step("The model adds a task", "task_add", TASK, is_tool=True),
    Step("The model edits a file", "pre_tool_use", {**MAIN, **WRITE}),
    Step("A tester starts", "subagent_spawn", {**AGENT, "agent_name": "tester"}, "- no_file_edit"),
    Step("The tester edits a file", "pre_tool_use", {**AGENT, **WRITE}, "tester may not use Write"),
    Step("The tester ends", "subagent_complete", {**AGENT, "last_message": "VERDICT: fail\nTwo tests fail."}),
    Step("The client compacts", "context_compact", {**MAIN}, "Tasks: 1 in all"),
    Step("The task is done", "task_update", {"id": 1, "status": "completed"}, is_tool=True),
    Step("The model stops", "turn_end", {**MAIN}, "The only task is completed"),
    Step("The model closes", "task_close", {}, is_tool=True),
    Step("You leave", "session_end", {**MAIN}),
)


def session() -> list[Seen]:
    """Play the steps in a temporary project, and return each with its answer."""
    with runs.project() as root:
        app = runs.server(root, HARNESS)
        workspace = Workspace(str(root), HARNESS)
        return [
            Seen(step, runs.call(app, step.event, step.payload))
            if step.is_tool
            else Seen(step, answer_event(step.event, step.payload, workspace))
            for step in STEPS
        ]
