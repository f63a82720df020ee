"""Codex with nexus-mcp installed by `nexus-mcp install`, and with a scripted model.

The client starts once for each fixture of the module, and each test reads facts from that session.
"""

from __future__ import annotations

import json
import os
import re
import signal
from typing import Any

import pytest

from nexus_mcp.harness.dialect import LIMIT
from nexus_mcp.tools import TOOLS
from tests.e2e.codex import DIRECT, ID
from tests.e2e.codex_run import Make, Run
from tests.e2e.cycle import WORK, tool
from tests.e2e.scratch import wait_until

SESSIONS = f"state/{ID}/remembered.extension.json"
CALLS = 30
FULL = 50_000


# One session: a whole cycle, the end of turns and of the session, and uninstall. Before it a session without trust.


@pytest.fixture(scope="module")
def cycle(make_codex: Make) -> Run:
    codex = make_codex(DIRECT)
    run = Run(codex)
    scratch, script = codex.scratch, codex.model.script
    other = '# Mine.\n[mcp_servers.other]   # off\ncommand = "/bin/false"\nenabled = false\n'
    scratch.write(".codex/config.toml", other)
    scratch.write(".codex/hooks.json", '{"hooks": {\n\t"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}')
    scratch.write(".codex/agents/mine.toml", 'name = "mine"\ndescription = "M"\ndeveloper_instructions = "M"\n')
    scratch.write(".gitignore", "*.log\n")
    run.kept["before"] = scratch.project_bytes()
    codex.install_watched()
    script.on("NOT-YET-TRUSTED", tool("task_list"), {"text": "WITHOUT-HOOKS"})
    codex.run("NOT-YET-TRUSTED")
    run.kept["without trust"] = (codex.answers(), codex.listed())
    run.kept["hooks"] = codex.trust()
    run.kept["with trust"] = codex.listed()
    codex.install("--gate", "warn")
    run.kept["after a change"] = codex.listed()
    codex.install("--gate", "auto")
    script.on("DO-THE-WORK", *WORK, {"text": "WORK-DONE"})
    script.on("the cycle is not closed", {"text": "NOT-YET"})
    script.on("ANYTHING-ELSE", {"text": "NOTHING"})
    script.on("CLOSE-IT", tool("task_close"), tool("history_search", query="SQLite"), {"text": "CLOSED"})
    with codex.session() as run.session:
        run.kept["work"] = run.session.ask("DO-THE-WORK")
        run.kept["else"] = run.session.ask("ANYTHING-ELSE")
        run.session.ask("CLOSE-IT")
        run.kept["sessions"] = scratch.state(SESSIONS)
    run.kept["ended"] = scratch.state(SESSIONS)
    run.kept["history"] = scratch.state("history.json")
    codex.uninstall()
    run.kept["uninstalled"] = scratch.project_bytes()
    return run


@pytest.mark.shows("install", "tools")
def test_model_gets_the_tools(cycle: Run) -> None:
    """The server of .codex/config.toml starts; the first request has its tools and its instructions."""
    first = cycle.requests[0]
    assert len([one for one in first.conversation.tools if one.namespace == "mcp__nexus"]) == len(TOOLS)
    assert "Call context first" in json.dumps(first.body["tools"])


@pytest.mark.shows("install")
def test_hooks_without_trust_are_skipped_and_listed(cycle: Run) -> None:
    """`codex exec` runs no untrusted hook; `install --list` says so until the hooks are trusted, and after a change."""
    answers, listed = cycle.kept["without trust"]
    assert answers == []
    assert "Codex trusts 0 of 9 hooks and skips the others: type /hooks in codex" in listed
    ours = [hook for hook in cycle.kept["hooks"] if "--native codex" in hook["command"]]
    assert {(hook["trustStatus"], hook["source"]) for hook in ours} == {("untrusted", "project")}
    assert len(ours) == 9
    assert "trusts" not in cycle.kept["with trust"]
    assert "The server was not started" in cycle.kept["with trust"]  # the watching script is no nexus-mcp
    assert "9 of 9 hooks changed after you trusted them, and Codex skips these" in cycle.kept["after a change"]


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
    assert [result.value for result in cycle.last("CLOSE-IT").results("task_update")][:2] == [
        {"error": "Task id 99 not found"},
        {"error": "id must be an integer of at least 1; status must be one of pending, in_progress, completed"},
    ]


