"""A merge of two histories has each cycle once, in the same order whichever side is ours."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from nexus_mcp.merging.threeway import merge, union
from nexus_mcp.merging.versions import MergeUndecided
from tests.merging.support import (
    Cycle,
    Layout,
    begin_of,
    counted,
    cycles_of,
    in_order,
    layouts,
    numbered,
    some_cycles,
    texts_of,
    titles,
)

EXAMPLES = settings(max_examples=40, deadline=None, derandomize=True)
WRITE = Layout()


def grown(layout: Layout, *parts: list[Cycle]) -> bytes:
    return layout([each for part in parts for each in part])


@EXAMPLES
@given(base=some_cycles, left=some_cycles, right=some_cycles, layout=layouts)
def test_merge_has_the_cycles_of_both_sides_once(
    base: list[Cycle], left: list[Cycle], right: list[Cycle], layout: Layout
) -> None:
    """The result has the common cycles and the added ones of both sides, each as often as the side that has it most
    often.
    """
    ours, theirs = grown(layout, base, left), grown(layout, base, right)
    result = cycles_of(merge(layout(base), ours, theirs))
    assert counted(result) == counted([*base, *left]) | counted([*base, *right])
    assert result[: len(base)] == base


@EXAMPLES
@given(base=some_cycles, left=some_cycles, right=some_cycles, layout=layouts)
def test_merge_has_the_same_bytes_in_both_directions(
    base: list[Cycle], left: list[Cycle], right: list[Cycle], layout: Layout
) -> None:
    """Merging ours into theirs and theirs into ours gives the same bytes."""
    past, ours, theirs = layout(base), grown(layout, base, left), grown(layout, base, right)
    assert merge(past, ours, theirs) == merge(past, theirs, ours)


@EXAMPLES
@given(base=some_cycles, left=some_cycles, right=some_cycles, one=layouts, other=layouts)
def test_merged_cycles_keep_their_bytes(
    base: list[Cycle], left: list[Cycle], right: list[Cycle], one: Layout, other: Layout
) -> None:
    """Whatever the layouts, the past begins as on our side, and every cycle is spelled as on the side that has it."""
    ours, theirs = grown(one, base, left), grown(other, base, right)
    result = merge(other(base), ours, theirs)
    assert result.startswith(begin_of(ours, len(base)))
    assert texts_of(result)[: len(base)] == texts_of(ours)[: len(base)]
    assert set(texts_of(result)) <= {*texts_of(ours), *texts_of(theirs)}
    assert set(texts_of(ours)) <= set(texts_of(result))
    assert result.startswith(b"\xef\xbb\xbf") == one.bom
    assert result.endswith(b"\n") == one.newline


@EXAMPLES
@given(base=some_cycles, left=some_cycles, right=some_cycles, one=layouts, other=layouts)
def test_second_merge_changes_nothing(
    base: list[Cycle], left: list[Cycle], right: list[Cycle], one: Layout, other: Layout
) -> None:
    """Merging the same once more changes nothing, with the side merged into and with the past as the base."""
    past, ours, theirs = one(base), grown(one, base, left), grown(other, base, right)
    result = merge(past, ours, theirs)
    assert merge(past, result, theirs) == result
    assert merge(past, result, ours) == result
    assert merge(theirs, result, theirs) == result
    assert merge(ours, ours, result) == result


@EXAMPLES
@given(base=some_cycles, left=some_cycles, right=some_cycles, third=some_cycles)
def test_merge_has_the_same_bytes_in_any_order(
    base: list[Cycle], left: list[Cycle], right: list[Cycle], third: list[Cycle]
) -> None:
    """Three branches give the same file in any order of merges."""
    past = WRITE(base)
    one, two, three = (grown(WRITE, base, in_order(part)) for part in (left, right, third))
    assert merge(past, merge(past, one, two), three) == merge(past, one, merge(past, three, two))


@EXAMPLES
@given(past=some_cycles, left=some_cycles, right=some_cycles, more=some_cycles)
def test_picked_change_brings_no_earlier_cycles(
    past: list[Cycle], left: list[Cycle], right: list[Cycle], more: list[Cycle]
) -> None:
    """A picked change is added without the earlier cycles of its branch, and without those that ours has."""
    base, ours, theirs = grown(WRITE, past, right), grown(WRITE, past, left), grown(WRITE, past, right, more)
    result = counted(cycles_of(merge(base, ours, theirs, descends=False)))
    have, had, given = (counted(cycles_of(data)) for data in (ours, base, theirs))
    # What they added, less what we have of that beyond the base.
    assert result == have + ((given - had) - (have - had))


@EXAMPLES
@given(left=some_cycles, right=some_cycles, one=layouts, other=layouts)
def test_merge_without_ancestor_is_the_union(left: list[Cycle], right: list[Cycle], one: Layout, other: Layout) -> None:
    """If both sides created the file, the result is the union, each cycle once."""
    assert counted(cycles_of(union(one(left), other(right)))) == counted(left) | counted(right)


def test_added_cycles_are_ordered_by_time() -> None:
    """Added cycles are ordered by completion; two of the same moment have the same order on either side."""
    past = [numbered(1, 9)]
    ours, theirs = [*past, numbered(2, 3), numbered(3, 5)], [*past, numbered(4, 1), numbered(5, 3), numbered(6, 8)]
    assert titles(merge(WRITE(past), WRITE(ours), WRITE(theirs))) == [1, 4, 2, 5, 3, 6]


def test_times_are_compared_across_time_zones() -> None:
    """Time zones count, a time without one is UTC, and an invalid time comes first."""
    times = ["2026-01-01T03:00:00+02:00", "2026-01-01T02:00:00.000Z", "2026-01-01T01:30:00", "then", None]
    theirs = [{**numbered(number), "completed_at": at} for number, at in enumerate(times, 1)]
    assert titles(union(WRITE([]), WRITE(theirs)))[2:] == [1, 3, 2]
    assert titles(union(WRITE([numbered(9, 0)]), WRITE([theirs[1]]))) == [9, 2]


@pytest.mark.parametrize("theirs", ["edited", "fewer", "none", "once"])
def test_a_changed_past_is_not_decided(theirs: str) -> None:
    """When a side lacks a cycle of the common past, or has another in its place, there is no result."""
    past = [numbered(1), numbered(2), numbered(2)]
    changed = {
        "edited": [numbered(1, branch="x"), *past[1:]],
        "fewer": past[1:],
        "none": [],
        "once": past[:2],
    }[theirs]
    base, ours, other = WRITE(past), WRITE([*past, numbered(3)]), WRITE([*changed, numbered(4)])
    with pytest.raises(MergeUndecided, match=r"their side lacks or has changed (a cycle|3 cycles) of"):
        merge(base, ours, other)
    with pytest.raises(MergeUndecided, match="our side lacks"):
        merge(base, other, ours)
    with pytest.raises(MergeUndecided, match="their side lacks"):
        merge(base, ours, other, descends=False)
    assert titles(merge(base, other, ours, descends=False)) == sorted([*titles(other), 3])


def test_missing_old_cycle_after_a_new_one_is_detected() -> None:
    """A cycle that both sides added before an old one does not hide that a side lacks some old cycles."""
    past, ours, theirs = ([numbered(each) for each in numbers] for numbers in ((1, 2, 3), (1, 9, 3), (1, 9, 2, 3)))
    with pytest.raises(MergeUndecided, match="our side lacks or has changed a cycle of"):
        merge(WRITE(past), WRITE(ours), WRITE(theirs))
    assert titles(merge(WRITE(past), WRITE(ours), WRITE(theirs), descends=False)) == [1, 9, 3]


def test_same_change_of_the_past_on_both_sides_is_kept() -> None:
    """A change of old cycles that both sides made in the same way is kept."""
    base = WRITE([numbered(1), numbered(2), numbered(3), numbered(3)])
    edited = [numbered(2, branch="edited"), numbered(3)]
    merged = merge(base, WRITE([*edited, numbered(4)]), WRITE([*edited, numbered(5)]))
    assert merged == WRITE([*edited, numbered(4), numbered(5)])
    with pytest.raises(MergeUndecided, match="their side lacks or has changed a cycle of"):
        merge(base, WRITE([*edited, numbered(3), numbered(4)]), WRITE([*edited, numbered(5)]))


X, Y = numbered(1, branch="x"), numbered(1, branch="y")
LAST_X, LAST_Y = numbered(3, branch="x"), numbered(3, branch="y")
ONE, TWO, THREE, FOUR, FIVE = (numbered(number) for number in range(1, 6))


@pytest.mark.parametrize("descends", [True, False])
@pytest.mark.parametrize(
    ("ours", "theirs", "result"),
    [([Y, TWO, THREE], [X, TWO, THREE, FOUR], None), ([TWO, LAST_Y], [TWO, LAST_X], None),
     ([X, LAST_X, FOUR], [X, LAST_Y], None), ([TWO, THREE], [X, TWO, THREE], None),
     ([ONE, TWO, FOUR], [ONE, TWO], None),
     ([X, TWO, LAST_X, FOUR], [X, TWO, LAST_X, FIVE], [X, TWO, LAST_X, FOUR, FIVE]),
     ([THREE, FOUR], [THREE, FIVE], [THREE, FOUR, FIVE])],
)  # fmt: skip
def test_different_changes_of_the_past_conflict(
    ours: list[Cycle], theirs: list[Cycle], result: list[Cycle] | None, descends: bool
) -> None:
    """A cycle that neither side has any more is decided only where both have the same in its place."""
    base = WRITE([ONE, TWO, THREE])
    for one, other in ((ours, theirs), (theirs, ours)):
        if result is None:
            with pytest.raises(MergeUndecided, match="both sides removed or changed a cycle"):
                merge(base, WRITE(one), WRITE(other), descends=descends)
        else:
            assert merge(base, WRITE(one), WRITE(other), descends=descends) == WRITE(result)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result"),
    [({}, {}, {"v": 1}, {"v": 1}), ({}, {"v": 1}, {}, {"v": 1}), ({"v": 1}, {"v": 2}, {"v": 2}, {"v": 2}),
     ({"v": 1}, {"v": 1}, {}, {}), ({}, {"v": 1}, {"v": 2}, None), ({"v": 1}, {"v": 2}, {}, None),
     ({}, {"v": 1}, {"v": 1.0}, None), ({"v": 1}, {"v": 1, "w": [2]}, {"v": 3}, None)],
)  # fmt: skip
def test_other_fields_come_from_the_changed_side(base: Cycle, ours: Cycle, theirs: Cycle, result: Cycle | None) -> None:
    """The fields beside the cycles are those of the side that changed them; if both did, the merge is refused."""
    past = [numbered(1)]
    three = WRITE(past, **base), WRITE([*past, numbered(2)], **ours), WRITE([*past, numbered(3)], **theirs)
    if result is None:
        with pytest.raises(MergeUndecided, match="fields other than the cycles"):
            merge(*three)
    else:
        assert merge(*three) == WRITE([numbered(1), numbered(2), numbered(3)], **result)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b'{"cycles": [', "is not JSON"),
        (b"[]", "must be an object"),
        (b'{"cycles": [{"a": 1, "a": 1}]}', "the same key twice"),
        (WRITE([], schema_version="1.0"), "only reads"),
        (WRITE([])[:-2] + b"\n<<<<<<< a\n=======\n>>>>>>> b\n", "conflict markers"),
    ],
)
def test_unreadable_side_is_not_merged(data: bytes, reason: str) -> None:
    """A side or an ancestor that is no history gives no result, and the reason names it."""
    good = WRITE([numbered(1)])
    for three, name in (((good, data, good), "our"), ((good, good, data), "their"), ((data, good, good), "common")):
        with pytest.raises(MergeUndecided, match=f"^(?:the )?{name}.* {reason}"):
            merge(*three)
