"""Something else in the place of a file that is only read, or of our own folder: no command waits, none leaves the
project.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nexus_mcp.harness.plain_read import read_plain
from tests.forks import forked
from tests.harness.test_install import put, run, tree
from tests.support import Project

SECONDS = 60.0


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [pipe, device])
@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("claude-code", ".mcp.json"),
        ("claude-code", ".claude/settings.json"),
        ("claude-code", ".claude/settings.local.json"),
        ("claude-code", "home/.claude/settings.json"),
        ("claude-code", ".nexus/state/install/claude-code/before.json"),
        ("codex", "home/.codex/config.toml"),
        ("codex", ".codex/hooks.json"),
        ("opencode", "opencode.json"),
        ("opencode", ".nexus/opencode/nexus.js"),
    ],
)
def test_no_command_waits_for_a_file_that_never_ends(
    project: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    name: str,
    place: str,
    make: Callable[[Path], None],
) -> None:
    """Each command ends, also with a FIFO that nobody writes to, and with a device in the place of a file."""
    monkeypatch.chdir(project.root)
    assert run("install", name) == 0
    path = Path(os.environ["HOME"]).parent / place if place.startswith("home/") else project.root / place
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    commands = [["install", "--list"], ["install", name, "--check"], ["install", name], ["uninstall", name]]
    codes = dict(forked([0, 1, 2, 3], lambda number: run(*commands[number]), SECONDS))
    assert codes[0] == 0
    assert set(codes.values()) <= {0, 1, 3}


@pytest.mark.parametrize("event", ["PreToolUse", "SessionStart"])
@pytest.mark.parametrize(
    ("harness", "place"), [("claude-code", ".claude/settings.json"), ("codex", ".codex/hooks.json")]
)
def test_hook_of_a_plugin_waits_for_no_file(project: Project, harness: str, place: str, event: str) -> None:
    """A FIFO in the place of a file with hooks has no hooks."""
    from nexus_mcp.harness.second_hook import is_answered

    put(project.root, {place: b""})
    (project.root / place).unlink()
    os.mkfifo(project.root / place)
    found = forked([0], lambda _: int(is_answered(harness, event, str(project.root), {})), SECONDS)
    assert list(found) == [(0, 0)]


@pytest.mark.parametrize("link", ["install", "install/claude-code", "install/edited"])
def test_link_in_place_of_the_stored_bytes_is_refused(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], link: str
) -> None:
    """A cloned project may hold such a link: nothing is stored or deleted behind it."""
    monkeypatch.chdir(project.root)
    far = tmp_path / "far"
    put(far, {"claude-code/work.txt": b"work", ".gitignore": b"mine", "work.txt": b"work"})
    put(project.root, {".mcp.json": b'{"mcpServers": {"nexus": {"command": "mine"}}}'})
    place = project.state / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(far)
    before = tree(far), (project.root / ".mcp.json").read_bytes()
    assert run("install", "claude-code", "--force") == 1
    assert "is no folder of nexus-mcp. Move it away." in capsys.readouterr().err
    assert (tree(far), (project.root / ".mcp.json").read_bytes()) == before
    assert run("uninstall", "claude-code") in (0, 1)
    assert tree(far) == before[0]


def test_pipe_in_place_of_a_folder_of_stored_bytes_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A FIFO where the folder of a harness belongs is refused, with the next step; nothing waits for it."""
    monkeypatch.chdir(project.root)
    (project.state / "install").mkdir(parents=True)
    os.mkfifo(project.state / "install" / "codex")
    assert list(forked([0], lambda _: run("install", "codex"), SECONDS)) == [(0, 1)]
    assert run("install", "codex") == 1
    assert "Move it away." in capsys.readouterr().err


def test_plain_file_is_read_up_to_a_limit(tmp_path: Path) -> None:
    """No more than the limit is read."""
    (tmp_path / "a").write_bytes(b"x" * 100)
    assert read_plain(str(tmp_path / "a"), 60) == b"x" * 60
    assert read_plain(str(tmp_path / "a")) == b"x" * 100
