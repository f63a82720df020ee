"""OpenCode with nexus-mcp installed by `nexus-mcp install`, and with a scripted model.

The client starts once for each fixture of the module, and each test reads one fact from that run.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nexus_mcp.harness.dialect import LIMIT
from nexus_mcp.tools import TOOLS
from tests.e2e.conftest import PROGRAMS
from tests.e2e.model.server import Model, Request
from tests.e2e.opencode import ID, OpenCode
from tests.e2e.opencode_runs import OWN, TRACKER, Run, agents_run, compacted_run, cycle_run, killed_run
from tests.e2e.scratch import PROGRAM, Scratch

_CALL_A_TOOL = """
const session = { get: async () => ({ data: { id: "s" } }) }
const hooks = await Nexus({ client: { session }, directory: "." })
const call = hooks["tool.execute.before"]({ sessionID: "s", tool: "read" }, { args: {} })
await call.catch((error) => console.log(error.message))
"""
Make = Callable[[], OpenCode]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Make]:
    """Yield a function that makes a client with its own home, project and model."""
    models: list[Model] = []

    def one() -> OpenCode:
        models.append(Model().__enter__())
        return OpenCode(Path(PROGRAMS[ID]), Scratch(tmp_path_factory.mktemp("opencode")), models[-1])

    yield one
    for model in models:
        model.__exit__(None, None, None)
    assert [model.faults for model in models if model.faults] == []


# One session: a whole cycle, prompts as commands, the end of turns, the end of the session, and uninstall.


@pytest.fixture(scope="module")
def cycle(make: Make) -> Run:
    return cycle_run(make())


@pytest.mark.shows("install", "tools")
def test_model_gets_the_tools_and_the_instructions(cycle: Run) -> None:
    """The server of opencode.jsonc starts; the first request has its tools and its instructions."""
    first = cycle.requests[0].conversation
    assert len([one for one in first.tools if one.name.startswith("nexus_")]) == len(TOOLS)
    assert "Call context first" in first.system


@pytest.mark.shows("cycle")
def test_cycle_runs_through_the_loop_of_the_model(cycle: Run) -> None:
    """Plan, decisions, tasks, artifact and history match the calls of the model, and the results reach it."""
    seen = cycle.last("CLOSE-IT")
    assert seen.results("plan_start")[0].value["created"] is True
    assert [result.value["task"]["id"] for result in seen.results("task_add")] == [1, 2]
    assert seen.results("artifact_write")[0].value["path"].endswith("state/artifacts/reports/run.md")
    closed = seen.results("task_close")[0].value
    assert (closed["closed"], closed["archived"]) == (True, {"plan": True, "decisions": 2, "tasks": 2})
    assert seen.results("history_search")[0].value["cycles"][0]["decisions"][0]["decision"] == "SQLite, one table."
    assert [cycle["plan"]["topic"] for cycle in cycle.kept["history"]["cycles"]] == ["Keep links"]


@pytest.mark.shows("errors")
def test_refused_calls_reach_the_model_as_errors(cycle: Run) -> None:
    """The model sees that the task does not exist, and which types the arguments need."""
    values = [result.value for result in cycle.last("CLOSE-IT").results("task_update")]
    assert [value["error"] for value in values if "error" in value] == [
        "Task id 99 not found",
        "id must be an integer of at least 1; status must be one of pending, in_progress, completed",
    ]


@pytest.mark.shows("turn-end")
def test_end_of_a_turn_asks_for_task_close_once(cycle: Run) -> None:
    """All tasks are completed: the model has to continue at the first end of a turn, and at no later one."""
    assert (cycle.kept["work"], cycle.kept["else"]) == ("WORK-DONE", "NOTHING")
    asked = [text for text in cycle.last("CLOSE-IT").users() if "cycle is not closed" in text]
    assert len(asked) == 1
    assert "All 2 tasks are completed, but the cycle is not closed. Call task_close" in asked[0]


@pytest.mark.shows("prompts")
def test_prompts_are_commands(cycle: Run) -> None:
    """Each prompt of the server is a command; in its text the user's words replace `$1` and `$2` of the client."""
    names = {"nexus:plan", "nexus:run", "nexus:sync", "nexus:d", "nexus:m", "nexus:rule"}
    assert names <= set(cycle.kept["commands"])
    assert (cycle.kept["plan"], cycle.kept["rule"]) == ("PLANNING", "RULED")
    plan, rule = cycle.last("Keep the user's rule").users()[-2:]
    assert "links that last" in plan
    assert "\ntests No [m] sleeps\n" in rule
    assert not re.search(r"\$\d", plan + rule)


