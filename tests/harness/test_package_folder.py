"""How `nexus-mcp package` writes a folder: what is replaced, refused, kept and deleted."""

from __future__ import annotations

import json
import os
import signal
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.cli import main
from nexus_mcp.harness import marks
from nexus_mcp.harness.packages import writing
from nexus_mcp.store import atomic
from nexus_mcp.store.folder import Folder
from tests.harness.packages import package, plugin, tree


def two_hours_later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 7200)


def test_a_folder_of_ours_is_replaced_as_a_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another call changes the files, and removes those that the package no longer has."""
    assert package("claude", tmp_path / "p") == 0
    extra = tmp_path / "p" / "plugins/nexus/agents/gone.md"
    extra.write_text("x")
    record = tmp_path / "p" / writing.PACKAGE.record
    value = json.loads(record.read_text())
    value["files"]["plugins/nexus/agents/gone.md"] = marks.digest(b"x")
    record.write_text(json.dumps(value))
    assert package("claude", tmp_path / "p", "--gate", "off") == 0
    assert "updated" in capsys.readouterr().out
    assert not extra.exists()
    assert package("claude", tmp_path / "q", "--gate", "off") == 0
    assert tree(tmp_path / "p") == tree(tmp_path / "q")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (lambda root: (root / ".mcp.json").write_text("{}"), ".mcp.json was edited by hand."),
        (lambda root: (root / "mine.md").write_text("x"), "mine.md was added."),
        (lambda root: (root / "README.md").unlink(), "README.md was deleted."),
        (lambda root: (root / "link").symlink_to("/"), "link was added."),
    ],
)
def test_edit_by_hand_stops_packaging(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], edit: Any, problem: str
) -> None:
    """An edited file gives exit code 3 and its name, and nothing changes."""
    assert package("claude", tmp_path / "p") == 0
    edit(plugin(tmp_path / "p"))
    before = tree(tmp_path / "p")
    assert package("claude", tmp_path / "p", "--gate", "off") == 3
    error = capsys.readouterr().err
    assert problem in error
    assert "Nothing was changed." in error
    assert tree(tmp_path / "p") == before


def _other_package(path: Path) -> None:
    assert package("codex", path) == 0


def _folder_with_file(path: Path) -> None:
    path.mkdir()
    (path / "mine").write_text("x")


def _folder_with_record(path: Path) -> None:
    path.mkdir()
    (path / writing.PACKAGE.record).write_text('{"files": [], "package": 1}')


def _read_only(path: Path) -> None:
    path.mkdir(mode=0o500)


def _working_folder(path: Path) -> None:
    (path / "below").mkdir(parents=True)
    os.chdir(path / "below")


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: path.write_text("x"), "is no folder"),
        (os.mkfifo, "is no folder"),
        (_folder_with_file, "is not empty, and is no package of nexus-mcp"),
        (_folder_with_record, "is not empty, and is no package of nexus-mcp"),
        (_other_package, "has the package codex"),
        (_read_only, "is read-only"),
        (_working_folder, "is the folder you are in"),
    ],
)
def test_a_place_that_cannot_be_used_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, make: Any, problem: str
) -> None:
    """An unusable folder gives one sentence with the next step and exit code 1, and no byte changes."""
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "p")
    before = tree(tmp_path)
    capsys.readouterr()
    assert package("claude", tmp_path / "p") == 1
    error = capsys.readouterr().err.splitlines()
    assert problem in error[0]
    assert error[1:] == ["nexus-mcp: Nothing was changed."]
    assert tree(tmp_path) == before


def test_a_missing_parent_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing parent folder is named and not made, because its name may be mistyped."""
    assert package("claude", tmp_path / "a" / "b") == 1
    assert f"{tmp_path / 'a'} does not exist." in capsys.readouterr().err
    assert tree(tmp_path) == {"away": None, "home": None}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("package",), "needs an argument PACKAGE"),
        (("package", "claude"), "needs --out DIR"),
        (("package", "claude", "--out", ""), "needs --out DIR"),
        (("package", "claude", "--out", "a\0b"), "--out names no folder"),
        (("package", "opencode", "--out", "x"), "has no PACKAGE 'opencode'"),
        (("package", "mcpb", "--out", "x", "--gate", "off"), "--gate means nothing for mcpb"),
        (("package", "claude", "--out", "x", "--command", "./nexus-mcp"), "an absolute path, not './nexus-mcp'"),
        (("package", "claude", "--out", "x", "--command", "a\nb"), "an absolute path, not 'a\\nb'"),
        (("package", "claude", "--out", "x", "--tool-prefix", "9"), "The tool prefix '9' is not usable"),
    ],
)
def test_a_wrong_command_line_is_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], problem: str
) -> None:
    """A wrong command line gives exit code 2, and no folder is made."""
    assert main(list(words)) == 2
    assert problem in capsys.readouterr().err
    assert tree(Path.cwd()) == {}


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
@pytest.mark.parametrize("function", ["fsync", "mkdir", "replace"])
@pytest.mark.parametrize("is_there", [False, True], ids=["new", "replaced"])
def test_an_interruption_leaves_the_old_or_the_new_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, function: str, is_there: bool
) -> None:
    """After an interruption at any file only the old folder or the whole new one exists."""
    folder, other = tmp_path / "p", tmp_path / "q"
    assert package("claude", other, "--gate", "off") == 0
    after = tree(other)
    if is_there:
        assert package("claude", folder) == 0
        monkeypatch.setattr(atomic, "exchange", lambda *_: False)  # so that replace is called
    before = tree(folder)
    beside = sorted(path.name for path in tmp_path.iterdir())
    real = getattr(os, function)
    for number in range(30):
        calls: list[int] = []

        def fails(*arguments: Any, _number: int = number, _calls: list[int] = calls, **more: Any) -> Any:
            _calls.append(1)
            if len(_calls) == _number + 1:
                raise error
            return real(*arguments, **more)

        monkeypatch.setattr(os, function, fails)
        code = package("claude", folder, "--gate", "off")
        monkeypatch.setattr(os, function, real)
        if code == 0:
            break
        assert tree(folder) in (before, after)
        assert {path.name for path in tmp_path.iterdir()} - {"p"} == {*beside} - {"p"}
    assert code == 0
    assert tree(folder) == after


