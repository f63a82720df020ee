"""docs/performance.md and its pictures are what the kept results say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks import page, results
from benchmarks.figures import OURS
from benchmarks.goals import OWN_100, PARTS, ROWS
from benchmarks.peers.packages import PACKAGES
from benchmarks.plots import curves
from benchmarks.plots.draw import FOLDER

RESULT = results.read(results.TABLE)
PAGE = page.PAGE.read_text(encoding="utf-8")


def test_the_tables_are_those_of_the_results() -> None:
    """`make bench-page` would write the same page."""
    assert page.filled(PAGE, page.kept()) == PAGE


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("growth", curves.growth(RESULT)),
        ("memory", curves.memory(RESULT)),
        ("start", curves.bars(RESULT)),
    ],
)
def test_the_pictures_are_those_of_the_results(name: str, shown: object) -> None:
    """Each picture says which figures it was drawn from, has its text as text, and stands on white."""
    picture = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert f"benchmarks/results/table.json: {curves.digest(shown)}<" in picture
    assert ">nexus-mcp</text>" in picture
    assert "fill: #ffffff" in picture
    assert f"](pictures/{name}.svg)" in PAGE


def test_the_kept_run_is_whole() -> None:
    """Every row was measured, each goal judged, nothing answered wrongly, by the versions that are pinned."""
    assert list(RESULT["rows"]) == [row.key for row in ROWS]
    unjudged = [row.key for row in ROWS if len(RESULT["rows"][row.key]["goals"]) != len(row.goals)]
    assert unjudged == []
    assert RESULT["wrong"] == []
    assert RESULT["machine"]["packages"] == {package.name: package.version for package in PACKAGES.values()}
    assert len(PARTS) == len(set(PARTS))


def test_results_name_no_place() -> None:
    """What is kept names no machine and no path."""
    for path in results.FOLDER.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert "://" not in text
        assert "/home" not in text
        assert "/root" not in text


def test_a_place_is_filled_and_filled_anew() -> None:
    """The text between the markers is replaced, and what stands around them stays."""
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


def test_bars_are_sorted() -> None:
    """The smallest comes first, under the name that readers know."""
    rows = {"start": {"medians": {"node": 300.0, OURS: 30.0, "python -c pass": 10.0}}}
    assert curves.bars({"rows": rows})["spawn → tools/list (ms)"] == [("nexus-mcp", 30.0), ("upstream, Node", 300.0)]


def test_digests_tell_figures_apart() -> None:
    """Another figure is another digest, whatever else the result says."""
    changed = json.loads(json.dumps(RESULT))
    changed["machine"]["day"] = "another"
    assert curves.digest(curves.memory(changed)) == curves.digest(curves.memory(RESULT))
    changed["rows"]["peak-100"]["medians"][OURS] += 1
    assert curves.digest(curves.memory(changed)) != curves.digest(curves.memory(RESULT))


def test_parts_are_kept_beside_the_others() -> None:
    """Rows that were measured anew take the place of the kept ones; those of another machine are refused."""
    kept = results.read(results.TABLE)
    first, second = list(kept["rows"])[:2]
    new = {**kept, "rows": {second: {**kept["rows"][second], "medians": {"ours": 1.0}}}, "notes": ["another"]}
    both = results.joined(kept, new)
    assert list(both["rows"]) == list(kept["rows"])
    assert (both["rows"][first], both["rows"][second]["medians"]) == (kept["rows"][first], {"ours": 1.0})
    assert both["notes"] == [*kept["notes"], "another"]
    with pytest.raises(ValueError, match="cores is not what"):
        results.joined(kept, {**new, "machine": {**kept["machine"], "cores": 64}})
