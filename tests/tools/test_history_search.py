"""history_search finds cycles by their text."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import Client, Project, cycle, issue, plan, stamp, task


@pytest.mark.requirement("history_search.none", "tree.reads")
def test_missing_history_has_no_cycles(call: Client, project: Project) -> None:
    """Without a history any query returns no cycle."""
    assert call("history_search") == {"total": 0, "showing": 0, "cycles": []}
    assert call("history_search", query="x", last_n=3) == {"total": 0, "showing": 0, "cycles": []}
    assert not project.nexus.exists()


@pytest.mark.requirement(
    "history_search.result", "history_search.cycle", "history_search.no-plan", "history_search.decisions",
)  # fmt: skip
def test_cycle_answer_has_every_field(call: Client, project: Project) -> None:
    """A cycle has its time, branch, decisions and number of tasks."""
    decided = plan(
        1,
        "Storage",
        [
            issue(1, "A", "decided", decision="x", how_agents=["h"]),
            issue(2, "B"),
            issue(3, "C", "decided", decision=""),
        ],
    )
    project.put(
        "history.json",
        {
            "cycles": [
                cycle(decided, task(1), task(2), at=stamp(1)),
                cycle(None, at=stamp(2), branch="dev"),
                cycle(plan(2, "Open", [issue(1, "A")]), at=stamp(3), branch="HEAD"),
                cycle(plan(3, "Empty", []), task(1), at=stamp(4), branch="_default"),
            ]
        },
    )
    assert call("history_search") == {
        "total": 4,
        "showing": 4,
        "cycles": [
            {
                "completed_at": stamp(1),
                "branch": "main",
                "topic": "Storage",
                "decisions": [{"title": "A", "decision": "x"}, {"title": "C", "decision": ""}],
                "task_count": 2,
            },
            {"completed_at": stamp(2), "branch": "dev", "task_count": 0},
            {"completed_at": stamp(3), "branch": "HEAD", "topic": "Open", "decisions": [], "task_count": 0},
            {"completed_at": stamp(4), "branch": "_default", "topic": "Empty", "decisions": [], "task_count": 1},
        ],
    }


LEGACY: list[tuple[Any, Any]] = [
    ({}, {}),
    ({"completed_at": stamp(1)}, {"completed_at": stamp(1)}),
    ({"branch": "b", "x": 1}, {"branch": "b"}),
    ({"tasks": []}, {"task_count": 0}),
    ({"plan": None}, {}),
    ({"plan": {}}, {"decisions": []}),
    ({"plan": {"topic": "T"}}, {"topic": "T", "decisions": []}),
    (
        {
            "plan": {
                "topic": "T",
                "issues": [{"title": "A", "status": "decided", "decision": "d"}, {"title": "B", "status": "pending"}],
            }
        },
        {"topic": "T", "decisions": [{"title": "A", "decision": "d"}]},
    ),
]


@pytest.mark.requirement("history_search.legacy", "history.legacy", "history.lax")
@pytest.mark.parametrize(("stored", "answered"), LEGACY)
def test_legacy_cycle_keeps_missing_fields_missing(call: Client, project: Project, stored: Any, answered: Any) -> None:
    """A field that a legacy cycle lacks is absent in its answer, too."""
    project.put("history.json", {"cycles": [stored]})
    assert call("history_search") == {"total": 1, "showing": 1, "cycles": [answered]}


ODD: list[Any] = [
    {"completed_at": 5, "branch": None, "plan": [], "tasks": {}},
    {"plan": "text", "tasks": "text"},
    {"plan": {"topic": 5, "issues": 7}},
    {
        "plan": {
            "issues": [
                1,
                None,
                {"status": "decided"},
                {"status": ["decided"]},
                {"status": "decided", "title": 1, "decision": []},
            ]
        }
    },
]


@pytest.mark.requirement("history.lax", "history_search.legacy")
@pytest.mark.parametrize("stored", ODD)
def test_odd_cycles_are_found(call: Client, project: Project, stored: Any) -> None:
    """A cycle whose fields have odd types is counted, and returned with its usable fields."""
    project.put("history.json", {"cycles": [stored, cycle(at=stamp(9))]})
    answer = call("history_search")
    assert (answer["total"], answer["showing"], len(answer["cycles"])) == (2, 2, 2)
    assert set(answer["cycles"][0]) <= {"completed_at", "branch", "topic", "decisions", "task_count"}
    assert answer["cycles"][1] == {"completed_at": stamp(9), "branch": "main", "task_count": 0}


@pytest.mark.requirement("history_search.blank", "history_search.default")
@pytest.mark.parametrize("query", ["", " ", "\t\n", "\u00a0", "\u3000", None])
def test_blank_query_finds_every_cycle(call: Client, project: Project, query: str | None) -> None:
    """A blank query finds every cycle."""
    project.put("history.json", {"cycles": [cycle(at=stamp(n)) for n in range(12)]})
    answer = call("history_search", query=query)
    assert (answer["total"], answer["showing"]) == (12, 10)


@pytest.mark.requirement(
    "history_search.newest", "history_search.default", "history_search.last-n", "history_search.total",
)  # fmt: skip
@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({}, range(5, 15)),
        ({"last_n": None}, range(5, 15)),
        ({"last_n": 1}, range(14, 15)),
        ({"last_n": 14}, range(1, 15)),
        ({"last_n": 15}, range(15)),
        ({"last_n": 16}, range(15)),
        ({"last_n": 2**64}, range(15)),
        ({"last_n": 3.0}, range(12, 15)),
        ({"last_n": "3"}, range(12, 15)),
        ({"last_n": 1e300}, range(15)),
    ],
)
def test_last_n_takes_the_newest_by_position(
    call: Client, project: Project, arguments: dict[str, Any], shown: range
) -> None:
    """last_n takes the newest by file position, the oldest of them first, whatever their timestamps are."""
    project.put("history.json", {"cycles": [cycle(at=stamp(1000 - n), branch=f"b{n}") for n in range(15)]})
    answer = call("history_search", **arguments)
    assert (answer["total"], answer["showing"]) == (15, len(shown))
    assert [c["branch"] for c in answer["cycles"]] == [f"b{n}" for n in shown]


@pytest.mark.requirement("history_search.newest", "history_search.total")
def test_the_limit_comes_after_the_query(call: Client, project: Project) -> None:
    """The newest matches are shown, not the matches among the newest."""
    project.put("history.json", {"cycles": [cycle(branch=f"{'odd' if n % 2 else 'even'}-{n}") for n in range(20)]})
    answer = call("history_search", query="EVEN", last_n=3)
    assert (answer["total"], answer["showing"]) == (10, 3)
    assert [c["branch"] for c in answer["cycles"]] == ["even-14", "even-16", "even-18"]


@pytest.mark.requirement("history_search.last-n", "calls.types", "calls.booleans", "calls.number-grammar")
@pytest.mark.parametrize("value", [0, -1, 1.5, True, False, "x", "", "0", "1.5", [1], {}, float("inf"), float("nan")])
def test_wrong_last_n_is_refused(call: Client, value: Any) -> None:
    """last_n is a whole number of at least 1."""
    assert "last_n" in call.error("history_search", last_n=value)


@pytest.mark.requirement("calls.types")
@pytest.mark.parametrize("value", [5, True, ["x"], {"a": "x"}])
def test_query_must_be_text(call: Client, value: Any) -> None:
    """A query is text."""
    assert "query" in call.error("history_search", query=value)


@pytest.mark.requirement("files.surrogates", "history_search.text")
def test_lone_surrogate_becomes_replacement_character(call: Client, project: Project) -> None:
    """A lone surrogate in an old cycle is shown as the replacement character."""
    project.put("history.json", b'{"cycles": [{"branch": "a\\ud800b", "plan": {"topic": "\\udfffx", "issues": []}}]}')
    assert call("history_search") == {
        "total": 1,
        "showing": 1,
        "cycles": [{"branch": "a\ufffdb", "topic": "\ufffdx", "decisions": []}],
    }
    assert call("history_search", query="\\UD800b")["total"] in {0, 1}


@pytest.mark.requirement("files.broken", "files.broken-told", "history.lax")
@pytest.mark.parametrize(
    "content",
    [
        b"", b"[]", b"null", b"{}", b'{"cycles": {}}', b'{"cycles": null}', b'{"cycles": [1]}',
        b'{"cycles": [{}, null]}',
        b'{"cycles": [{}, []]}', b'{"cycles": [{}]', b'{"cycles": [{},]}', b'{"cycles": [], "cycles": []}',
        b'{"cycles": [{"a": NaN}]}', b'{"cycles": [{"a": Infinity}]}', b'{"cycles": [{"a": 1, "a": 2}]}',
        b'{"cycles": []} x',
        b'{"cycles": [{"a": "\xff"}]}', b'{"cycles": [{"a": 01}]}', b'{"cycles": [{"a": "\t"}]}',
        b'{"a": NaN, "cycles": []}',
        b'{"cycles": [{"a": {"b": 1, "\\u0062": 2}}]}',
        b'<<<<<<< ours\n{"cycles": []}\n=======\n{"cycles": [{}]}\n>>>>>>> theirs\n',
        b'{"cycles": [\n<<<<<<< ours\n{"a": 1}\n=======\n{"a": 2}\n>>>>>>> theirs\n]}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("query", [None, "a"])
def test_broken_history_is_an_error(call: Client, project: Project, content: bytes, query: str | None) -> None:
    """A broken history is an error that names it, with a query and without."""
    project.put("history.json", content)
    assert "history.json" in call.error("history_search", query=query)


@pytest.mark.requirement("files.newer-major")
def test_a_newer_major_is_searched(call: Client, project: Project) -> None:
    """A history of a newer major can be read."""
    project.put("history.json", {"schema_version": "3.0", "cycles": [cycle(at=stamp(1))]})
    assert call("history_search")["total"] == 1
