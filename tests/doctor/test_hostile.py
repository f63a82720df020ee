"""Hostile workspaces: files that are too many, too deep, too long, or of another kind than their name."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexus_mcp.doctor import survey
from nexus_mcp.doctor.checks import lines
from nexus_mcp.doctor.finding import CAP
from nexus_mcp.errors import PathRefused
from tests.doctor.cases import ACCESS, PLAN, TASKS, TRACKER
from tests.doctor.support import codes, look, only, opened
from tests.support import Project, plan, stamp, task, tasks


def test_many_faults_of_one_file_are_capped(made: Project) -> None:
    """Of thirty thousand faults in one file only a few are computed and reported."""
    made.put(TASKS, '{"goal": "", "decisions": [], "tasks": [' + ",".join(["{}"] * 30_000) + "]}")
    made.put(PLAN, plan(issues=[{"id": 1, "title": "", "status": "pending", "how_agents": [1] * 30_000}]))
    report = look(made.root)
    assert {finding.code for finding in report.findings} == {"schema", "schema-odd"}
    assert len(report.findings) == 2 * CAP
    assert all(number <= CAP for number in report.more.values())


def test_many_unknown_fields_do_not_hide_a_wrong_one(made: Project) -> None:
    """Unknown fields do not hide an invalid one."""
    made.put(TASKS, {**{f"x{n}": n for n in range(5_000)}, **tasks(task(1, owner=1))})
    report = look(made.root)
    assert [finding.code for finding in report.findings] == ["schema-odd"] + ["unknown-field"] * CAP
    assert report.more["unknown-field"] < 2_000


def test_too_deep_nesting_is_reported(made: Project) -> None:
    """Nesting that no reader can follow is reported as such, in any file."""
    deep = "[" * 200_000
    for path in (PLAN, "history.json", TRACKER, "state/txn.json", "state/codex/a.extension.json"):
        made.put(path, deep + "]" * len(deep))
    made.put("state/tool-log.jsonl", deep)
    made.put("state/closed-1.json", deep)
    expected = ["bad-line", "foreign-marker", "journal-damaged", *["unparsable"] * 4]
    assert codes(made.root) == expected


def test_control_characters_in_names_are_escaped(made: Project) -> None:
    """Names of files and fields are shown escaped, whatever bytes they have."""
    for name in (b"\x1b[2J", b"a\nb", b"caf\xe9", "\u202eb".encode(), b"x" * 255):
        os.close(os.open(bytes(made.nexus) + b"/" + name, os.O_CREAT))
    made.put(TASKS, json.dumps({**tasks(), "\x1b]0;title\x07": 1, "\ud800": 2}))
    assert sorted(set(codes(made.root))) == ["unknown-field", "unknown-file"]


def test_pointer_with_a_huge_name_is_cut_to_its_parent(made: Project) -> None:
    """A pointer with a huge name in it is replaced by that of the parent."""
    made.put(PLAN, plan(issues=[{"id": 1, "title": "", "status": "decided", "how_summary": {"x" * 1_000_000: 1}}]))
    assert [finding.pointer for finding in look(made.root).findings] == ["/issues/0/title", "/issues/0/how_summary"]


def test_huge_dependency_cycle_is_one_short_finding(made: Project) -> None:
    """Thousands of tasks, more than Python has frames, that wait for each other are one finding of a few lines."""
    rows = [task(n, deps=[n + 1]) for n in range(1, 5_001)]
    made.put(TASKS, json.dumps(tasks(*rows[:-1], task(5_000))))
    assert codes(made.root) == []
    made.put(TASKS, json.dumps(tasks(*rows[:-1], task(5_000, deps=[1]))))
    problem = only(made.root).problem
    assert problem == "has tasks that depend on each other in a cycle: 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> 8 -> ... -> 1"


def test_huge_ids_are_shortened(made: Project) -> None:
    """An id of thousands of digits is truncated in the report, and one that no float holds is invalid."""
    made.put(TASKS, json.dumps(tasks(task(1, deps=[10**4000]), task(10**4000 + 1, deps=[1e300]))))
    problems = [finding.problem for finding in look(made.root).findings]
    assert problems == [
        "has task 1, which depends on 10000000000000000000...: no such task",
        "has task 10000000000000000000..., which depends on 10000000000000000525...: no such task",
    ]


@pytest.mark.parametrize(("limit", "value"), [("MAX_KEPT", 10), ("MAX_SEEN", 10)])
def test_folder_with_too_many_files_is_reported(
    made: Project, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    """A folder with more files than doctor reads is reported, and the check ends."""
    monkeypatch.setattr(survey, limit, value)
    for number in range(40):
        made.put(f"state/artifacts/a{number}/b", "")
    report = look(made.root)
    assert {finding.code for finding in report.findings} == {"not-all-seen"}
    assert report.entries <= 12


def test_many_leftovers_are_counted_in_bounded_memory(made: Project) -> None:
    """Of any number of temporary files only a limited number is stored, the first ones of each folder."""
    for number in range(30):
        made.put(f"state/.nexus-tmp-{number}", "")
    with opened(made.root, ".nexus") as nexus:
        found = survey.survey(nexus, 5)
    assert (len(found.temporary), found.temporaries, len(found.entries)) == (5, 30, 3)


def test_folders_down_to_the_depth_limit_are_no_finding(made: Project) -> None:
    """Folders down to the depth limit are no finding."""
    (made.nexus / "/".join(["memory", *["d"] * (survey.MAX_DEPTH - 1)])).mkdir(parents=True)
    assert codes(made.root) == []


def test_log_with_too_many_lines_is_reported(made: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a log with too many lines the first ones are checked, and the report says so."""
    monkeypatch.setattr(lines, "MAX_LINES", 5)
    made.put("state/tool-log.jsonl", "{}\n" * 5)
    assert codes(made.root) == []
    made.put("state/tool-log.jsonl", "{}\n" * 5 + "?\n")
    assert codes(made.root) == ["not-all-seen"]


