"""The part `status-line`: `nexus-mcp status --line` in the settings of Claude Code."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.cli import main
from tests.support import Project

SETTINGS = ".claude/settings.json"
FOREIGN = b'{\n\t"env": {"A": "1"}, // mine\n\t"statusLine": {"type": "command", "command": "other"}\n}'
OTHERS = b'{\r\n  "model": "opus", // mine\r\n  "env": {"A": "1"},\r\n}'


@pytest.fixture
def at(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project, as the working directory."""
    monkeypatch.chdir(project.root)
    return project.root


def install(*words: str) -> int:
    return main(["install", "claude-code", *words])


def status_line(root: Path) -> Any:
    return json.loads((root / SETTINGS).read_text()).get("statusLine")


def put(root: Path, name: str, data: bytes) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_bytes(data)


def test_the_status_line_is_a_part_of_its_own(at: Path) -> None:
    """It is installed only when it is named; its command prints the line, whatever stands on stdin."""
    assert install() == 0
    assert status_line(at) is None
    assert install("--with", "status-line") == 0
    value = status_line(at)
    assert (value["type"], value["refreshInterval"]) == ("command", 5)
    words = shlex.split(value["command"])
    assert words[-2:] == ["status", "--line"]
    done = subprocess.run(words, cwd=at, input='{"model": ', capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "no plan\n", "")


def test_uninstall_takes_the_status_line_out_and_restores_the_bytes(at: Path) -> None:
    """The file has the bytes from before, with its comments and line ends."""
    put(at, SETTINGS, OTHERS)
    assert install("--with", "status-line") == 0
    assert b'"statusLine"' in (at / SETTINGS).read_bytes()
    assert main(["uninstall", "claude-code"]) == 0
    assert (at / SETTINGS).read_bytes() == OTHERS


def test_a_later_installation_keeps_the_status_line(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An installation that names no parts also updates an installed status line; --check reports it when it is gone."""
    assert install("--with", "status-line,server") == 0
    assert install() == 0
    assert status_line(at) is not None
    capsys.readouterr()
    assert install("--check") == 0
    found = json.loads((at / SETTINGS).read_text())
    del found["statusLine"]
    (at / SETTINGS).write_text(json.dumps(found))
    assert install("--check") == 1
    assert "status-line" in capsys.readouterr().out


def test_a_foreign_status_line_stays(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another program's status line is refused, and nothing is changed; after --force uninstall restores it."""
    put(at, SETTINGS, FOREIGN)
    assert install("--with", "status-line") == 1
    assert capsys.readouterr().err.splitlines() == [
        f"nexus-mcp: statusLine in {SETTINGS} is another program's. Remove it first, or add --force to replace it; "
        "uninstall brings it back.",
        "nexus-mcp: Nothing was changed.",
    ]
    assert (at / SETTINGS).read_bytes() == FOREIGN
    assert install("--with", "status-line", "--force") == 0
    assert main(["uninstall", "claude-code"]) == 0
    assert (at / SETTINGS).read_bytes() == FOREIGN


def test_an_edited_status_line_is_reported(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A status line that a user edited after the installation is kept; the exit code is 3."""
    assert install("--with", "status-line") == 0
    text = (at / SETTINGS).read_text().replace("status --line", "status --line --project x")
    (at / SETTINGS).write_text(text)
    capsys.readouterr()
    assert install("--with", "status-line") == 3
    assert "statusLine in .claude/settings.json was edited by hand." in capsys.readouterr().err
    assert (at / SETTINGS).read_text() == text


def test_dry_run_and_list_know_the_status_line(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--dry-run shows the entry and writes nothing; --list names the part."""
    assert install("--with", "status-line", "--dry-run") == 0
    assert '"statusLine"' in capsys.readouterr().out
    assert not (at / SETTINGS).exists()
    assert install("--with", "status-line") == 0
    capsys.readouterr()
    assert main(["install", "--list", "--json", "claude-code"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["harnesses"]
    assert found["scopes"]["project"]["parts"] == ["status-line"]
    assert found["scopes"]["project"]["notices"] == []


def test_a_missing_command_is_noticed(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--check names a program of the status line that does not exist."""
    assert install("--with", "status-line", "--command", "/gone/nexus-mcp", "--force") == 0
    capsys.readouterr()
    assert install("--with", "status-line", "--check") == 1
    assert "starts /gone/nexus-mcp, which is not there" in capsys.readouterr().out


def test_a_hidden_status_line_of_the_user_is_named(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The next steps say when the project's status line takes the place of the user's own."""
    put(Path.home(), SETTINGS, FOREIGN)
    assert install("--with", "status-line") == 0
    assert "has a status line of its own" in " ".join(capsys.readouterr().out.split())
    put(at, ".claude/settings.local.json", FOREIGN)
    assert main(["install", "--list", "claude-code"]) == 0
    assert ".claude/settings.local.json has another status line" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["codex", "opencode"])
def test_other_harnesses_refuse_the_part(at: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Without a setting for a status line, naming the part is a usage error."""
    assert main(["install", name, "--with", "status-line"]) == 2
    assert "status-line is not offered for" in capsys.readouterr().err


def test_only_a_status_line_ends_with_what_it_shows(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without server, hooks and skills the client knows no tag, so the next step is not to type one."""
    assert install("--with", "status-line") == 0
    out = " ".join(capsys.readouterr().out.partition("Next:")[2].split())
    assert "shows plan and tasks in its status line" in out
    assert "[plan]" not in out
