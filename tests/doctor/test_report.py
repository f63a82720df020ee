"""Findings are counted, and rendered as text and as JSON."""

from __future__ import annotations

import json

from nexus_mcp.doctor.finding import CAP, Finding, Findings, More, Report
from nexus_mcp.doctor.reports import MOST_PLACES, to_json, to_text
from tests.doctor.support import shown

CIRCLE = Finding(
    "dependency-cycle",
    ".nexus/state/tasks.json",
    "has tasks that depend on each other in a cycle: 1 -> 2 -> 1",
    "/tasks/0/deps",
    9,
    15,
)
LEFT = [Finding("leftover", f".nexus/.nexus-tmp-{number}", "was left", advice="Nothing.") for number in range(8)]
REPORT = Report("/p", 12, (Finding("link", ".nexus/memory", "is a symbolic link"), CIRCLE, *LEFT), {"leftover": 30})
TEXT = """\
/p

error    .nexus/memory
         is a symbolic link [link]
         > Find out what created it. If you do not need it, move it away.

warning  .nexus/state/tasks.json, line 9, column 15, /tasks/0/deps
         has tasks that depend on each other in a cycle: 1 -> 2 -> 1
         [dependency-cycle]
         > Choose the task of the cycle that can be done first, and complete it
           first.

warning  .nexus/.nexus-tmp-0
         .nexus/.nexus-tmp-1
         .nexus/.nexus-tmp-2
         .nexus/.nexus-tmp-3
         .nexus/.nexus-tmp-4
         .nexus/.nexus-tmp-5
         and 32 more of this kind
         each was left [leftover]
         > Nothing.

12 files and folders checked: 1 error, 39 warnings, 0 notes."""


def test_text_groups_findings_by_severity() -> None:
    """Findings stand under their severity with place, problem, code and next step; like ones together; counts last."""
    assert MOST_PLACES == 6
    assert shown(REPORT) == TEXT


def test_text_of_a_healthy_project_names_it_healthy() -> None:
    """The report calls a healthy project healthy, with its notes; without `.nexus/` it says how to create the
    folder.
    """
    note = Finding("no-merge-driver", ".nexus/history.json", "has no merge driver")
    assert shown(Report("/p", 3, (note,), {})).split("\n")[-1] == (
        "Healthy. 3 files and folders checked: 0 errors, 0 warnings, 1 note."
    )
    assert shown(Report("/p", 0, (), {})) == "/p\nHealthy: there is no .nexus/ yet. nexus-mcp init creates it."


def test_report_of_an_unreadable_folder_never_says_healthy() -> None:
    """If the folder cannot be read, the report names the obstacle and never says healthy."""
    closed = Finding("unreadable", ".nexus", "cannot be opened: Too many open files")
    text = shown(Report("/p", 0, (closed,), {}))
    assert "Too many open files [unreadable]" in text
    assert text.endswith("\n0 files and folders checked: 1 error, 0 warnings, 0 notes.")


def test_colour_is_nothing_but_colour() -> None:
    """Without its colours the coloured report equals the plain one."""
    coloured = to_text(REPORT, colour=True)
    assert coloured.count("\x1b[1;31merror\x1b[0m") == 1
    assert coloured.count("\x1b[1;33mwarning\x1b[0m") == 2
    plain = coloured.replace("\x1b[0m", "")
    for colour in ("31", "33", "36"):
        plain = plain.replace(f"\x1b[1;{colour}m", "")
    assert plain == TEXT


def test_the_width_is_kept() -> None:
    """No line is longer than the requested width, except that of a place."""
    wide = Report("/p", 1, (Finding("link", ".nexus/memory", "is " + "a b " * 100),), {})
    for width in (40, 80, 120):
        longest = max(len(line) for line in to_text(wide, width).split("\n")[:-1])
        assert width - 4 < longest <= width


def test_json_has_every_finding() -> None:
    """The JSON has each finding whole, in ASCII, and the counts of all."""
    value = json.loads(to_json(REPORT))
    assert value["findings"][1] == {
        "code": "dependency-cycle",
        "severity": "warning",
        "file": ".nexus/state/tasks.json",
        "line": 9,
        "column": 15,
        "pointer": "/tasks/0/deps",
        "problem": "has tasks that depend on each other in a cycle: 1 -> 2 -> 1",
        "next_step": "Choose the task of the cycle that can be done first, and complete it first.",
    }
    assert (value["healthy"], value["entries"], value["more"]) == (False, 12, {"leftover": 30})
    assert value["totals"] == {"error": 1, "warning": 39, "note": 0}
    odd = Report("/p/\udc80\u202e", 1, (), {})
    assert to_json(odd).isascii()
    assert json.loads(to_json(odd))["project"] == odd.project


def test_findings_are_kept_and_counted() -> None:
    """The first of a code are kept and the others counted; the same one twice is one."""
    many = [Finding("tracked", f"{number}", "is tracked") for number in range(CAP + 3)]
    found = Findings([*many, *many[:2], CIRCLE, More("leftover", 5)])
    assert list(found.kept.values()) == [*many[:CAP], CIRCLE]
    assert found.more == {"tracked": 3, "leftover": 5}


def test_passes_share_findings_by_place() -> None:
    """Two passes share a finding at the same place, whatever its text; counts include only shared findings of their
    code.
    """
    first = Findings([LEFT[0], LEFT[1], CIRCLE, More("leftover", 9), More("tracked", 4)])
    reworded = Finding("leftover", LEFT[1].file, "was left, again")
    journal = Finding("journal-pending", "txn.json", "holds", identity="a")
    second = Findings([reworded, journal, More("leftover", 2), More("tracked", 4)])
    both = second.intersect(first)
    assert list(both.kept.values()) == [reworded]
    assert both.more == {"leftover": 2}
    other = Findings([Finding("journal-pending", "txn.json", "holds", identity="b")])
    assert other.intersect(second).kept == {}
    assert other.intersect(second).are_notes