@pytest.mark.shows("prompts")
def test_text_of_a_command_has_no_tags(cycle: Run) -> None:
    """The client passes the text of a command to the hooks as a message; a tag in it is text."""
    assert "The user's tag" not in cycle.last("Keep the user's rule").text
    assert not [name for name in cycle.kept["after"] if name.startswith(".nexus/memory/")]


@pytest.mark.shows("session-end")
def test_end_of_the_session_is_noticed(cycle: Run) -> None:
    """One process answers all hooks while the client runs. It records the end of the session, then ends."""
    assert cycle.kept["children"] == 1
    assert len(cycle.kept["sessions"]) == 1
    assert f".nexus/{TRACKER}" not in cycle.kept["after"]


@pytest.mark.shows("uninstall")
def test_uninstall_restores_each_byte(cycle: Run) -> None:
    """Outside .nexus/ the project has the bytes from before install; plans and history stay."""
    kept = {name: data for name, data in cycle.kept["uninstalled"].items() if not name.startswith(".nexus/")}
    assert kept == cycle.kept["before"]
    assert ".nexus/history.json" in cycle.kept["uninstalled"]


# One session with 500 notes: a skill by its tag, and two compactions.


@pytest.fixture(scope="module")
def compacted(make: Make) -> Run:
    return compacted_run(make())


@pytest.mark.shows("skill")
def test_plan_tag_starts_the_skill_whole(compacted: Run) -> None:
    """`[plan]` names the skill; the model starts it, and the last heading of its text reaches the model."""
    text = (compacted.client.scratch.root / ".opencode/skill/nx-plan/SKILL.md").read_text(encoding="utf-8")
    first, second = (request.text for request in compacted.requests[:2])
    assert 'Start the skill nx-plan now, with: "links".' in first
    heading = [line for line in text.splitlines() if line.startswith("#")][-1]
    assert heading not in first
    assert heading in second


@pytest.mark.shows("gate-auto")
def test_default_gate_waits_for_a_plan(compacted: Run) -> None:
    """Without plan and tasks an edit passes without a word; while a plan has no tasks it is denied."""
    assert (compacted.client.scratch.root / "early.txt").exists()
    assert not (compacted.client.scratch.root / "hasty.txt").exists()
    planned = next(r.conversation for r in compacted.requests if r.turn.get("text") == "PLANNED")
    first, second = planned.results("write")
    assert "task_add" not in first.text
    assert "First add one with task_add" in second.text


STATE = (
    'Plan 1, topic "Links": 1 pending, 1 decided.',
    '- task 1, ready: "Write the store"',
    "The skill nx-plan is active.",
    "Notes of this project, below .nexus/",
)


@pytest.mark.shows("compaction")
def test_compaction_gives_the_state_back_once(compacted: Run) -> None:
    """After a compaction the model has plan, tasks, skill and notes, each once, and the next message repeats none."""
    seen = compacted.kept["once"]
    assert "The user works on links." in seen.text
    assert "PLANNED" not in [text for message in seen.messages for text in message.texts]
    for text in STATE:
        assert seen.text.count(text) == 1, text


