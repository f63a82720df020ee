"""An installation that is killed between two files: the next uninstall removes what was written."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.harness import HARNESSES, files
from nexus_mcp.store import atomic
from nexus_mcp.store.folder import Folder
from tests.forks import forked
from tests.harness.test_install import FOREIGN, put, run, tree
from tests.support import Project


def install_until(*words: str) -> Callable[[int], int]:
    """Return a function that installs, and kills its process before the file with a number."""
    write = files.write

    def install(number: int) -> int:
        done: list[Path] = []

        def killing(found: files.FoundFile, data: bytes | None) -> None:
            if len(done) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            write(found, data)
            done.append(Path(found.path))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "write", killing)
            return run("install", *words)

    return install


@pytest.mark.parametrize("words", [["uninstall"], ["install", "uninstall"]], ids=["at-once", "after-another"])
@pytest.mark.parametrize("name", tuple(HARNESSES))
def test_uninstall_after_a_kill_restores_the_bytes(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str, words: list[str]
) -> None:
    """After a kill behind 0, 1, 2, 3, 8 or 15 files, uninstall restores every file and folder."""
    monkeypatch.chdir(project.root)
    put(project.root, FOREIGN)
    before = tree(project.root)
    for number in (0, 1, 2, 3, 8, 15):
        assert list(forked([number], install_until(name), 60.0)) == [(number, None)]
        assert [run(word, name) for word in words] == [0] * len(words)
        assert tree(project.root) == before


@pytest.mark.parametrize("name", tuple(HARNESSES))
def test_uninstall_after_a_kill_of_an_update_restores_the_bytes(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """No file counts as edited by hand, whether it has the bytes of the old or of the new version, or of one before."""
    monkeypatch.chdir(project.root)
    put(project.root, FOREIGN)
    before = tree(project.root)
    for number in (1, 2, 3, 5, 8):
        assert run("install", name, "--tool-prefix", "old_") == 0
        for prefix in ("new_", "other_"):
            update = install_until(name, "--tool-prefix", prefix, "--gate", "block")
            assert list(forked([number], update, 60.0)) == [(number, None)]
        assert run("uninstall", name) == 0
        assert tree(project.root) == before


def test_uninstall_after_a_kill_gives_replaced_files_back(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file and an entry of the user that --force replaced are there again, wherever the kill was."""
    monkeypatch.chdir(project.root)
    entry = b'{"mcpServers": {"nexus": {"command": "mine"}}}'
    put(project.root, {".claude/agents/tester.md": b"mine", ".mcp.json": entry})
    before = tree(project.root)
    for number in (0, 1, 2, 3, 8, 11, 15):
        assert list(forked([number], install_until("claude-code", "--force"), 60.0)) == [(number, None)]
        assert run("uninstall", "claude-code") == 0
        assert tree(project.root) == before


def dying(*words: str) -> Callable[[int], int]:
    """Return a function that runs a command, and kills its process beside the temporary file with a number."""

    def command(number: int) -> int:
        calls: list[object] = []

        def counted(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any) -> Any:
                found = function(*arguments)
                calls.append(found)
                if len(calls) == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                return found

            return call

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(atomic, "prepare", counted(atomic.prepare))
            patch.setattr(atomic, "exchange", counted(atomic.exchange))
            patch.setattr(Folder, "rename", counted(Folder.rename))
            return run(*words)

    return command


@pytest.mark.parametrize("scope", ["project", "user"])
@pytest.mark.parametrize("name", tuple(HARNESSES))
def test_no_temporary_file_of_a_killed_installation_stays(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, scope: str
) -> None:
    """A kill beside a temporary file, in install or in uninstall, leaves nothing after the next uninstall."""
    monkeypatch.chdir(project.root)
    home = tmp_path / "home"
    put(project.root, FOREIGN)
    put(home, {".claude.json": b'{"token": "secret"}', ".codex/config.toml": FOREIGN[".codex/config.toml"]})
    before = tree(project.root), tree(home)
    end = ("uninstall", name, "--scope", scope)
    for number in (1, 2, 3, 4, 5, 9):
        for killed in (("install", *end[1:]), end):
            run("install", *end[1:])
            more = ["--tool-prefix", f"n{number}_"] if killed[0] == "install" else []
            assert list(forked([number], dying(*killed, *more), 60.0)) == [(number, None)]
            assert run(*end) == 0
            assert (tree(project.root), tree(home)) == before


def test_bytes_in_a_temporary_file_are_not_lost(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A temporary file may hold what another program saved at the moment of the kill: such bytes move to the vault."""
    monkeypatch.chdir(project.root)
    assert run("install", "claude-code") == 0
    left = project.root / ".claude/.nexus-tmp-0123456789abcdef"
    left.write_bytes(b'{"saved": "by another program"}')
    other = project.root / ".claude/.nexus-tmp-notes"
    other.write_bytes(b"mine")
    assert run("uninstall", "claude-code") == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  moved")]
    assert Path(line.split()[1].rstrip(":")).read_bytes() == b'{"saved": "by another program"}'
    assert not left.exists()
    assert other.exists()


def test_failed_installation_leaves_no_copies(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some files hold credentials: after a refusal the home folder has nothing new, not even a stored copy."""
    monkeypatch.chdir(project.root)
    home = tmp_path / "home"
    put(home, {".claude.json": b'{"token": "secret"}'})
    before = tree(home)

    def failing(found: files.FoundFile, data: bytes | None) -> None:
        raise files.Interference(found.path)

    with monkeypatch.context() as patch:
        patch.setattr(files, "write", failing)
        assert run("install", "claude-code", "--scope", "user") == 1
    assert "keeps changing" in capsys.readouterr().err
    assert tree(home) == before


def test_uninstall_deletes_the_copies_of_a_killed_installation(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill before the first file leaves stored bytes without a record; uninstall deletes them, too."""
    monkeypatch.chdir(project.root)
    home = tmp_path / "home"
    put(home, {".claude.json": b'{"token": "secret"}'})

    def install_and_die(_number: int) -> int:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "write", lambda _found, _data: os.kill(os.getpid(), signal.SIGKILL))
            return run("install", "claude-code", "--scope", "user")

    assert list(forked([1], install_and_die, 60.0)) == [(1, None)]
    assert list(home.rglob("before.json"))
    assert run("uninstall", "claude-code", "--scope", "user") == 0
    assert list(home.rglob("before.json")) == []