@pytest.mark.shows("turn-end")
def test_end_of_a_turn_requests_task_close_once(cycle: Run) -> None:
    """All tasks are completed: the first end of a turn is refused with the reason, all later ones are not."""
    assert (cycle.kept["work"], cycle.kept["else"]) == ("NOT-YET", "NOTHING")
    blocked = [run["entries"] for run in cycle.hook_runs("stop") if run["status"] == "blocked"]
    assert [[entry["kind"] for entry in entries] for entries in blocked] == [["feedback"]]
    asked = [text for text in cycle.last("CLOSE-IT").users() if "the cycle is not closed" in text]
    assert len(asked) == 1
    assert "All 2 tasks are completed, but the cycle is not closed. Call task_close" in asked[0]


@pytest.mark.shows("session-end")
def test_end_of_the_session_is_noticed(cycle: Run) -> None:
    """The session memory has an entry for the session while it runs, and none after its end."""
    assert len(cycle.kept["sessions"]["sessions"]) == 1
    assert cycle.kept["ended"]["sessions"] == []


@pytest.mark.shows("uninstall")
def test_uninstall_restores_each_byte(cycle: Run) -> None:
    """Outside .nexus/ the project has the bytes from before install; plans and history stay."""
    kept = {name: data for name, data in cycle.kept["uninstalled"].items() if not name.startswith(".nexus/")}
    assert kept == cycle.kept["before"]
    assert ".nexus/history.json" in cycle.kept["uninstalled"]


# One session with 500 notes: a skill by its tag, and a compaction.


@pytest.fixture(scope="module")
def compacted(make_codex: Make) -> Run:
    codex = make_codex(DIRECT)
    run = Run(codex)
    codex.install_watched()
    for number in range(500):
        name = f"pattern-{number:03}-{'how-a-part-keeps-its-things-in-order-' * 4}"
        codex.scratch.write(f".nexus/memory/{name}.md", f"# Note {number}\n\nText.\n")
    script = codex.model.script
    script.on("CONTEXT CHECKPOINT", {"text": "The user works on links."})
    issues = [f"Where is part {number} of the links, {'and why, ' * 6}is it there?" for number in range(1, 21)]
    script.on(
        r"^\[plan\]",
        tool("exec_command", cmd="cat .agents/skills/nx-plan/SKILL.md"),
        tool("plan_start", topic="Links", issues=issues, research_summary="None."),
        tool("plan_decide", issue_id=1, decision="SQLite"),
        tool("task_add", title="Write the store", context="c"),
        {"text": "PLANNED"},
    )
    script.on("GO-ON", {"text": "WENT-ON"})
    script.on("ONCE-MORE", {"text": "DONE"})
    script.on("FILL-UP", {**tool("task_list"), "input_tokens": FULL + 1}, {"text": "FILLED"})
    script.on("Another language model started", {"text": "AFTER-ALL"})
    codex.config.write_text(f"model_auto_compact_token_limit = {FULL}\n{codex.config.read_text()}")
    codex.trust()
    with codex.session() as run.session:
        run.session.ask("[plan] links")
        run.session.compact()
        run.session.ask("GO-ON")
        run.session.ask("ONCE-MORE")
        run.kept["filled"] = run.session.ask("FILL-UP")
    return run


@pytest.mark.shows("skill")
def test_plan_tag_starts_the_skill_whole(compacted: Run) -> None:
    """`[plan]` names a skill that Codex lists; the model reads its file, and the last heading reaches the model."""
    text = (compacted.codex.scratch.root / ".agents/skills/nx-plan/SKILL.md").read_text(encoding="utf-8")
    first, second = (request.text for request in compacted.requests[:2])
    assert 'Start the skill nx-plan now, with: "links".' in first
    assert "\n- nx-plan: " in first
    heading = [line for line in text.splitlines() if line.startswith("#")][-1]
    assert heading not in first
    assert heading in second


