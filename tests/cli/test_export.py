"""`nexus-mcp export md`: Markdown files that link to each other, written as a whole."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from nexus_mcp.harness.packages import writing
from tests.cli import example_history
from tests.cli.support import COMMAND, environment
from tests.cli.test_history_views import Capture, run, run_json
from tests.rendering.support import HOSTILE
from tests.support import Project

FILES = ["README.md", "decisions.md", "history-2026-11.md", "history.md", "plan.md", "tasks.md"]


@pytest.fixture
def example(project: Project) -> Project:
    example_history.write(project.root)
    return project


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "out"


def _export(project: Project, capsys: Capture, folder: Path) -> tuple[int, str, str]:
    return run(project, capsys, "export", "md", str(folder))


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_export_has_its_files_and_a_record(example: Project, capsys: Capture, folder: Path) -> None:
    """A new folder has the files and the record; without changes a second export writes nothing."""
    code, out, err = _export(example, capsys, folder)
    assert (code, err) == (0, "")
    assert out.startswith(f"{folder}: written, 6 files, ")
    assert sorted(_files(folder)) == [writing.EXPORT.record, *FILES]
    before = {path: path.stat().st_ino for path in folder.iterdir()}
    _, out, _ = _export(example, capsys, folder)
    assert out.startswith(f"{folder}: unchanged, ")
    assert {path: path.stat().st_ino for path in folder.iterdir()} == before


def test_a_change_updates_the_folder(example: Project, capsys: Capture, folder: Path) -> None:
    """A later export replaces its own files, and removes those that it no longer has."""
    _export(example, capsys, folder)
    (example.nexus / "state" / "plan.json").unlink()
    view = run_json(example, capsys, "export", "export", "md", str(folder))
    assert (view["result"], view["files"]) == ("updated", [name for name in FILES if name != "plan.md"])
    assert not (folder / "plan.md").exists()
    assert "No plan is open" in (folder / "README.md").read_text(encoding="utf-8")


def test_a_folder_without_a_project_is_not_exported(tmp_path: Path, capsys: Capture, folder: Path) -> None:
    """Without .nexus the command refuses with the next step, and writes nothing; with an empty .nexus it exports."""
    project = Project(tmp_path / "p")
    project.root.mkdir()
    code, out, err = _export(project, capsys, folder)
    assert (code, out) == (1, "")
    assert err == (
        f"nexus-mcp: There is nothing to export: {project.root} has no folder .nexus. "
        "Name the project with --project, or start it with nexus-mcp init.\n"
    )
    assert (folder.exists(), project.nexus.exists()) == (False, False)
    project.nexus.mkdir()
    assert _export(project, capsys, folder)[0] == 0


def test_every_link_has_its_anchor(example: Project, capsys: Capture, folder: Path) -> None:
    """Each link of each file leads to a file of the export and to an anchor in it; no anchor occurs twice."""
    _export(example, capsys, folder)
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    anchors = {name: re.findall(r'<a id="([^"]+)"></a>', text) for name, text in texts.items()}
    assert all(len(found) == len(set(found)) for found in anchors.values())
    links = [(name, *link) for name, text in texts.items() for link in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", text)]
    assert len(links) > 30
    for name, file, anchor in links:
        assert (file or name) in texts, (name, file)
        assert not anchor or anchor in anchors[file or name], (name, file, anchor)


def test_decision_cycle_and_task_lead_to_each_other(example: Project, capsys: Capture, folder: Path) -> None:
    """A decision links to its cycle and tasks, a task to its question, an open question to its tasks."""
    _export(example, capsys, folder)
    decisions = (folder / "decisions.md").read_text(encoding="utf-8")
    assert (
        "[cycle 2: Links survive a restart](history-2026-11.md#cycle-2), [task 1](history-2026-11.md#cycle-2-task-1)"
        in decisions
    )
    assert "[open plan](plan.md#question-1), [task 1](tasks.md#task-1)" in decisions
    history = (folder / "history-2026-11.md").read_text(encoding="utf-8")
    assert "Carried out by [task 1](#cycle-2-task-1)" in history
    assert "for [question 1](#cycle-2-question-1)" in history
    assert "- [task 1: Agree on the notes](tasks.md#task-1)" in (folder / "plan.md").read_text(encoding="utf-8")
    tasks = (folder / "tasks.md").read_text(encoding="utf-8")
    assert "- For question [1: Which date?](plan.md#question-1)" in tasks
    assert "- After: [3](#task-3), [4](#task-4)" in tasks
    assert "```mermaid\nflowchart LR\n" in tasks


def test_hostile_text_is_text_in_every_file(example: Project, capsys: Capture, folder: Path) -> None:
    """Stored text adds no HTML, script, image, heading or link to any file."""
    _export(example, capsys, folder)
    clean = {path.name: _shape(path) for path in folder.glob("*.md")}
    for text in HOSTILE:
        cycles = [
            _with_texts(cycle, text)
            for cycle in (example_history.GRAMMAR, example_history.LINKS, example_history.STORAGE)
        ]
        example.put("history.json", {"cycles": cycles})
        example.put("state/plan.json", _with_texts(example_history.PLAN, text))
        tasks = [_with_texts(task, text) for task in example_history.TASKS]
        example.put("state/tasks.json", {"goal": text, "decisions": [text], "tasks": tasks})
        assert _export(example, capsys, folder)[0] == 0
        found = {path.name: _shape(path) for path in folder.glob("*.md")}
        assert found == clean


def _with_texts(value: object, text: str) -> object:
    """`value` with another text in place of each title, decision and so on."""
    if isinstance(value, dict):
        fixed = ("status", "created_at", "completed_at", "schema_version")
        return {key: one if key in fixed else _with_texts(one, text) for key, one in value.items()}
    if isinstance(value, list):
        return [_with_texts(one, text) for one in value]
    return text if isinstance(value, str) and value else value


def _shape(path: Path) -> tuple[int, int, set[str]]:
    """The numbers of headings and links of a file, and its HTML without ids."""
    parsed = MarkdownIt("commonmark", {"html": True}).enable("table").parse(path.read_text(encoding="utf-8"))
    every = [child for token in parsed for child in (token, *(token.children or ()))]
    kinds = [token.type for token in every]
    html = {re.sub(r'id="[\w-]+"', "id", token.content.strip()) for token in every if token.type.startswith("html_")}
    assert "image" not in kinds
    return kinds.count("heading_open"), kinds.count("link_open"), html - {"<a id>", "</a>", "<a id></a>"}


def test_a_folder_with_other_files_is_refused(example: Project, capsys: Capture, folder: Path) -> None:
    """A folder that is not an export is named and stays as it is."""
    folder.mkdir()
    (folder / "README.md").write_text("mine", encoding="utf-8")
    code, out, err = _export(example, capsys, folder)
    assert (code, out) == (1, "")
    assert "is not empty, and is no export of nexus-mcp. Name a folder that is empty or new." in err
    assert _files(folder) == {"README.md": b"mine"}


@pytest.mark.parametrize("change", ["edit", "add", "delete"])
def test_a_changed_export_is_kept(example: Project, capsys: Capture, folder: Path, change: str) -> None:
    """Files that a user edited, added or deleted are named, with exit code 3, and nothing changes."""
    _export(example, capsys, folder)
    if change == "edit":
        (folder / "plan.md").write_text("mine", encoding="utf-8")
    elif change == "add":
        (folder / "mine.md").write_text("mine", encoding="utf-8")
    else:
        (folder / "plan.md").unlink()
    before = _files(folder)
    (example.nexus / "state" / "tasks.json").unlink()
    code, out, err = _export(example, capsys, folder)
    assert (code, out) == (3, "")
    assert ("mine.md" if change == "add" else "plan.md") in err
    assert _files(folder) == before


def test_a_place_that_cannot_be_a_folder_is_named(example: Project, capsys: Capture, tmp_path: Path) -> None:
    """A file, a missing parent, a read-only parent and no name at all are refused in a line with the next step."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for place, told in (
        (tmp_path / "file", "is no folder. Name one that is empty or new."),
        (tmp_path / "no" / "out", "does not exist. Make that folder first."),
        (Path("/proc/out"), "cannot be written: "),
    ):
        code, out, err = _export(example, capsys, place)
        assert (code, out) == (1, "")
        assert told in err
    code, _, err = run(example, capsys, "export", "md", "")
    assert (code, err) == (2, "nexus-mcp: DIR names no folder. Example: nexus-mcp export md nexus-export\n")