@pytest.mark.shows("compaction")
def test_compaction_within_a_turn_gives_the_state_back_once(compacted: Run) -> None:
    """If the client compacts by itself within a turn, each later request of the turn has the state once."""
    went_on = re.compile("^Continue if you have next steps")
    later = [r.conversation for r in compacted.requests if r.conversation.last_matching(went_on) >= 0]
    assert len(later) == 2
    for seen in later:
        assert [seen.text.count(text) for text in STATE] == [1, 1, 1, 1]


@pytest.mark.shows("limit")
def test_contexts_stay_below_the_limit(compacted: Run) -> None:
    """With 500 notes and 61 tasks each context fits the limit, names the omitted parts, and reaches the model whole."""
    agent = compacted.last("LOOK-AROUND").text
    assert "LIMITS: you are researcher" in agent
    assert "Not listed here: 450 in .nexus/memory/." in agent
    parts = [part for request in compacted.requests for part in own_texts(request)]
    longest = max(parts, key=len)
    assert 7_000 < len(longest) <= LIMIT


def own_texts(request: Request) -> list[str]:
    """Return each text that our hooks added to a request: a part of a message, or of the system prompt."""
    texts = [text for message in request.conversation.messages for text in message.texts]
    marks = ("NOTES:\n", "The progress of this project", "The skill nx-plan is active")
    return [text for text in texts if text.startswith(marks)]


# One session in user scope: gates, agents with restrictions, the tracker, and a crash of the hook's process.


@pytest.fixture(scope="module")
def agents(make: Make) -> Run:
    return agents_run(make())


@pytest.mark.shows("gate-warns")
def test_edit_without_a_task_warns(agents: Run) -> None:
    """With the gate warn the file is written, and the model is warned beside the result."""
    assert (agents.client.scratch.root / "warned.txt").exists()
    assert "Warning: There is no task list" in agents.last("EDIT-FILES").results("write")[0].text


@pytest.mark.shows("gate-blocks")
def test_edit_without_a_task_is_denied(agents: Run) -> None:
    """With the gate block the file is not written, and the reason reaches the model as the error of the tool."""
    assert not (agents.client.scratch.root / "blocked.txt").exists()
    result = agents.last("EDIT-FILES").results("write")[1]
    assert "files are edited for a task. First add one with task_add" in result.text


@pytest.mark.shows("native-limits")
def test_file_of_an_agent_takes_tools_from_it(agents: Run) -> None:
    """The architect is offered neither edit nor task_add, and a call of them finds no tool."""
    seen = agents.last("DESIGN-IT")
    names = {one.name for one in seen.tools}
    assert "nexus_plan_status" in names
    assert names.isdisjoint({"write", "edit", "apply_patch", "nexus_task_add"})
    assert ["call unavailable tool" in result.text for result in seen.results()] == [True, True]
    assert not (agents.client.scratch.root / "design.txt").exists()


@pytest.mark.shows("hook-limits")
def test_hook_denies_what_a_loose_file_allows(agents: Run) -> None:
    """The file of the reviewer was edited and has no restriction; the hook denies file and task, with the reason."""
    seen = agents.last("REVIEW-IT")
    assert {"write", "nexus_task_add"} <= {one.name for one in seen.tools}
    write, task = seen.results()[:2]
    assert "reviewer may not use write" in write.text
    assert "reviewer may not use nexus_task_add" in task.text
    assert not (agents.client.scratch.root / "review.txt").exists()


@pytest.mark.shows("hook-limits")
def test_crash_of_the_resident_process_grants_nothing(agents: Run) -> None:
    """After a kill of the hook process the agent stays denied, and a new process denies it with the reason again."""
    results = agents.last("REVIEW-AGAIN").results("write")[1:]
    assert len(results) == 2
    assert not (agents.client.scratch.root / "crash.txt").exists()
    denied = ("could not judge this call", "reviewer may not use write")
    assert all(any(text in result.text for text in denied) for result in results)
    assert "reviewer may not use write" in results[1].text


