"""`nexus-mcp verdict TASK FILE|-` stores what is a verdict, and says of anything else what it lacks."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nexus_mcp.cli import main
from tests.run.runs import GOOD
from tests.support import Project, task, tasks

PLACE = "state/artifacts/verdicts/1.json"


@pytest.fixture
def folder(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    project.put("state/tasks.json", tasks(task(1)))
    monkeypatch.chdir(project.root)
    return project.root


def test_a_verdict_is_stored(project: Project, folder: Path) -> None:
    """With the members that it has, and the defaults of the others; a later one replaces it."""
    (folder / "v.json").write_text(json.dumps({**GOOD, "evidence": [{"command": "make test", "output": "ok"}]}))
    assert main(["verdict", "1", "v.json"]) == 0
    kept = json.loads((project.nexus / PLACE).read_text())
    assert (kept["approved"], kept["evidence"][0]["command"]) == (True, "make test")
    (folder / "v.json").write_text(json.dumps({**GOOD, "approved": False}))
    assert main(["verdict", "1", "v.json"]) == 0
    assert json.loads((project.nexus / PLACE).read_text())["approved"] is False


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "Invalid JSON"),
        ("[]", "should be an object"),
        ('{"version": 1, "approved": true}', "tests: Field required"),
        ('{"version": 2, "approved": true, "tests": {"allPassing": true}}', "version: "),
        ('{"version": 1, "approved": "secret-text", "tests": {"allPassing": true}}', "approved: "),
        ("[" * 100_000, "no verdict"),
    ],
)
def test_any_other_file_is_refused(
    project: Project, folder: Path, capsys: pytest.CaptureFixture[str], text: str, sentence: str
) -> None:
    """Exit code 1, the member that is wrong, never its value; nothing is stored."""
    (folder / "v.json").write_text(text)
    assert main(["verdict", "1", "v.json"]) == 1
    err = capsys.readouterr().err
    assert sentence in err
    assert "secret-text" not in err
    assert not (project.nexus / PLACE).exists()


def test_fifty_megabytes_are_refused(project: Project, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are not read to their end."""
    with (folder / "v.json").open("wb") as file:
        file.truncate(50_000_000)
    assert main(["verdict", "1", "v.json"]) == 1
    assert "larger than the 1 MiB that are read" in capsys.readouterr().err
    assert not (project.nexus / PLACE).exists()


@pytest.mark.parametrize("words", [("9", "v.json"), ("one", "v.json"), ("1", "absent.json"), ("1", ".")])
def test_wrong_words_are_named(folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, str]) -> None:
    """An unknown task, a word that is no number, a file that is not there, a folder."""
    (folder / "v.json").write_text(json.dumps(GOOD))
    assert main(["verdict", *words]) in (1, 2)
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_pipe_is_read(project: Project, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` stands for stdin."""
    (folder / "v.json").write_text(json.dumps(GOOD))
    with (folder / "v.json").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        monkeypatch.setattr(os, "isatty", lambda _: False)
        assert main(["verdict", "1", "-"]) == 0
    assert (project.nexus / PLACE).exists()