def test_the_default_folder_is_below_the_working_directory(
    example: Project, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without DIR the folder is nexus-export."""
    monkeypatch.chdir(tmp_path)
    _, out, _ = run(example, capsys, "export", "md")
    assert out.startswith("nexus-export: written, ")
    assert (tmp_path / "nexus-export" / "README.md").exists()


def test_a_kill_leaves_the_old_files_or_the_new_ones(example: Project, capsys: Capture, folder: Path) -> None:
    """Killed at any of its calls of the file system, an export leaves one of both states of the folder."""
    _export(example, capsys, folder)
    old = _files(folder)
    (example.nexus / "state" / "plan.json").unlink()
    trial = folder.parent / "trial"
    _export(example, capsys, trial)
    new = _files(trial)
    outcomes = set()
    for calls in range(1, 60):
        code = (
            "import os, sys, signal\n"
            f"left = [{calls}]\n"
            "def counted(real):\n"
            "    def call(*args, **more):\n"
            "        left[0] -= 1\n"
            "        if not left[0]:\n"
            "            os.kill(os.getpid(), signal.SIGKILL)\n"
            "        return real(*args, **more)\n"
            "    return call\n"
            "from nexus_mcp.harness.packages import writing\n"
            "from nexus_mcp.cli import main\n"
            "for name in ('mkdir', 'fsync', 'rename', 'rmdir', 'unlink'):\n"
            "    setattr(os, name, counted(getattr(os, name)))\n"
            "exchange = writing.atomic.exchange\n"
            "writing.atomic.exchange = counted(exchange)\n"
            "sys.exit(main(sys.argv[1:]))\n"
        )
        words = ["export", "md", str(folder), "--project", str(example.root)]
        done = subprocess.run([sys.executable, "-c", code, *words], env=environment(), capture_output=True, check=False)
        found = _files(folder)
        assert found in (old, new)
        outcomes.add(found == new)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        if found == new:
            break
    assert outcomes == {False, True}


def test_remains_of_a_killed_export_are_removed_later(
    example: Project, capsys: Capture, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unfinished folders of more than an hour ago go with the next export; younger ones, others, and an old folder that
    is no export without edits stay.
    """
    unfinished, edited = ".nexus-tmp-0123456789abcdef", ".nexus-tmp-fedcba9876543210-old"
    names = {unfinished, edited, ".nexus-tmp-young00000000000", "mine"}
    for name in names:
        (folder.parent / name).mkdir()
        (folder.parent / name / "README.md").write_text("x", encoding="utf-8")
    _export(example, capsys, folder)
    assert names <= {*os.listdir(folder.parent)}
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 7200)
    _export(example, capsys, folder.parent / "second")
    assert names & {*os.listdir(folder.parent)} == names - {unfinished}