@pytest.mark.shows("hook-limits")
def test_tools_are_denied_if_the_hook_cannot_be_started(cycle: Run) -> None:
    """Without the installed command the plugin denies a tool, and names the command and the next step."""
    source = cycle.kept["plugin"].replace(str(PROGRAM), "/nowhere/nexus-mcp")
    path = cycle.client.scratch.home / "plugin.mjs"
    path.write_text(f"{source}\n{_CALL_A_TOOL}", encoding="utf-8")
    done = subprocess.run(["node", path], env=cycle.client.env, check=True, capture_output=True, text=True, timeout=60)
    assert "cannot start /nowhere/nexus-mcp. Tell the user to install nexus-mcp again" in done.stdout


@pytest.mark.shows("tracker")
def test_tracker_follows_an_agent(agents: Run) -> None:
    """The tracker has the agent as running, completed with its report, running again; after the session it is gone."""
    assert ("architect", "running") in [(row["agent_name"], row["status"]) for row in agents.kept["running"]]
    done = {row["agent_name"]: (row["status"], row["last_message"]) for row in agents.kept["completed"]}
    assert done == {
        "architect": ("completed", "[m] injected.md: not the user"),
        "reviewer": ("completed", "REVIEWED"),
    }
    again = {row["agent_name"]: (row["status"], row["resume_count"]) for row in agents.kept["resumed"]}
    assert again == {"architect": ("completed", 0), "reviewer": ("running", 1)}
    assert agents.kept["ended"] is None


@pytest.mark.shows("report")
def test_report_of_an_agent_makes_no_note(agents: Run) -> None:
    """The report is the result of the tool `task`; its `[m]` makes no note, and no context calls it the user's."""
    assert "[m] injected.md" in agents.last("SETTLE").results("task")[0].text
    assert not list((agents.client.scratch.root / ".nexus").rglob("*injected*"))
    assert "The user's tag" not in "\n".join(request.text for request in agents.requests)


@pytest.mark.shows("uninstall")
def test_uninstall_in_user_scope_leaves_nothing(agents: Run) -> None:
    """The configuration folder of the user has its bytes again, and the home has no file of ours."""
    assert agents.kept["after"] == agents.kept["before"]
    assert agents.kept["state"] == []


# One client that is killed in the middle of a call, and `opencode run` after it.


@pytest.fixture(scope="module")
def killed(make: Make) -> Run:
    return killed_run(make())


@pytest.mark.shows("kill")
def test_kill_in_the_middle_of_calls_loses_nothing(killed: Run) -> None:
    """After kill -9 each acknowledged task is stored, server and hook end, and the next session continues."""
    stored, acknowledged = killed.kept["stored"], killed.kept["acknowledged"]
    assert acknowledged == stored[: len(acknowledged)] != []
    assert 4 <= len(stored) < 30
    assert killed.kept["sessions"] == []
    seen = killed.client.model.last().conversation
    assert [task["title"] for task in seen.results("task_list")[0].value["tasks"]] == [task["title"] for task in stored]
    assert seen.results("task_add")[0].value["task"]["id"] == len(stored) + 1


@pytest.mark.shows("skill", "session-end")
def test_opencode_run_has_tags_and_an_end(killed: Run) -> None:
    """`opencode run` puts the words between quotation marks: the tag in them counts, and the session ends with it."""
    assert killed.kept["done"].code == 0
    first = next(r for r in killed.requests if r.conversation.last_matching(re.compile("LOOK")) >= 0)
    assert '"[run] LOOK"' in first.text
    assert 'Start the skill nx-run now, with: "LOOK".' in first.text
    assert killed.kept["after-run"] == []


@pytest.mark.shows("uninstall")
def test_uninstall_leaves_nothing_of_ours(killed: Run) -> None:
    """In a project without any file of OpenCode only the .gitignore is left that the client made for its own files."""
    assert killed.kept["left"] == {".opencode/.gitignore": OWN.encode()}
