"""`nexus-mcp log`: the last changes, one a line, or as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nexus_mcp import schemas
from nexus_mcp.cli import main
from nexus_mcp.cli.change_lines import change_table
from nexus_mcp.cli.terminal import plain_lines
from nexus_mcp.server.app import App
from nexus_mcp.state import oplog
from nexus_mcp.workspace import Workspace
from tests.cli.support import nexus
from tests.store.oplog_support import PLAN, TASK, entries, take_back
from tests.support import Clock, Project

LOG = "state/oplog.jsonl"


def some_changes(project: Project, clock: Clock) -> None:
    """Changes of two harnesses, one of them taken back, and a cycle."""
    calls: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
        ("claude-code", "Claude Code", "plan_start", PLAN),
        ("codex", "", "task_add", TASK),
        ("claude-code", "Claude Code", "task_close", {}),
        ("codex", "", "artifact_write", {"filename": "notes/ä.md", "content": "x"}),
        ("codex", "", "artifact_write", {"filename": "notes/ä.md", "content": "y"}),
        ("claude-code", "\x1b[31mred\u202e", "task_add", TASK),
    )
    for harness, client, name, arguments in calls:
        answer = App(Workspace(str(project.root), harness), now=clock).call(name, arguments, client)
        answer.confirm_delivery()
        assert answer.result["isError"] is False
        clock.advance()


def log(capsys: pytest.CaptureFixture[str], project: Project, *arguments: str) -> tuple[int, str, str]:
    code = main(["log", "--project", str(project.root), *arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.requirement("oplog.shown")
def test_each_change_has_one_line(capsys: pytest.CaptureFixture[str], project: Project, clock: Clock) -> None:
    """Time, tool, description with title, and actor stand in columns, the newest change last; marks show whether undo
    can take it back. The title of a change that was taken back is unknown.
    """
    some_changes(project, clock)
    take_back(project.root)
    at = [entry["at"] for entry in entries(project.root)]
    red = "\\x1b[31mred\\u202e"
    rows = [
        ("plan_start", "starts plan 1: Topic", "Claude Code", ""),
        ("task_add", "adds task 1: Do it", "codex", ""),
        ("task_close", "archives 1 task and plan 1: Topic", "Claude Code", "stays"),
        ("artifact_write", "creates artifacts/notes/ä.md", "codex", ""),
        ("artifact_write", "overwrites artifacts/notes/ä.md", "codex", ""),
        ("task_add", "adds task 1", red, "taken back"),
        ("undo", "takes back 1 change", "test", ""),
    ]
    lines = [
        f"{when}  {tool:14}  {what:33}  {who:{len(red)}}  {note}".rstrip() + "\n"
        for when, (tool, what, who, note) in zip(at, rows, strict=True)
    ]
    assert log(capsys, project) == (0, "".join(lines), "")


@pytest.mark.requirement("oplog.shown")
@pytest.mark.parametrize("option", [["-n", "2"], ["-n2"], ["--number=2"]])
def test_number_option_limits_the_log(
    capsys: pytest.CaptureFixture[str], project: Project, clock: Clock, option: list[str]
) -> None:
    """-n limits the number of changes, and the output says how to see the others."""
    some_changes(project, clock)
    code, out, _ = log(capsys, project, *option)
    *lines, rest = out.splitlines()
    assert code == 0
    assert [line.split()[1] for line in lines] == ["artifact_write", "task_add"]
    assert rest == "4 older changes are not shown: nexus-mcp log -n 6."


@pytest.mark.requirement("oplog.shown")
def test_json_prints_the_entries_of_the_log(capsys: pytest.CaptureFixture[str], project: Project, clock: Clock) -> None:
    """--json prints the entries as the log has them, in one line of UTF-8."""
    some_changes(project, clock)
    ran = nexus("log", "--json", "-n", "2", cwd=project.root, env={"PYTHONIOENCODING": "ascii"})
    assert (ran.code, ran.err) == (0, "")
    value = json.loads(ran.out)
    assert value == {"version": 1, "entries": entries(project.root)[-2:], "unreadable": 0}
    assert schemas.faults(schemas.load("views/log"), value) == []
    assert ran.out.count("\n") == 1
    assert "ä" in ran.out


@pytest.mark.requirement("oplog.torn", "oplog.shown")
def test_unreadable_lines_are_counted(capsys: pytest.CaptureFixture[str], project: Project, clock: Clock) -> None:
    """Torn lines, and those of a newer version, are shown in their place by number, and counted."""
    some_changes(project, clock)
    newer = json.dumps({**entries(project.root)[0], "version": oplog.VERSION + 1}).encode()
    project.put(LOG, project.get(LOG) + newer + b'\n{"version": 1, "i')
    _, out, _ = log(capsys, project)
    assert out.splitlines()[-1] == "Unreadable lines: 2, cut short by a crash or written by a newer nexus-mcp."
    assert out.splitlines()[6:8] == ["line 7  unreadable", "line 8  unreadable"]
    assert len(out.splitlines()) == 9
    assert json.loads(log(capsys, project, "--json")[1])["unreadable"] == 2
    project.put(LOG, b"x")
    assert log(capsys, project)[1].splitlines() == [
        "line 1  unreadable",
        "Unreadable lines: 1, cut short by a crash or written by a newer nexus-mcp.",
    ]


@pytest.mark.requirement("oplog.shown")
def test_empty_log_creates_nothing(capsys: pytest.CaptureFixture[str], project: Project) -> None:
    """Where nothing was done there is nothing to show, and nothing is made."""
    before = project.snapshot()
    assert log(capsys, project) == (
        0,
        "No change is recorded yet: each change that a tool makes adds a line here.\n",
        "",
    )
    assert json.loads(log(capsys, project, "--json")[1]) == {"version": 1, "entries": [], "unreadable": 0}
    assert project.snapshot() == before


@pytest.mark.parametrize("text", ["0", "00", "-1", "x", "1.5", "¹", ""])
def test_invalid_number_is_a_usage_error(capsys: pytest.CaptureFixture[str], project: Project, text: str) -> None:
    """A value that is no number from 1 is a usage error."""
    code, out, err = log(capsys, project, f"--number={text}")
    assert (code, out, err) == (2, "", f"nexus-mcp: --number needs a number from 1, not {text!r}.\n")


def test_line_without_description_names_the_change_of_the_file() -> None:
    """A change without a description is described by its file: created, removed, replaced or written."""
    by = oplog.By("artifact_write", "codex", "")
    made = [
        oplog.file_change("artifacts/a", None, b"1"),
        oplog.file_change("artifacts/a", b"1", b"2"),
        oplog.file_change("artifacts/a", b"2", None),
        oplog.file_after("artifacts/a", b"3"),
    ]
    found = [oplog.entry("0" * 16, "now", by, [file]) for file in made] + [oplog.entry("0", "now", by, made[:2])]
    table = change_table(list(enumerate(found)), (), {}, 0.0, width=0)
    assert [row.split("  ")[2] for row in plain_lines(table)] == [
        "creates artifacts/a",
        "overwrites artifacts/a",
        "removes artifacts/a",
        "writes artifacts/a",
        "creates artifacts/a, overwrites artifacts/a",
    ]


@pytest.mark.parametrize("words", [["-n", "-3"], ["-n-3"], ["--number", "-3"]])
def test_negative_number_is_refused_as_a_number(
    capsys: pytest.CaptureFixture[str], project: Project, words: list[str]
) -> None:
    """A negative number is read as the value of the option, and refused."""
    assert log(capsys, project, *words) == (2, "", "nexus-mcp: --number needs a number from 1, not '-3'.\n")


def test_link_in_place_of_the_log_is_not_followed(
    capsys: pytest.CaptureFixture[str], project: Project, clock: Clock
) -> None:
    """A link in the log's place is not followed."""
    some_changes(project, clock)
    (project.state / "oplog.jsonl").rename(project.root / "secret")
    (project.state / "oplog.jsonl").symlink_to(project.root / "secret")
    code, out, err = log(capsys, project)
    assert (code, out) == (1, "")
    assert ".nexus/state/oplog.jsonl is a symbolic link where a file belongs" in err


