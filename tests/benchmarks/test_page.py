"""docs/performance.md, docs/performance-details.md and the charts show the stored results."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from benchmarks import page, report, results
from benchmarks.figures import OURS, Figures
from benchmarks.goals import OWN_100, PARTS, ROWS
from benchmarks.peers.packages import PACKAGES
from benchmarks.plots import curves
from benchmarks.plots.draw import FOLDER

RESULT = results.read(results.TABLE)
PAGE = page.PAGE.read_text(encoding="utf-8")


def test_the_tables_are_those_of_the_results() -> None:
    """`make bench-page` would write the same pages."""
    for path, texts in page.split(page.kept()).items():
        text = path.read_text(encoding="utf-8")
        assert page.filled(text, texts) == text


def test_first_page_has_the_goals_and_the_second_page_the_other_rows() -> None:
    """performance.md has one table, each of its rows a goal; a row without a goal is on performance-details.md."""
    shown = page.blocks(RESULT, results.read(results.CANDIDATES))
    goals, others = (shown[name].partition("\n\n")[0].splitlines()[2:] for name in ("goals", "without-goal"))
    assert {line.split(" | ")[4] for line in goals} == {report.wish(goal) for row in ROWS for goal in row.goals}
    without_goal = [f"{row.what} ({row.unit})" for row in ROWS if not row.goals]
    assert [line.split(" | ")[0][2:] for line in others] == without_goal
    assert len(goals) == sum(len(row.goals) for row in ROWS)
    assert re.findall(r"^\| ---", PAGE, re.MULTILINE) == ["| ---"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("growth", curves.growth(RESULT)),
        ("memory", curves.memory(RESULT)),
        ("start", curves.bars(RESULT)),
    ],
)
def test_the_pictures_are_those_of_the_results(name: str, shown: object) -> None:
    """Each picture names the figures it was drawn from, has text, no ground, and colours for light and dark."""
    picture = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert f"benchmarks/results/table.json: {curves.digest(shown)}<" in picture
    assert ">nexus-mcp</text>" in picture
    fixed = set(re.findall(r"(?:fill|stroke): (#\w+|white|black)", picture))
    assert fixed == set()
    assert "prefers-color-scheme:dark" in picture
    assert f"](pictures/{name}.svg)" in PAGE


def test_stored_run_has_every_row() -> None:
    """Every row was measured, each goal judged, nothing answered wrongly, by the versions that are pinned."""
    assert list(RESULT["rows"]) == [row.key for row in ROWS]
    unjudged = [row.key for row in ROWS if len(RESULT["rows"][row.key]["goals"]) != len(row.goals)]
    assert unjudged == []
    assert RESULT["wrong"] == []
    assert RESULT["machine"]["packages"] == {package.name: package.version for package in PACKAGES.values()}
    assert len(PARTS) == len(set(PARTS))


def test_results_name_no_place() -> None:
    """The stored results contain no name of a machine and no path."""
    for path in results.FOLDER.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert "://" not in text
        assert "/home" not in text
        assert "/root" not in text


def test_text_between_markers_is_replaced() -> None:
    """The text between the markers is replaced, and the text around them stays."""
    before = "a\n<!-- goals -->\nold\n<!-- /goals -->\nb\n"
    after = page.filled(before, {"goals": "new"})
    assert after == "a\n<!-- goals -->\nnew\n<!-- /goals -->\nb\n"
    assert page.filled(after, {"goals": "new"}) == after
    with pytest.raises(ValueError, match="0 places for the block limits"):
        page.filled(after, {"limits": "new"})


def test_curves_have_a_point_for_each_size_that_was_measured() -> None:
    """A size that is not there leaves a shorter line; a server that is not there leaves none."""
    rows: dict[str, Any] = {
        f"search-{size}": {"medians": {OURS: value, OWN_100: 9.0}} for size, value in ((100, 1.0), (10_000, 2.0))
    }
    panel = curves.growth({"rows": rows})[0]
    assert panel.lines == {OURS: [(100, 1.0), (10_000, 2.0)]}


def test_bars_are_sorted_by_size() -> None:
    """The smallest comes first, under the name that readers know."""
    rows = {"start": {"medians": {"node": 300.0, OURS: 30.0, "python -c pass": 10.0}}}
    assert curves.bars({"rows": rows})["spawn → tools/list (ms)"] == [("nexus-mcp", 30.0), ("upstream, Node", 300.0)]


def test_different_figures_have_different_digests() -> None:
    """Different figures have different digests; other parts of the result do not matter."""
    changed = json.loads(json.dumps(RESULT))
    changed["machine"]["day"] = "another"
    assert curves.digest(curves.memory(changed)) == curves.digest(curves.memory(RESULT))
    changed["rows"]["peak-100"]["medians"][OURS] += 1
    assert curves.digest(curves.memory(changed)) != curves.digest(curves.memory(RESULT))


def part(what: str, **others: Any) -> dict[str, Any]:
    """Return the result of a run of this part alone."""
    rows = {row.key: {**RESULT["rows"][row.key], "run": "now", "code": "abc"} for row in ROWS if row.part == what}
    return {"machine": RESULT["machine"], "rows": rows, "wrong": [], "notes": [], **others}


def test_parts_are_kept_beside_the_others() -> None:
    """Newly measured rows replace the stored ones; those of another machine are refused."""
    new = part("hook")
    new["rows"]["hook-session_end"]["medians"] = {"ours": 1.0}
    both = results.joined(RESULT, new)
    assert list(both["rows"]) == list(RESULT["rows"])
    assert both["rows"]["start"]["medians"] == RESULT["rows"]["start"]["medians"]
    assert both["rows"]["hook-session_end"]["medians"] == {"ours": 1.0}
    with pytest.raises(ValueError, match="cores is not what"):
        results.joined(RESULT, {**new, "machine": {**RESULT["machine"], "cores": 64}})


def test_a_wrong_answer_stays_until_its_rows_are_measured_again() -> None:
    """Other rows do not take it away, one of its two parts leaves it to the other, and the page shows it first."""
    lost = {"text": "ours: a task is lost", "rows": ["crowd-0", "hook-session_end"]}
    kept = results.joined({**RESULT, "wrong": [lost]}, part("start"))
    assert kept["wrong"] == [lost]
    kept = results.joined(kept, part("hook", wrong=[{"text": "another", "rows": ["hook-agent_spawn"]}]))
    assert [(one["text"], one["rows"]) for one in kept["wrong"]] == [
        ("ours: a task is lost", ["crowd-0"]),
        ("another", ["hook-agent_spawn"]),
    ]
    shown = page.blocks(kept, results.read(results.CANDIDATES), None)
    assert "- ours: a task is lost (in: crowd)\n- another (in: hook)" in shown["wrong"]
    assert [line.split(" | ")[0] for line in shown["goals"].splitlines() if "WRONG" in line] == [
        "| 8 processes adding, 0 tasks (calls/s)",
        "| hook agent_spawn, a process (ms)",
    ]
    assert (
        results.joined(kept, {**part("crowd"), "rows": {**part("crowd")["rows"], **part("hook")["rows"]}})["wrong"]
        == []
    )
    assert PAGE.index("<!-- wrong -->") < PAGE.index("<!-- goals -->")


def test_page_names_the_run_of_each_row() -> None:
    """If rows come from different runs, the page names the day and the code of each run."""
    whole = {**RESULT, "rows": {key: {**row, "run": "before", "code": "0"} for key, row in RESULT["rows"].items()}}
    candidates = results.read(results.CANDIDATES)
    assert "All rows are of one run, begun before, code 0." in page.blocks(whole, candidates, None)["goals"]
    shown = page.blocks(results.joined(whole, part("hook")), candidates, None)["goals"]
    assert "Rows are of different runs" in shown
    assert "- hook: begun now, code abc" in shown
    assert "All rows" not in shown
    old = {key: {name: row[name] for name in row if name not in ("run", "code")} for key, row in RESULT["rows"].items()}
    both = results.joined({**RESULT, "machine": {**RESULT["machine"], "day": "2020-01-01"}, "rows": old}, part("hook"))
    shown = page.blocks(both, candidates, None)["goals"]
    assert "crowd, search" in shown
    assert ": 2020-01-01 or before; runs and code were not noted" in shown


def test_row_is_stored_with_its_run_and_code() -> None:
    """A result is stored with the notes about its measured rows."""
    figures = Figures(rows=["hook-session_end", "start"])
    figures.add("hook-session_end", OURS, 1.0)
    figures.expect(OURS, "hook", 1, 0)
    kept = results.table(figures)
    assert (kept["rows"]["hook-session_end"]["run"], kept["rows"]["hook-session_end"]["code"]) == (
        figures.begun,
        results.code(),
    )
    assert kept["wrong"] == [{"text": "ours: hook: 1 instead of 0", "rows": ["hook-session_end"]}]


def test_crowd_in_memory_is_mentioned_only_if_measured() -> None:
    """The sentence has its figures from the kept run of a crowd in memory; without one there is none."""
    candidates = results.read(results.CANDIDATES)
    assert page.blocks(RESULT, candidates, None)["in-memory"] == ""
    medians = {0: (1000.0, 250.0), 1_000: (400.0, 100.0), 3_000: (160.0, 40.0)}
    rows = {f"crowd-{size}": {"medians": {"ours": ours, "node": node}} for size, (ours, node) in medians.items()}
    text = page.blocks(RESULT, candidates, {"rows": rows})["in-memory"]
    assert "add 1000, 400 and 160 tasks" in text
    assert "lists of 0, 1000 and 3000, 4.0, 4.0 and 4.0 times" in text
