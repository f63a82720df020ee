"""Any sequence of calls agrees with the model in answers and bytes, and every file stays valid."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
from tests.model.model import Model, Outcome
from tests.model.strategies import CALLS, CONTENT, STEPS, foreign_plans, foreign_tasks
from tests.support import LOCK, READ_ONLY, Client, Clock, Project, without_own

BOUNDED = settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


NAMES_BAD = ("../x", "/x", "a//b", "a/", ".", "a\\b", "c:x", "nul", "a.", "-x", ".git/x", "a\u202eb", "a\u200b")


START: list[tuple[str, dict[str, Any], bool]] = [
    ("plan_start", {"topic": "T", "issues": ["A", "B"], "research_summary": "s"}, True),
]  # fmt: skip


class Pair:
    """A project driven through the tools and through the model at once."""

    def __init__(self, folder: Path, plan: Any = None, tasks: Any = None) -> None:
        (folder / ".git").mkdir(parents=True)
        (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.project = Project(folder.resolve())
        self.clock = Clock()
        self.model = Model(str(self.project.root), self.clock, plan=plan, tasks=tasks)
        self.kept: dict[str, bytes] = {}
        for name, content in (("state/plan.json", plan), ("state/tasks.json", tasks)):
            if content is not None:
                self.project.put(name, json.dumps(content).encode())
                self.kept[name] = self.project.get(name)
        self.client = Client(App(Workspace(str(self.project.root)), now=self.clock), self.project)

    def step(self, tool: str, given: dict[str, Any], *, deliver: bool) -> None:
        if tool == "tick":
            self.clock.advance(given.get("ms", 0))
            return
        expected = self.model.call(tool, copy.deepcopy(given), delivered=deliver)
        if expected.is_error:
            self.compare_error(expected, self.client.refused(tool, given))
        else:
            found = self.client.send(tool, given, deliver=deliver)
            if expected.result.get("message") is ...:
                assert "task_add" in found.pop("message")
                expected.result.pop("message")
            assert found == expected.result
        self.compare_files()

    def compare_error(self, expected: Outcome, message: str) -> None:
        if expected.message:
            assert message == expected.message
        else:
            assert all(name in message for name in expected.mention)

    def compare_files(self) -> None:
        expected = self.model.files()
        for name, content in self.kept.items():
            if self.model.untouched[name] and (self.model.plan if "plan" in name else self.model.tasks) is not None:
                expected[name] = content
        found = {
            path.removeprefix(".nexus/"): content
            for path, content in without_own(self.project.snapshot()).items()
            if path.startswith(".nexus/") and content != "folder" and "/closed-" not in path
        }
        if found:
            assert found.pop(".gitignore", b"state/\n") == b"state/\n"
        assert found == expected


@pytest.mark.requirement(
    "calls.failure-keeps", "files.closed", "files.indent", "files.key-order", "history.append-only",
)  # fmt: skip
@BOUNDED
@given(steps=STEPS)
@example(
    steps=[
        *START,
        ("plan_decide", {"issue_id": 1, "decision": "d"}, True),
        ("task_close", {}, False),
        ("task_close", {}, True),
        ("task_close", {}, True),
    ]
)
def test_any_sequence_agrees_with_the_model(
    tmp_path_factory: pytest.TempPathFactory,
    schema_errors: Callable[[str, Any], list[str]],
    steps: list[tuple[str, dict[str, Any], bool]],
) -> None:
    """Answers and bytes are the model's after each call, refused calls change nothing, and files keep their schemas."""
    pair = Pair(tmp_path_factory.mktemp("pair") / "project")
    for tool, given_arguments, deliver in itertools.chain(START if len(steps) % 3 else [], steps):
        pair.step(tool, given_arguments, deliver=deliver)
        for name in ("state/plan", "state/tasks", "history"):
            if (pair.project.nexus / f"{name}.json").exists():
                assert schema_errors(name.removeprefix("state/"), pair.project.json(f"{name}.json")) == []


@pytest.mark.requirement(
    "files.foreign", "files.unknown-kept", "files.unknown-last", "files.tolerated", "history.cycle-plan",
)  # fmt: skip
@settings(BOUNDED, max_examples=130)
@given(plan=st.none() | foreign_plans(), tasks=st.none() | foreign_tasks(), steps=STEPS)
def test_foreign_files_survive_any_sequence_of_calls(
    tmp_path_factory: pytest.TempPathFactory, plan: Any, tasks: Any, steps: list[tuple[str, dict[str, Any], bool]]
) -> None:
    """Files of other harnesses are answered, rewritten and archived with all that they had."""
    pair = Pair(tmp_path_factory.mktemp("pair") / "project", plan, tasks)
    pair.compare_files()
    for tool, given_arguments, deliver in steps:
        pair.step(tool, given_arguments, deliver=deliver)


@pytest.mark.requirement("files.broken-kept", "history.append-only", "tree.reads")
@settings(BOUNDED, max_examples=130)
@given(plan=CONTENT, tasks=CONTENT, history=CONTENT, steps=st.lists(CALLS, max_size=8))
def test_any_sequence_keeps_old_cycles(
    tmp_path_factory: pytest.TempPathFactory,
    plan: bytes,
    tasks: bytes,
    history: bytes,
    steps: list[tuple[str, dict[str, Any], bool]],
) -> None:
    """For any files, calls return an answer, refused calls change nothing, and old cycles stay."""
    pair = Pair(tmp_path_factory.mktemp("pair") / "project")
    for name, content in (("state/plan.json", plan), ("state/tasks.json", tasks), ("history.json", history)):
        pair.project.put(name, content)
    for tool, given_arguments, _ in steps:
        before = pair.project.snapshot()
        answer = pair.client.app.call(tool, given_arguments)
        answer.confirm_delivery()
        assert "Internal error" not in answer.result["content"][0]["text"]
        after = pair.project.snapshot()
        if answer.result["isError"] or tool in READ_ONLY:
            assert {**after, LOCK: b""} == {**before, LOCK: b""}
        old, new = (files[".nexus/history.json"] for files in (before, after))
        assert isinstance(old, bytes)
        assert isinstance(new, bytes)
        if new != old:
            cycles = json.loads(old.decode("utf-8-sig"))["cycles"]
            assert json.loads(new.decode("utf-8-sig"))["cycles"][: len(cycles)] == cycles


@pytest.mark.requirement("artifact_write.segments", "artifact_write.absolute")
@pytest.mark.parametrize("name", NAMES_BAD)
def test_the_model_leaves_bad_names_out(tmp_path: Path, name: str) -> None:
    """Names that the sequences do not try are refused, so that leaving them out hides nothing."""
    pair = Pair(tmp_path / "project")
    assert "filename" in pair.client.error("artifact_write", filename=name, content="c")