def test_signals_wait_until_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C after the first file takes effect when the folder is finished."""
    fill = writing._fill

    def interrupted(folder: str, files_: Any) -> None:
        signal.raise_signal(signal.SIGINT)  # to this thread: the command has no other
        fill(folder, files_)

    monkeypatch.setattr(writing, "_fill", interrupted)
    assert package("claude", tmp_path / "p") == 130
    monkeypatch.undo()
    assert package("claude", tmp_path / "p") == 0
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_file_saved_meanwhile_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file saved into the old folder while the new one is written stays, and the call is refused."""
    assert package("claude", tmp_path / "p") == 0
    fill = writing._fill

    def slow(folder: str, files_: Any) -> None:
        fill(folder, files_)
        (tmp_path / "p" / "mine").write_text("x")

    monkeypatch.setattr(writing, "_fill", slow)
    assert package("claude", tmp_path / "p", "--gate", "off") == 1
    assert "was changed meanwhile" in capsys.readouterr().err
    assert (tmp_path / "p" / "mine").read_text() == "x"


@pytest.mark.parametrize("is_exchanged", [True, False])
def test_an_old_folder_that_cannot_be_put_back_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_exchanged: bool
) -> None:
    """The error names the folder with the user's files."""
    assert package("claude", tmp_path / "p") == 0
    fill, exchange = writing._fill, writing._exchange
    calls: list[str] = []

    def slow(folder: str, files_: Any) -> None:
        fill(folder, files_)
        (tmp_path / "p" / "mine").write_text("x")

    def fails_later(folder: Any, new: str, name: str, aside: str) -> None:
        calls.append(new)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        exchange(folder, new, name, aside)

    if not is_exchanged:
        monkeypatch.setattr(atomic, "exchange", lambda *_: False)
    monkeypatch.setattr(writing, "_fill", slow)
    monkeypatch.setattr(writing, "_exchange", fails_later)
    assert package("claude", tmp_path / "p", "--gate", "off") == 1
    (kept,) = tmp_path.glob(".*-old")
    assert f"Its files are in {kept}" in capsys.readouterr().err
    assert (kept / "mine").read_text() == "x"
    monkeypatch.undo()
    two_hours_later(monkeypatch)
    assert package("claude", tmp_path / "q") == 0
    assert (kept / "mine").read_text() == "x"


