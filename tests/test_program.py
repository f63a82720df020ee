"""The words that start this installation, and the command in texts."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nexus_mcp import program
from nexus_mcp.catalog.load import usable
from nexus_mcp.cli import COMMANDS
from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
from tests.events import handle
from tests.server.app_requests import Asker
from tests.support import Client, Project, task, tasks

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """An executable called nexus-mcp, in a folder with a blank in its name."""
    return made(tmp_path / "my tools")


def made(folder: Path) -> Path:
    folder.mkdir()
    path = folder / "nexus-mcp"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def running(monkeypatch: pytest.MonkeyPatch, script: Path, *path: Path | str) -> None:
    """As if the script ran, with this PATH."""
    monkeypatch.setattr(sys, "argv", [str(script)])
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, path)))


def test_running_script_is_named_by_its_absolute_path(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The running script is meant, by its absolute path."""
    monkeypatch.chdir(script.parent)
    monkeypatch.setattr(sys, "argv", ["./nexus-mcp"])
    assert program.own_command() == [str(script)]


def test_module_start_names_the_script_of_its_environment(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Started as a module, the script of the same environment is meant."""
    monkeypatch.setattr(sys, "argv", ["/x/nexus_mcp/__main__.py"])
    monkeypatch.setattr(sys, "executable", str(script.parent / "python"))
    assert program.own_command() == [str(script)]


def test_missing_script_falls_back_to_the_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any script it is the interpreter with the module."""
    python = str(tmp_path / "python")
    monkeypatch.setattr(sys, "argv", ["/x/nexus_mcp/__main__.py"])
    monkeypatch.setattr(sys, "executable", python)
    assert program.own_command() == [python, "-m", "nexus_mcp"]
    assert program.command("act") == f"{python} -m nexus_mcp act"


def test_program_outside_the_path_is_named_by_absolute_path(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that the PATH does not lead to is named by its absolute path, quoted for a shell."""
    running(monkeypatch, script, tmp_path, "/nowhere")
    assert program.command("doctor --json") == f"'{script}' doctor --json"
    monkeypatch.delenv("PATH")
    assert program.command("doctor") == f"'{script}' doctor"


def test_program_on_the_path_is_named_bare(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in a folder of the PATH is named by its bare name; also through a symbolic link, the way it is put
    there.
    """
    running(monkeypatch, script, tmp_path, script.parent)
    assert program.command("doctor") == "nexus-mcp doctor"
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "nexus-mcp").symlink_to(script)
    running(monkeypatch, script, folder)
    assert program.command("doctor") == "nexus-mcp doctor"


def test_another_one_is_first_on_the_path(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bare name is not used if it starts another installation; a file that is no program does not count."""
    other = made(tmp_path / "other")
    running(monkeypatch, script, other.parent, script.parent)
    assert program.command("doctor") == f"'{script}' doctor"
    other.chmod(0o644)
    assert program.command("doctor") == "nexus-mcp doctor"


def test_program_found_by_a_relative_path_is_named_absolutely(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is found only from this folder is named by its absolute path."""
    monkeypatch.chdir(script.parent)
    running(monkeypatch, script, "", script.parent)
    assert program.command("doctor") == f"'{script}' doctor"


def literals(path: Path) -> Iterator[str]:
    """The strings of a module that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    yield from (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    )


def test_no_text_for_an_agent_has_the_bare_name() -> None:
    """No text for an agent has a hard-coded command: neither in the modules that write it nor in the shipped texts."""
    bare = re.compile(rf"nexus-mcp (?:{'|'.join(COMMANDS)})\b")
    package = ROOT / "nexus_mcp"
    told = {
        str(path.relative_to(ROOT)): text
        for part in ("briefing", "catalog", "knowledge", "lifecycle", "server", "store", "tags", "tools", "errors.py")
        for path in ([package / part] if part.endswith(".py") else sorted((package / part).rglob("*.py")))
        for text in literals(path)
        if bare.search(text)
    }
    told.pop("nexus_mcp/tags/actions/notes_git.py")  # in the reflog of git, for people
    assert told == {}
    assets = [path for path in (ROOT / "assets").rglob("*.md") if bare.search(path.read_text(encoding="utf-8"))]
    assert assets == []


def test_no_text_points_at_a_file_that_is_not_there() -> None:
    """No text refers to pages or schemas, which an installation does not have."""
    told = {
        str(path.relative_to(ROOT)): text
        for path in sorted((ROOT / "nexus_mcp").rglob("*.py"))
        for text in literals(path)
        if re.search(r"docs/\w+\.md|schemas/\w+/", text)
    }
    assert told == {}


def test_texts_for_a_model_name_the_program_by_its_path(
    script: Path, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Off the PATH an error, a skill, a prompt and the outcome of a tag name the program by its path."""
    running(monkeypatch, script, "/nowhere")
    workspace = Workspace(str(project.root))
    app = App(workspace)
    ask = Asker(app)
    assert f"`'{script}' act` does it safely" in ask.prompt("m", text="retries need jitter")
    assert f"`'{script}' doctor` tells what" in ask.prompt("nx-run")
    hooked = handle("user_message", {"prompt": "[run]", "harness_id": "codex"}, workspace)
    assert "Begin with [plan]" in str(hooked["context"])
    project.put("state/tasks.json", tasks(task(1)))
    hooked = handle("user_message", {"prompt": "[run]", "harness_id": "codex"}, workspace)
    assert f"`'{script}' resume --harness-id codex <task-id>` answers with the mode" in str(hooked["context"])
    project.put("history.json", "<<<<<<< ours\n")
    refused = Client(app, project).error("task_close")
    assert f"Run '{script}' history repair --dry-run to see" in refused


def test_a_kept_catalog_names_no_program(script: Path, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cached faults of a project name the program of the reader, not of the process that found them."""
    project.put("capability-map.yml", "claude-code: [")
    (project.root / ".nexus/state").mkdir()
    assert usable(str(project.root)).warnings[0].endswith("nexus-mcp catalog check lists all faults.")
    running(monkeypatch, script, "/nowhere")
    (again,) = usable(str(project.root)).warnings
    assert again.endswith(f". '{script}' catalog check lists all faults.")
    assert again.count("catalog check") == 1