def test_too_wide_cell_widens_no_other_line(capsys: pytest.CaptureFixture[str], project: Project, clock: Clock) -> None:
    """In a pipe a text of any length is whole, and widens no other line."""
    some_changes(project, clock)
    wide = json.dumps({**entries(project.root)[0], "what": "w" * 300_000}).encode()
    project.put(LOG, wide + b"\n" + project.get(LOG))
    lines = log(capsys, project)[1].splitlines()
    assert "w" * 300_000 in lines[0]
    assert max(map(len, lines[1:])) < 150


def test_unreadable_task_list_hides_titles_only(
    capsys: pytest.CaptureFixture[str], project: Project, clock: Clock
) -> None:
    """A corrupt tasks.json takes the titles of the log, not the log."""
    some_changes(project, clock)
    project.put("state/tasks.json", "{")
    code, out, err = log(capsys, project)
    assert (code, err, len(out.splitlines())) == (0, "", 7)
    assert "Storage" not in out


@pytest.mark.parametrize("number", ["9999999", "10000", "9" * 5000, "007"])
def test_number_above_the_total_shows_all_changes(
    capsys: pytest.CaptureFixture[str], project: Project, clock: Clock, number: str
) -> None:
    """Any number above the total shows all changes."""
    some_changes(project, clock)
    assert log(capsys, project, "-n", number) == log(capsys, project)


@pytest.mark.parametrize(
    ("broken", "next_step"),
    [
        ("history.json", "Run nexus-mcp history repair --dry-run"),
        ("state/tasks.json", "Look at .nexus/state/tasks.json, repair it"),
    ],
)
def test_a_file_without_its_titles_is_named_once(
    capsys: pytest.CaptureFixture[str], project: Project, clock: Clock, broken: str, next_step: str
) -> None:
    """Titles of the other files stay, and one line names the file that cannot be read, with the next step."""
    some_changes(project, clock)
    project.put(broken, '{"secret')
    code, out, err = log(capsys, project)
    assert (code, err) == (0, "")
    assert "creates artifacts/notes/ä.md" in out
    assert ("plan 1: Topic" in out) == (broken != "history.json")
    assert out.splitlines()[-1].startswith(f"Titles are missing: .nexus/{broken} (line 1, column ")
    assert next_step in out
    assert out.count("Titles are missing") == 1
    assert "secret" not in out


def test_undo_names_a_file_without_its_titles(
    capsys: pytest.CaptureFixture[str], project: Project, clock: Clock
) -> None:
    """A preview of undo says which file lacks the titles; no file is read for changes that it cannot take back."""
    some_changes(project, clock)
    words = ["undo", "2", "--dry-run", "--project", str(project.root)]
    project.put("history.json", '{"secret')
    code = main(words)
    out = capsys.readouterr().out
    assert (code, "adds task 1: Do it" in out, "Titles are missing" in out) == (0, True, False)
    project.put("state/plan.json", '{"secret')
    code = main(words)
    out = capsys.readouterr().out
    assert (code, "adds task 1: Do it" in out) == (0, True)
    assert out.count("Titles are missing: .nexus/state/plan.json (line 1, column ") == 1