def test_many_cycles_are_in_a_file_for_each_month(project: Project, capsys: Capture, folder: Path) -> None:
    """Cycles are in the file of their month, those without a date in one of their own."""
    times = ("2026-10-01T00:00:00.000Z", "2026-11-01T00:00:00.000Z", "soon", "../../x", 5)
    project.put("history.json", {"cycles": [{"completed_at": time, "plan": None, "tasks": []} for time in times]})
    _export(project, capsys, folder)
    assert sorted(path.name for path in folder.glob("history-*.md")) == [
        "history-2026-10.md",
        "history-2026-11.md",
        "history-undated.md",
    ]


def test_an_export_is_a_command_of_its_own() -> None:
    """The group needs the name of a format."""
    done = subprocess.run([*COMMAND, "export"], env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("nexus-mcp: nexus-mcp export needs a command; choose from md.")


@pytest.mark.parametrize("name", [".nexus/x", ".git/x", ".git", "a/../.nexus/x"])
def test_folders_of_nexus_mcp_and_git_are_refused(example: Project, capsys: Capture, name: str) -> None:
    """An export in .nexus or .git would mix with files that nexus-mcp and git own."""
    before = example.snapshot()
    code, out, err = run(example, capsys, "export", "md", f"{example.root}/{name}")
    assert (code, out) == (2, "")
    assert err.endswith("Name a folder beside it, such as nexus-export.\n")
    assert example.snapshot() == before