@pytest.mark.parametrize("kind", ["link", "file"])
def test_nexus_that_is_no_folder_is_not_searched(bare: Project, kind: str) -> None:
    """A `.nexus` that is a link or a file is not looked into."""
    bare.nexus.symlink_to(bare.root.parent) if kind == "link" else bare.nexus.write_text("")
    with pytest.raises(PathRefused):
        look(bare.root)


BROKEN = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.sampled_from(["", "a", "pending", stamp(0), 1e300, 2.0]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "deps", "tasks", "issues", "cycles", "plan", "status", "completed_at", "path"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
FILES = (PLAN, TASKS, "history.json", "state/txn.json", "state/closed-1.json", TRACKER, ACCESS, "state/oplog.jsonl")
WHOLE: tuple[Any, ...] = (
    plan(),
    tasks(task(1, deps=[2, 1], plan_issue=4), task(1.0)),
    {"cycles": [{"plan": plan()}, {"completed_at": 1}]},
)


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """JSON with a member swapped or the text cut or hit, or anything at all."""
    value = draw(st.sampled_from(WHOLE) | BROKEN)
    if isinstance(value, dict) and value and draw(st.booleans()):
        value = {**value, draw(st.sampled_from(sorted(value))): draw(BROKEN)}
    data = bytearray(json.dumps(value).encode())
    match draw(st.sampled_from(("whole", "cut", "hit", "anything"))):
        case "cut":
            del data[draw(st.integers(0, len(data))) :]
        case "hit":
            data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
        case "anything":
            return draw(st.binary(max_size=20))
    return bytes(data)


def test_any_file_content_gives_a_valid_report() -> None:
    """Whatever is in the files, a look ends with a report that keeps its schema, and changes nothing."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder).resolve())

        @settings(max_examples=40, derandomize=True, database=None)
        @given(st.dictionaries(st.sampled_from(FILES), contents(), min_size=1, max_size=4))
        def looked_at(files: dict[str, bytes]) -> None:
            for path in FILES:
                (project.nexus / path).unlink(missing_ok=True)
            for path, data in files.items():
                project.put(path, data)
            look(project.root)

        looked_at()
