"""Any sequence of calls agrees with the model, answer by answer and byte by byte, and keeps every file valid."""

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
from tests.model.model import PARAMETERS, Model, Outcome, Parameter
from tests.support import LOCK, READ_ONLY, Client, Clock, Project, issue, pretty, task

BOUNDED = settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
SAMPLES = [
    "", " ", "\t\n", "a", "A", "Storage", "STORAGE", "\u00a0", "\u3000x", "ÄÖ", "äö", "\u212a", "\u0130", "ΟΔΟΣ", "ς",
    "ß", "漢字", "😀", "e\u0301", "\u2028",
    "\x01\x1f\x7f", '"quoted"', "back\\slash", "a/b", "\\n", "line\r\nline", "\u202e", "\ufeff", "\ufffd", "null",
    "true", "1", '{"a":1}', '"status":"decided"', "id",
    "x" * 3000, "é" * 2000,
]  # fmt: skip
TEXTS = st.sampled_from(SAMPLES) | st.text(CHARACTERS, max_size=8)
IDS = st.integers(1, 5) | st.sampled_from([1.0, 2.0, "1", "3", "2.0", "1e0", 2**64, 10**30])
GOOD: dict[str, st.SearchStrategy[Any]] = {
    "text": TEXTS,
    "id": IDS,
    "ids": st.lists(st.integers(1, 5) | st.just(2.0), max_size=4),
    "texts": st.lists(TEXTS, max_size=3),
    "titles": st.lists(TEXTS.filter(str.strip), max_size=4),
    "map": st.dictionaries(TEXTS, TEXTS, max_size=3),
}
BAD = st.sampled_from(
    [
        0, -1, 1.5, True, False, float("inf"), float("nan"), "", "  ", "x\0", "\ud800", "+1", "01", "1.5", "x", [], [1],
        [""], [" "], ["\udfff"], [None], [[]], [0], [True], {},
        {"a": 1}, {"a": "\0"}, {"\ud800": "a"}, "[", "[]", "{}", '["\\ud800"]', '{"a": null}', "NaN", 5,
    ]
)  # fmt: skip
NAMES_FINE = ("note.md", "a/b.txt", "ä/漢", "a b", "..x", "d/.hidden")
NAMES_BAD = ("../x", "/x", "a//b", "a/", ".", "a\\b", "c:x", "nul", "a.", "-x", ".git/x", "a\u202eb", "a\u200b")


def value_of(name: str, shape: Parameter) -> st.SearchStrategy[Any]:
    if name == "action":
        return st.sampled_from(["add", "remove", "edit", "reopen", "add", "remove", "edit", "reopen", "explode"])
    if name == "filename":
        return st.sampled_from(NAMES_FINE)
    if shape.only:
        return st.sampled_from(shape.only)
    values = GOOD[shape.kind]
    if shape.not_blank:
        values = values.filter(str.strip)
    if shape.kind in {"ids", "texts", "titles", "map"}:
        values |= values.map(json.dumps)
    return values


@st.composite
def arguments(draw: st.DrawFn, tool: str) -> dict[str, Any]:
    """Mostly fitting arguments; now and then one is missing, null, unknown or wrong."""
    out: dict[str, Any] = {}
    for name, shape in PARAMETERS[tool].items():
        if shape.required or draw(st.booleans()):
            out[name] = draw(value_of(name, shape))
    fault = draw(st.sampled_from(["none"] * 9 + ["missing", "null", "unknown", "wrong", "wrong"]))
    names = list(PARAMETERS[tool])
    if fault == "unknown":
        out[draw(st.sampled_from(["bogus", "Topic", "issueId", ""]))] = draw(BAD)
    elif names and fault != "none":
        name = draw(st.sampled_from(names))
        if fault == "missing":
            out.pop(name, None)
        elif fault == "null":
            out[name] = None
        elif name != "filename":
            out[name] = draw(BAD)
    return out


def calls(tool: str) -> st.SearchStrategy[tuple[str, dict[str, Any], bool]]:
    return st.tuples(st.just(tool), arguments(tool), st.sampled_from([True, True, True, False]))


WEIGHTS = {
    "plan_update": 4,
    "plan_decide": 4,
    "task_add": 4,
    "task_update": 4,
    "plan_start": 2,
    "task_close": 2,
    "history_search": 2,
}
CALLS = st.sampled_from([tool for tool in PARAMETERS for _ in range(WEIGHTS.get(tool, 1))]).flatmap(calls)
STEPS = st.lists(
    CALLS | st.tuples(st.just("tick"), st.sampled_from([{}, {"ms": 125}, {"ms": -250}]), st.just(True)), max_size=40
)
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
            for path, content in self.project.snapshot().items()
            if path.startswith(".nexus/") and content != "folder" and path != LOCK and "/closed-" not in path
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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**65) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
FOREIGN_KEYS = st.sampled_from(["x", "note", "zz", "Owner", "$schema", "é"])
FOREIGN = st.dictionaries(FOREIGN_KEYS, JSON, max_size=3)
VERSIONS = st.sampled_from([{}, {}, {"schema_version": "0.5"}, {"schema_version": "0.9"}, {"schema_version": "0.1"}])


