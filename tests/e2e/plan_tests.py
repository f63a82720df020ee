"""The tests of `nexus-mcp run` that are the same in each client; test_CLIENT_run.py gives them the client."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest

from tests.e2e.plan_run import FORBIDDEN, GREET, LEAVE, NEVER_READ, PART, PlanRun

EDITING = {"Write", "Edit", "MultiEdit", "NotebookEdit", "write", "edit", "apply_patch"}


class PlanTests:
    """A plan of three tasks: see plan_run."""

    @pytest.mark.shows("run")
    def test_all_tasks_are_done_and_merged(self, plan: PlanRun) -> None:
        """The run ends with 0, each task is completed in tasks.json, and the integration branch has all the work."""
        done = plan.kept["done"]
        assert done.code == 0, done.out[-3000:] + done.err[-1000:]
        tasks = plan.client.scratch.state("state/tasks.json")["tasks"]
        assert [(task["title"], task["status"]) for task in tasks] == [(t, "completed") for t in (GREET, LEAVE, PART)]
        made = {name: text for name, text in plan.tree().items() if name.endswith("ing.txt") or name == "words.txt"}
        assert made == {"leaving.txt": "farewell\n", "parting.txt": "goodbye\n", "words.txt": "hello, Ann\ngoodbye\n"}

    @pytest.mark.shows("run")
    def test_tasks_began_in_parallel(self, plan: PlanRun) -> None:
        """The first sessions of all three tasks began before the first of them ended."""
        types = [event["type"] for event in plan.events("process_started", "process_ended")]
        assert types[:3] == ["process_started"] * 3

    @pytest.mark.shows("run")
    def test_crash_is_followed_by_another_attempt(self, plan: PlanRun) -> None:
        """The session that was killed is a session-failure; the second attempt is accepted."""
        judged = [event for event in plan.events("judged") if event["task"] == 2]
        assert [(event["attempt"], event["ok"], event.get("category")) for event in judged] == [
            (1, False, "session-failure"),
            (2, True, None),
        ]
        assert "signal 9" in judged[0]["reason"]

    @pytest.mark.shows("run")
    def test_rejected_verdict_goes_back_into_the_session(self, plan: PlanRun) -> None:
        """The verdict arrives in the form of its schema, and the same session is resumed with its words."""
        verdicts = [event["verdict"] for event in plan.events("verdict") if event["task"] == 1]
        assert [verdict["approved"] for verdict in verdicts] == [False, True]
        (mended,) = (event for event in plan.events("mended") if event["task"] == 1)
        assert mended["findings"] == "The greeting names nobody."
        first, _, resumed, _ = (event["id"] for event in plan.events("session") if event["task"] == 1)
        assert resumed == first
        assert GREET in "\n".join(plan.requests("work was not accepted")[0].conversation.users()[:-1])

    @pytest.mark.shows("run")
    def test_resumed_session_has_its_role_again(self, plan: PlanRun) -> None:
        """The text of the agent stands in the first request of the resumed session, as in that of the new one."""
        role = "You carry out one task: you change code"
        for pattern in (f"(?s){GREET}.*Do the whole task", "work was not accepted"):
            request = plan.requests(pattern)[0]
            assert role in json.dumps(request.body)

    @pytest.mark.shows("run")
    def test_conflict_is_resolved_by_the_owner(self, plan: PlanRun) -> None:
        """The conflict is in the log; the files of the resumed session are its own, not those of the merge."""
        assert [(event["task"], event["files"]) for event in plan.events("conflict")] == [(3, ["words.txt"])]
        collected = [event["files"] for event in plan.events("collected") if event["task"] == 3]
        assert collected == [["parting.txt", "words.txt"], ["words.txt"]]

    @pytest.mark.shows("run")
    def test_checkout_of_the_user_is_untouched(self, plan: PlanRun) -> None:
        """No file, ref, setting or status of the user's checkout has changed, and nothing is left at work."""
        assert plan.kept["after"] == plan.kept["before"]
        assert plan.kept["left"] == []
        assert json.loads((plan.state / "processes.json").read_text(encoding="utf-8")) == []

    @pytest.mark.shows("run-limits")
    @pytest.mark.parametrize("tool", FORBIDDEN)
    def test_hook_denies_changes_of_plan_and_tasks(self, plan: PlanRun, tool: str) -> None:
        """The model reads why; or the agent is not offered the tool at all."""
        conversation = plan.requests(f"(?s){LEAVE}.*Do the whole task")[-1].conversation
        if any(one.name.endswith(tool) for one in conversation.tools):
            assert [f"so {tool} is denied" in result.text for result in conversation.results(tool)] == [True]

    @pytest.mark.shows("run-limits")
    def test_mounted_server_knows_the_run(self, plan: PlanRun) -> None:
        """Its variables name the run, so it denies the same calls (tests/run/test_session_rules.py), and it is one."""
        (server,) = plan.kept["servers"]
        worktree = server["cwd"]
        assert worktree.endswith("/2-2")
        named = (plan.folder().name, "2", "2", "engineer", worktree)
        names = ("NEXUS_RUN", "NEXUS_TASK", "NEXUS_ATTEMPT", "NEXUS_AGENT", "NEXUS_WORKTREE")
        assert server == {"cwd": worktree, **dict(zip(names, named, strict=True))}

    @pytest.mark.shows("run-limits")
    def test_session_gets_no_variables_of_the_users_session(self, plan: PlanRun) -> None:
        """strip_env and NEXUS_PROJECT_ROOT are gone, which would lead to the user's checkout."""
        environ = plan.kept["session"]
        assert environ["NEXUS_RUN"] == plan.folder().name
        assert {"REPL_ID", "CLAUDECODE", "NEXUS_PROJECT_ROOT"}.isdisjoint(environ)

    @pytest.mark.shows("run-limits")
    def test_worktree_shares_the_state(self, plan: PlanRun) -> None:
        """task_list in a session has the tasks of the project, as the run set them."""
        (result,) = plan.requests(f"(?s){LEAVE}.*Do the whole task")[-1].conversation.results("task_list")
        assert all(title in result.text for title in (GREET, LEAVE, PART))
        assert "in_progress" in result.text

    @pytest.mark.shows("run-limits")
    def test_reviewer_gets_no_tool_that_edits(self, plan: PlanRun) -> None:
        """Its request has no such tool, or its sandbox is read-only."""
        request = plan.requests(f"(?s){LEAVE}.*Another agent says")[0]
        offered = {tool.name for tool in request.conversation.tools}
        words = plan.attempt("2-2", "command.json")["words"]
        assert not offered & EDITING or ("-s", "read-only") in pairwise(words)

    @pytest.mark.shows("run")
    def test_usage_counts_each_request_once(self, plan: PlanRun) -> None:
        """Also in sessions that were resumed: the model reports 100 and 10 tokens for each request."""
        asked = [one for one in plan.client.model.with_tools() if one.turn.get("text") != NEVER_READ]
        usage = plan.events("usage")
        totals = sum(one["input"] for one in usage), sum(one["output"] for one in usage)
        assert totals == (100 * len(asked), 10 * len(asked))

    @pytest.mark.shows("run")
    def test_transcript_has_the_neutral_form(self, plan: PlanRun) -> None:
        """One session line, then entries with ids whose parents are there; each result belongs to a call."""
        lines = (plan.folder() / "attempts/1-1/transcript.jsonl").read_text(encoding="utf-8").splitlines()
        head, *entries = map(json.loads, lines)
        assert (head["type"], head["version"], head["harness"]) == ("session", 3, plan.harness)
        ids = [entry["id"] for entry in entries]
        assert all(re.fullmatch("[0-9a-f]{8}", id_) for id_ in ids)
        assert all(entry["parentId"] in (None, *ids) for entry in entries)
        parts = [part for one in entries if isinstance(one.get("content"), list) for part in one["content"]]
        answered = {one["toolCallId"] for one in entries if one.get("role") == "tool_result"}
        assert answered == {part["id"] for part in parts}
        assert {one.get("role") for one in entries if one["type"] == "message"} == {"user", "assistant", "tool_result"}


