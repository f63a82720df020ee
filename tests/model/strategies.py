"""Calls and files for Hypothesis: valid, unusual and invalid ones."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.model.arguments import PARAMETERS, Parameter
from tests.support import issue, pretty, task

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


CONTENT = st.one_of(
    st.binary(max_size=20),
    JSON.map(pretty),
    foreign_plans().map(pretty),
    foreign_tasks().map(pretty),
    st.just({"cycles": [{"branch": "b"}]}).map(pretty),
    st.lists(FOREIGN, max_size=3).map(lambda cycles: pretty({"cycles": cycles})),
)