def shuffled(draw: st.DrawFn, value: dict[str, Any]) -> dict[str, Any]:
    return {key: value[key] for key in draw(st.permutations(list(value)))}


@st.composite
def foreign_issues(draw: st.DrawFn, number: int) -> Any:
    odd = draw(st.dictionaries(st.sampled_from(["how_agents", "how_summary", "how_agent_ids"]), JSON, max_size=2))
    decided = draw(st.booleans())
    decision = {"decision": draw(TEXTS)} if decided else {}
    return shuffled(
        draw, {**draw(FOREIGN), **issue(number, draw(TEXTS), "decided" if decided else "pending"), **decision, **odd}
    )


@st.composite
def foreign_plans(draw: st.DrawFn) -> Any:
    numbers = draw(st.lists(st.integers(1, 5), max_size=3, unique=True))
    research = draw(st.sampled_from([{}, {"research_summary": ""}, {"research_summary": "s"}]))
    known = {
        "id": draw(st.integers(1, 9)),
        "topic": draw(TEXTS.filter(str.strip)),
        "issues": [draw(foreign_issues(n)) for n in numbers],
    }
    return shuffled(draw, {**draw(FOREIGN), **draw(VERSIONS), **known, **research, "created_at": draw(TEXTS)})


@st.composite
def foreign_tasks(draw: st.DrawFn) -> Any:
    numbers = draw(st.lists(st.integers(1, 5), max_size=3, unique=True))
    odd = st.dictionaries(st.sampled_from(["owner", "risk", "owner_reuse_policy", "approach"]), JSON, max_size=2)
    rows = [
        shuffled(draw, {**draw(FOREIGN), **task(n, draw(TEXTS), context=draw(TEXTS),
        status=draw(st.sampled_from(["pending", "in_progress", "completed"])),
        deps=draw(st.lists(st.integers(1, 5), max_size=3))), **draw(odd)})
        for n in numbers
    ]  # fmt: skip
    goal = draw(TEXTS.filter(lambda text: not text or text.strip()))
    return shuffled(
        draw, {**draw(FOREIGN), **draw(VERSIONS), "goal": goal, "decisions": draw(GOOD["texts"]), "tasks": rows}
    )


@pytest.mark.requirement(
    "files.foreign", "files.unknown-kept", "files.unknown-last", "files.tolerated", "history.cycle-plan",
)  # fmt: skip
@settings(BOUNDED, max_examples=200)
@given(plan=st.none() | foreign_plans(), tasks=st.none() | foreign_tasks(), steps=STEPS)
def test_any_sequence_on_foreign_files(
    tmp_path_factory: pytest.TempPathFactory, plan: Any, tasks: Any, steps: list[tuple[str, dict[str, Any], bool]]
) -> None:
    """Files of other harnesses are answered, rewritten and archived with all that they had."""
    pair = Pair(tmp_path_factory.mktemp("pair") / "project", plan, tasks)
    pair.compare_files()
    for tool, given_arguments, deliver in steps:
        pair.step(tool, given_arguments, deliver=deliver)


CONTENT = st.one_of(
    st.binary(max_size=20),
    JSON.map(pretty),
    foreign_plans().map(pretty),
    foreign_tasks().map(pretty),
    st.just({"cycles": [{"branch": "b"}]}).map(pretty),
    st.lists(FOREIGN, max_size=3).map(lambda cycles: pretty({"cycles": cycles})),
)


@pytest.mark.requirement("files.broken-kept", "history.append-only", "tree.reads")
@settings(BOUNDED, max_examples=200)
@given(plan=CONTENT, tasks=CONTENT, history=CONTENT, steps=st.lists(CALLS, max_size=8))
def test_any_content_survives(
    tmp_path_factory: pytest.TempPathFactory,
    plan: bytes,
    tasks: bytes,
    history: bytes,
    steps: list[tuple[str, dict[str, Any], bool]],
) -> None:
    """Whatever the files hold, calls are answered, refused ones change nothing, and old cycles are still there."""
    pair = Pair(tmp_path_factory.mktemp("pair") / "project")
    for name, content in (("state/plan.json", plan), ("state/tasks.json", tasks), ("history.json", history)):
        pair.project.put(name, content)
    for tool, given_arguments, _ in steps:
        before = pair.project.snapshot()
        answer = pair.client.app.call(tool, given_arguments)
        answer.delivered()
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