class GuardTests:
    """A run whose sessions only read, take long, and are silent."""

    @pytest.mark.shows("run-guards")
    def test_session_that_only_reads_goes_on_with_a_message(self, guards: PlanRun) -> None:
        """It is ended once and resumed with one message; that uses up no attempt, and the work is merged."""
        assert guards.kept["done"].code == 0, guards.kept["done"].out[-3000:]
        reached = [event for event in guards.events("guard") if event["task"] == 1 and "cap" in event["name"]]
        assert [event["name"] for event in reached] == ["investigation_cap"]
        ids = [event["id"] for event in guards.events("session") if event["task"] == 1]
        assert len(set(ids)) == 1
        assert [event["attempt"] for event in guards.events("attempt_planned") if event["task"] == 1] == [1]
        assert guards.tree()["looked.txt"] == "seen\n"

    @pytest.mark.shows("run-guards")
    def test_tool_that_takes_long_is_not_silence(self, guards: PlanRun) -> None:
        """A command ran for longer than stale_abort without a guard that ends the session."""
        entries = [json.loads(line) for line in guards.text_of("2-1", "transcript.jsonl").splitlines()]
        assert "wait.sh" in json.dumps(next(one for one in entries if isinstance(one.get("content"), list)))
        assert guards.kept["waited"] >= guards.kept["abort"]
        assert [one for one in guards.kept["before silence"] if (one["task"], one["name"]) == (2, "stale_abort")] == []

    @pytest.mark.shows("run-guards")
    def test_silent_session_is_ended(self, guards: PlanRun) -> None:
        """It is warned about, ended, and followed by another attempt."""
        names = [event["name"] for event in guards.events("guard") if event["task"] == 2]
        assert names.count("stale_abort") == 1
        assert names[names.index("stale_abort") - 1] == "stale_warn"
        judged = [event.get("category") for event in guards.events("judged") if event["task"] == 2]
        assert judged == ["session-failure", None]
        assert guards.tree()["waited.txt"] == "late\n"


class LoginTests:
    """A harness that its service refuses."""

    @pytest.mark.shows("run-login")
    def test_refused_harness_pauses_the_run(self, refusal: PlanRun) -> None:
        """The reason says who is not logged in and what to type; the task stays pending."""
        assert refusal.kept["done"].code == 3
        (reason, *_) = [event["reason"] for event in refusal.events("paused")]
        assert reason.startswith(f"{refusal.harness} is not logged in: type ")
        assert [event["category"] for event in refusal.events("judged")] == ["environment", "environment"]
        assert [task["status"] for task in refusal.client.scratch.state("state/tasks.json")["tasks"]] == ["pending"]