@pytest.mark.shows("compaction")
def test_compaction_gives_the_state_back_once(compacted: Run) -> None:
    """After /compact, and after one in the middle of a turn, the model has plan, tasks, skill and notes, each once."""
    by_hand = next(r for r in reversed(compacted.requests) if r.conversation.users()[-1] == "ONCE-MORE")
    assert compacted.kept["filled"] == "AFTER-ALL"
    for seen in (by_hand.conversation, compacted.requests[-1].conversation):
        assert "The user works on links." in seen.text
        assert "PLANNED" not in [text for message in seen.messages for text in message.texts]
        for text in (
            'Plan 1, topic "Links": 19 pending, 1 decided.',
            '- task 1, ready: "Write the store"',
            "The skill nx-plan is active.",
            "Notes of this project, below .nexus/",
        ):
            assert seen.text.count(text) == 1, text


@pytest.mark.shows("limit")
def test_contexts_stay_below_the_limit(compacted: Run) -> None:
    """With 500 notes and a long plan each context of a hook fits the limit, and reaches the model completely."""
    contexts = compacted.contexts()
    assert LIMIT * 0.9 < max(map(len, contexts)) <= LIMIT
    listed = [text for text in contexts if '"memory/pattern-000-' in text]
    left_out = r"more characters are left out here; the folders memory, context and rules below \.nexus/ have the notes"
    assert [bool(re.search(rf"\(\d+ {left_out}\.\)$", text)) for text in listed] == [True, True]
    seen = "\n".join(request.text for request in compacted.requests)
    assert [text for text in contexts if text not in seen] == []


@pytest.mark.shows("turn-end", "compaction")
def test_codex_accepts_each_answer_of_a_hook(cycle: Run, compacted: Run) -> None:
    """Codex parses answers strictly: it accepted each of ours, and each is valid by Codex's own schemas."""
    seen = cycle.check_answers() | compacted.check_answers()
    assert {"SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact", "SessionEnd"} <= seen


# In user scope, with `codex exec`: one session that is killed in the middle of a call, one after it, and uninstall.


@pytest.fixture(scope="module")
def killed(make_codex: Make) -> Run:
    codex = make_codex(DIRECT)
    run = Run(codex)
    before = codex.scratch.home_bytes()
    codex.install("--scope", "user")
    script = codex.model.script
    calls = [tool("task_add", title=f"Task {number}", context="c") for number in range(1, CALLS + 1)]
    script.on("ADD-ALL", *calls[:2], {"calls": calls[2:]}, {"text": "ADDED"})
    script.on("LOOK", tool("task_list"), tool("task_add", title="Next", context="c"), {"text": "LOOKED"})

    def stored() -> list[Any]:
        return list((codex.scratch.state("state/tasks.json") or {"tasks": []})["tasks"])

    running = codex.exec("ADD-ALL", "--dangerously-bypass-hook-trust")
    try:
        wait_until(lambda: len(stored()) >= 4)
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait()
        wait_until(lambda: running.left() == [])
    finally:
        running.wait(60)
    run.kept["stored"] = stored()
    run.kept["seen"] = codex.model.last().conversation
    codex.scratch.nexus("doctor")
    codex.run("LOOK", "--dangerously-bypass-hook-trust")
    codex.uninstall("--scope", "user")
    run.kept["home"] = before, codex.scratch.home_bytes()
    return run


@pytest.mark.shows("kill")
def test_kill_in_the_middle_of_calls_loses_nothing(killed: Run) -> None:
    """After kill -9 each acknowledged task is stored, the server ends by itself, and the next session continues."""
    kept = killed.kept["stored"]
    acknowledged = [result.value["task"] for result in killed.kept["seen"].results("task_add")]
    assert acknowledged == kept[: len(acknowledged)] != []
    assert 4 <= len(kept) < CALLS
    seen = killed.last("LOOK")
    assert [task["title"] for task in seen.results("task_list")[0].value["tasks"]] == [task["title"] for task in kept]
    assert seen.results("task_add")[0].value["task"]["id"] == len(kept) + 1


@pytest.mark.shows("uninstall")
def test_uninstall_in_user_scope_leaves_nothing(killed: Run) -> None:
    """The user's configuration has its old bytes again; only Codex's own files are left in the home folder."""
    before, after = killed.kept["home"]
    assert {name: after.get(name) for name in before} == before
    ours = (".codex/hooks.json", ".codex/agents", ".agents", ".local/state/nexus-mcp")
    assert [name for name in after if name.startswith(ours)] == []