@pytest.mark.parametrize("is_exchanged", [True, False])
def test_a_rename_that_cannot_be_taken_back_loses_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_exchanged: bool
) -> None:
    """After the first change of names each further one fails: the old folder stays, and the error names it."""
    assert package("claude", tmp_path / "p") == 0
    before, exchange, rename = tree(tmp_path / "p"), atomic.exchange, Folder.rename
    calls: list[str] = []

    def first(real: Any, *words: Any, **more: Any) -> Any:
        calls.append("")
        if len(calls) > 1:
            raise OSError(5, "Input/output error")
        return real(*words, **more)

    monkeypatch.setattr(atomic, "exchange", lambda *words: is_exchanged and first(exchange, *words))
    monkeypatch.setattr(Folder, "rename", lambda *words, **more: first(rename, *words, **more))
    assert package("claude", tmp_path / "p", "--gate", "off") == 1
    (kept,) = (path for path in tmp_path.iterdir() if path.name.startswith(atomic.PREFIX))
    assert tree(kept) == before
    error = capsys.readouterr().err
    assert f"Its files are in {kept}: move them back." in error
    assert "Nothing was changed" not in error


def test_a_folder_moved_away_by_a_killed_command_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour later the next command deletes it if it is a package without changes."""
    same, edited = (tmp_path / f"{atomic.PREFIX}{char * 16}-old" for char in "ab")
    for folder in (same, edited):
        assert package("claude", tmp_path / "p") == 0
        (tmp_path / "p").rename(folder)
    (edited / "mine").write_text("x")
    assert package("claude", tmp_path / "q") == 0
    assert same.exists()
    two_hours_later(monkeypatch)
    assert package("claude", tmp_path / "r") == 0
    assert not same.exists()
    assert edited.exists()


def test_an_old_folder_that_was_deleted_in_part_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command was killed while it deleted the folder: what is left has the hashes of its record."""
    left = tmp_path / f"{atomic.PREFIX}{'a' * 16}-old"
    assert package("claude", tmp_path / "p") == 0
    (tmp_path / "p").rename(left)
    next(left.rglob("*.md")).unlink()
    two_hours_later(monkeypatch)
    assert package("claude", tmp_path / "q") == 0
    assert not left.exists()


def test_an_unreadable_folder_in_a_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files in a folder that cannot be listed may be a user's own."""
    assert package("claude", tmp_path / "p") == 0
    inner = tmp_path / "p" / "inner"
    inner.mkdir()
    scandir = os.scandir

    def refuses(path: Any) -> Any:
        if os.fspath(path) == str(inner):
            raise PermissionError(13, "Permission denied", str(inner))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuses)
    assert package("claude", tmp_path / "p", "--gate", "off") == 1
    assert inner.exists()


def test_files_have_usual_permissions(tmp_path: Path) -> None:
    """Other users can read every file of a package."""
    before = os.umask(0o022)
    try:
        assert package("claude", tmp_path / "p") == 0
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in [tmp_path / "p", *(tmp_path / "p").rglob("*")]}
    assert modes == {0o755, 0o644}


def test_a_link_to_a_folder_is_followed(tmp_path: Path) -> None:
    """The folder behind the link is replaced, and the link stays."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert package("claude", tmp_path / "link") == 0
    assert (tmp_path / "link").is_symlink()
    assert plugin(tmp_path / "real").is_dir()
