"""A file with conflict markers is split into the two sides of git, or refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nexus_mcp.merging import conflict as merging_conflict
from nexus_mcp.merging.conflict import split
from nexus_mcp.merging.diagnosis import DamagedFile, Hopeless, diagnose
from nexus_mcp.merging.versions import MergeUndecided
from tests.merging.support import OURS, Layout, numbered

STYLES = ("--diff3", "--zdiff3", "--no-diff3")
LAYOUTS = (OURS, Layout(crlf=True), Layout(None), Layout("\t", newline=False), Layout(bom=True))
PAST = [numbered(1), numbered(2)]
LEFT, RIGHT = [numbered(3), numbered(4)], [numbered(5), numbered(4)]


def conflict(folder: Path, base: bytes, ours: bytes, theirs: bytes, *options: str) -> bytes:
    """Return git's own conflict of three files that do not merge."""
    names = ("ours", "base", "theirs")
    for name, data in zip(names, (ours, base, theirs), strict=True):
        (folder / name).write_bytes(data)
    done = subprocess.run(["git", "merge-file", "-p", *options, *names], cwd=folder, capture_output=True, check=False)
    assert done.returncode > 0, "no conflict"
    return done.stdout


@pytest.mark.parametrize("size", [1, 4, 7, 20])
@pytest.mark.parametrize(
    "layout", [OURS, Layout(crlf=True), Layout(None), Layout("\t", newline=False), Layout(bom=True)]
)
@pytest.mark.parametrize("style", STYLES)
def test_both_sides_are_found(tmp_path: Path, style: str, layout: Layout, size: int) -> None:
    """For any style, marker size and layout, the parsed sides equal the original ones."""
    base, ours, theirs = layout(PAST), layout([*PAST, *LEFT]), layout([*PAST, *RIGHT])
    # diff3 was the only other style of older gits, and their default has no option of its own.
    chosen = [] if style == "--no-diff3" else [style]
    marked = conflict(tmp_path, base, ours, theirs, *chosen, f"--marker-size={size}")
    assert merging_conflict.has_markers(marked)
    assert split(marked) == (ours, theirs)


def test_missing_final_newline_adds_nothing(tmp_path: Path) -> None:
    """After a side that ends without a newline git has to put one before its marker; nothing else is added."""
    layout = Layout(None, newline=False)
    ours, theirs = layout([*PAST, *LEFT]), layout([*PAST, *RIGHT])
    assert split(conflict(tmp_path, layout(PAST), ours, theirs)) == (ours + b"\n", theirs + b"\n")


def test_several_conflicts_are_parsed(tmp_path: Path) -> None:
    """A file may have a conflict in several places."""
    lines = [b"a\n", *[b"same %d\n" % number for number in range(9)], b"z\n"]
    ours, theirs = (b"".join([edge, *lines, edge]) for edge in (b"{\n", b"[\n"))
    marked = conflict(tmp_path, b"".join(lines), ours, theirs)
    assert marked.count(b"=======") == 2
    assert split(marked) == (ours, theirs)


def test_common_part_may_hold_longer_markers(tmp_path: Path) -> None:
    """The common part may hold the conflict of two ancestors, whose markers are longer."""
    base = b"<" * 9 + b" one\n1\n" + b"|" * 9 + b"\n" + b"=" * 9 + b"\n2\n" + b">" * 9 + b" two\n"
    marked = conflict(tmp_path, base, b"3\n", b"4\n", "--diff3")
    assert b"<<<<<<<<< one" in marked
    assert split(marked) == (b"3\n", b"4\n")


GOOD = b"a\n<<<<<<< x\nb\n=======\nc\n>>>>>>> y\nd\n"
LINES = GOOD.splitlines(keepends=True)


def without(*left_out: int) -> bytes:
    return b"".join(line for number, line in enumerate(LINES) if number not in left_out)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (without(1), 1),
        (without(3), 5),
        (without(5), 6),
        (without(1, 3), 1),
        (without(3, 5), 5),
        (GOOD.replace(b"b\n", b"b\n<<<<<<< z\n"), 4),
        (GOOD.replace(b"b\n", GOOD), 4),
        (GOOD.replace(b"c\n", b"c\n=======\n"), 6),
        (GOOD.replace(b"c\n", b"c\n||||||| z\n"), 6),
        (GOOD.replace(b"c\n", b"c\n<<<<<<<<< z\n"), 6),
        (GOOD.replace(b"=======", b"========"), 4),
        (GOOD.replace(b">>>>>>> y", b">>>>>>>y"), 6),
        (GOOD + b"=======\n", 8),
        (GOOD + b">>>>>>> y\n", 8),
        (GOOD.replace(b"b\n", b"||||||| z\n||||||| z\n"), 4),
    ],
)
def test_malformed_markers_are_refused(data: bytes, line: int) -> None:
    """Markers that are missing, nested or out of order are refused, with the line where that shows."""
    assert split(GOOD) == (b"a\nb\nd\n", b"a\nc\nd\n")
    assert merging_conflict.has_markers(data)
    with pytest.raises(MergeUndecided, match=rf"not those of one merge \(line {line}\)") as caught:
        split(data)
    assert "\n" not in caught.value.reason


@pytest.mark.parametrize(
    "data",
    [
        OURS(PAST),
        OURS([numbered(1, branch="\n<<<<<<< HEAD\n=======\n>>>>>>> x\n")]),
        b"x <<<<<<< y\n",
        b"<html>\n",
        b"<=> x\n",
    ],
)
def test_marker_inside_a_string_is_text(data: bytes) -> None:
    """Text like a marker inside a string, with mixed signs, or not at the beginning of a line, is no marker."""
    assert not merging_conflict.has_markers(data)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("size", [3, 7, 9])
def test_leftover_markers_lose_no_cycle(tmp_path: Path, style: str, size: int) -> None:
    """If some markers were removed, the text between the others is neither dropped nor repeated."""
    chosen = [] if style == "--no-diff3" else [style]
    three = [OURS([*PAST, *more]) for more in ([], LEFT, RIGHT)]
    marked = conflict(tmp_path, three[0], three[1], three[2], *chosen, f"--marker-size={size}")
    for removed in ("<", ">", "=", "|", "<>", "<>|", "<=", ">=", "<>="):
        lines = [line for line in marked.splitlines(keepends=True) if chr(line[0]) not in removed]
        left = b"".join(lines)
        if left == marked or not any(chr(line[0]) in "<=>|" for line in lines):
            continue  # a style without such markers, or with no others
        found = diagnose(left)
        if removed == "|":  # without this marker the past is a part of our side
            assert not isinstance(found, DamagedFile)
        else:
            assert isinstance(found, Hopeless)
