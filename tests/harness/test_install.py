"""`nexus-mcp install` and `uninstall` in each harness and scope: files written, refusals and restored bytes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.cli import main
from nexus_mcp.harness import HARNESSES, files
from nexus_mcp.program import own_command
from tests.support import Project

NAMES = tuple(HARNESSES)
FOREIGN = {
    ".mcp.json": b'\xef\xbb\xbf{\r\n\t"mcpServers": {\r\n\t\t"x": {"command": "y"}, // mine\r\n\t},\r\n}',
    ".claude/settings.json": b'{"hooks": {"Stop": [{"hooks": []}]}, "env": {"A": "1"}}',
    ".codex/config.toml": b'# mine\r\nmodel = "m"\r\n[mcp_servers.x]\r\ncommand = "y" # c',
    ".codex/hooks.json": b"{}\n",
    "opencode.jsonc": b'{\n  // theme\n  "theme": "dark",\n  "plugin": ["a"],\n}\n',
}


def put(root: Path, files_: dict[str, bytes]) -> None:
    for name, data in files_.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def tree(root: Path) -> dict[str, bytes | None]:
    """Return path → bytes of each file, None for a folder, without .git and .nexus."""
    found: dict[str, bytes | None] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.split("/")[0] not in (".git", ".nexus"):
            found[name] = None if path.is_dir() else path.read_bytes()
    return found


def failing_write(
    calls: list[str], number: int, error: BaseException
) -> Callable[[files.FoundFile, bytes | None], None]:
    """Return a replacement of `files.write` that adds each path to `calls` and raises the error at call `number`."""
    write = files.write

    def failing(found: files.FoundFile, data: bytes | None) -> None:
        calls.append(found.path)
        if len(calls) == number + 1:
            raise error
        write(found, data)

    return failing


def run(*words: str) -> int:
    return main(list(words))


@pytest.fixture
def at(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the project, which is the working directory."""
    monkeypatch.chdir(project.root)
    return project.root


@pytest.mark.parametrize("scope", ["project", "user"])
@pytest.mark.parametrize("foreign", [{}, FOREIGN], ids=["nothing", "files"])
@pytest.mark.parametrize("name", NAMES)
def test_uninstall_restores_the_bytes(
    at: Path, tmp_path: Path, name: str, foreign: dict[str, bytes], scope: str
) -> None:
    """After two installations and an uninstall each file and folder has its old bytes."""
    home = tmp_path / "home"
    put(at, foreign)
    if scope == "user" and foreign:
        put(home, {".claude.json": FOREIGN[".mcp.json"], ".codex/config.toml": FOREIGN[".codex/config.toml"]})
    before = tree(at), tree(home)
    assert run("install", name, "--scope", scope) == 0
    middle = tree(at), tree(home)
    assert middle != before
    assert run("install", name, "--scope", scope) == 0
    assert (tree(at), tree(home)) == middle
    assert run("install", name, "--scope", scope, "--check") == 0
    assert run("uninstall", name, "--scope", scope) == 0
    assert (tree(at), tree(home)) == before


def test_entries_have_the_values_that_harnesses_read(at: Path) -> None:
    """Server, hooks and plugin are in the places in which each harness reads them."""
    for name in NAMES:
        assert run("install", name, "--gate", "block", "--tool-prefix", "nx_") == 0
    server = json.loads((at / ".mcp.json").read_text())["mcpServers"]["nexus"]
    assert server["args"] == ["serve", "--harness-id", "claude-code", "--tool-prefix", "nx_"]
    hooks = json.loads((at / ".claude/settings.json").read_text())["hooks"]
    line = hooks["PreToolUse"][0]["hooks"][0]["command"]
    assert line.endswith("hook --native claude-code --gate block --skills --mount mcp__nexus__nx_")
    codex = tomllib.loads((at / ".codex/config.toml").read_text())["mcp_servers"]["nexus"]
    assert codex["required"] is True
    assert codex["tools"]["nx_context"] == {"approval_mode": "approve"}
    opencode = json.loads((at / "opencode.json").read_text())
    assert opencode["plugin"] == [(at / ".nexus/opencode/nexus.js").as_uri()]
    assert "mcp__nexus__nx_task_add" in (at / ".claude/agents/tester.md").read_text().splitlines()[5]
    role = tomllib.loads((at / ".codex/agents/tester.toml").read_text())
    assert role["developer_instructions"].rstrip().endswith("into that one message.")


def test_opencode_has_nothing_to_add_to_a_file_of_ours(at: Path) -> None:
    """OpenCode writes `$schema` into a file without it. A new file has it already, so uninstall deletes the file."""
    assert run("install", "opencode") == 0
    assert json.loads((at / "opencode.json").read_text())["$schema"] == "https://opencode.ai/config.json"
    assert run("uninstall", "opencode") == 0
    assert tree(at) == {}
    put(at, {"opencode.json": b"{}\n"})
    assert run("install", "opencode") == 0
    assert "$schema" not in json.loads((at / "opencode.json").read_text())


def test_foreign_edits_stay_when_ours_are_taken_out(at: Path) -> None:
    """After an edit by another program only our entries are removed."""
    put(at, FOREIGN)
    assert run("install", "claude-code") == 0
    path = at / ".mcp.json"
    path.write_bytes(path.read_bytes().replace(b'"y"', b'"other"'))
    assert run("uninstall", "claude-code") == 0
    assert path.read_bytes() == FOREIGN[".mcp.json"].replace(b'"y"', b'"other"')


@pytest.mark.parametrize(
    ("name", "path", "theirs", "edit"),
    [
        ("claude-code", ".mcp.json", b'{"mcpServers": {"nexus": {"command": "theirs"}}}', (b"{", b'{"a": 1, ')),
        ("codex", ".codex/config.toml", b'[mcp_servers.nexus]\ncommand = "theirs"\n', (b"[", b"a = 1\n[")),
        ("codex", ".codex/config.toml", b"[mcp_servers.nexus]\nsince = 2026-01-01\n[b]\n", (b"[b]\n", b"[b]\nc = 1\n")),
    ],
)
def test_replaced_entries_come_back_into_a_file_that_changed(
    at: Path, name: str, path: str, theirs: bytes, edit: tuple[bytes, bytes]
) -> None:
    """Uninstall brings back an entry that --force replaced, also after an edit by another program.

    An entry with a value that is never written, such as a date, stays in the copy.
    """
    put(at, {path: theirs})
    assert run("install", name, "--force") == 0
    (at / path).write_bytes((at / path).read_bytes().replace(*edit, 1))
    assert run("uninstall", name) == 0
    if b"since" in theirs:
        copies = (at / ".nexus/state/install/edited").glob("*.toml")
        assert ((at / path).read_bytes(), [one.read_bytes() for one in copies]) == (b"[b]\nc = 1\n", [theirs])
    else:
        assert (at / path).read_bytes() == theirs.replace(*edit, 1)


def test_an_empty_home_is_refused(
    at: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With an empty HOME nothing is written: the folder of the user would be the root of the file system."""
    for variable in ("CODEX_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", "")
    assert run("install", "codex", "--scope", "user", "--dry-run") == 1
    assert "Set HOME" in capsys.readouterr().err


def test_skills_that_two_harnesses_read_go_with_the_last(at: Path) -> None:
    """OpenCode becomes an owner of the skills that Codex has."""
    assert run("install", "codex") == 0
    assert run("install", "opencode") == 0
    assert not (at / ".opencode/skill").exists()
    assert run("uninstall", "codex") == 0
    assert (at / ".agents/skills/nx-plan/SKILL.md").exists()
    assert run("uninstall", "opencode") == 0
    assert tree(at) == {}


def test_a_server_of_the_same_name_is_not_replaced(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A foreign server named nexus is refused with the next step; after --force, uninstall restores it."""
    text = b'{"mcpServers": {"nexus": {"command": "theirs"}}}'
    put(at, {".mcp.json": text})
    before = tree(at)
    assert run("install", "claude-code") == 1
    assert "does not belong to nexus-mcp" in capsys.readouterr().err
    assert tree(at) == before
    assert run("install", "claude-code", "--force") == 0
    assert run("uninstall", "claude-code") == 0
    assert tree(at) == before


def _folder(path: Path) -> None:
    path.mkdir()


def _link(path: Path) -> None:
    path.symlink_to(os.environ["HOME"] + "/elsewhere.json")


def _read_only(path: Path) -> None:
    path.write_text("{}")
    path.chmod(0o444)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (_folder, "is a folder where a file belongs"),
        (_link, "leads out of the project"),
        (_read_only, "is read-only"),
        (os.mkfifo, "is a special file"),
        (lambda path: path.write_bytes(b'{"a": 1, "a": 2}'), 'has the key "a" twice'),
        (lambda path: path.write_bytes(b"{"), "is not JSON"),
        (lambda path: path.write_bytes(b'{"a": "\xff"}'), "is not text in UTF-8: line 1, column 8"),
        (lambda path: path.write_bytes(b'{"mcpServers": []}'), "has no object at mcpServers"),
        (lambda path: path.write_bytes(b"[]"), "is not an object"),
    ],
)
def test_an_unusable_file_is_refused(at: Path, capsys: pytest.CaptureFixture[str], make: Any, problem: str) -> None:
    """An unusable file gives one sentence with the next step and exit code 1, and no file is written."""
    make(at / ".mcp.json")
    before = sorted(path.name for path in at.iterdir() if path.name != ".nexus")
    assert run("install", "claude-code") == 1
    error = capsys.readouterr().err
    assert problem in error
    assert "Nothing was changed." in error
    assert sorted(path.name for path in at.iterdir() if path.name != ".nexus") == before


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interruption_takes_everything_back(
    at: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException
) -> None:
    """After an interruption at any file all files are as before."""
    put(at, FOREIGN)
    before = tree(at)
    for number in range(40):
        calls: list[str] = []
        with monkeypatch.context() as patch:
            patch.setattr(files, "write", failing_write(calls, number, error))
            try:
                code = run("install", name)
            except KeyboardInterrupt:
                code = 130
        if len(calls) <= number:
            assert code == 0
            break
        assert code in (1, 130)
        assert tree(at) == before
    assert run("uninstall", name) == 0
    assert tree(at) == before


@pytest.mark.parametrize("folder", ["a b", "q'uo\"te", "é", "$HOME"])
def test_special_characters_in_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    """With special characters in the path each configuration is still readable."""
    root = tmp_path / folder
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    for name in NAMES:
        assert run("install", name) == 0
        assert run("install", name, "--check") == 0
        assert run("uninstall", name) == 0
    assert tree(root) == {}


def test_dry_run_writes_nothing(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--dry-run prints the lines that would change, and writes no file."""
    assert run("install", "codex", "--dry-run") == 0
    assert "+[mcp_servers.nexus]" in capsys.readouterr().out
    assert tree(at) == {}
    assert not (at / ".nexus").exists()


def test_check_reports_missing_parts(at: Path) -> None:
    """--check ends with exit code 1 before an installation, and with 0 after it."""
    assert run("install", "codex", "--check") == 1
    assert run("install", "codex") == 0
    assert run("install", "codex", "--check") == 0


def test_hooks_in_both_scopes_are_refused(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hooks in a second scope are refused, because both would run for each event."""
    assert run("install", "codex", "--scope", "user") == 0
    assert run("install", "codex") == 1
    assert "both would run" in capsys.readouterr().err
    assert run("install", "codex", "--with", "server,agents,skills") == 0


@pytest.mark.parametrize("name", NAMES)
def test_project_scope_needs_no_home(
    at: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Without a home folder the user scope is refused; the project scope has all its commands."""
    monkeypatch.setenv("HOME", str(tmp_path / "gone"))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    before = tree(at)
    assert run("install", name, "--scope", "user") == 1
    assert "does not exist. Set HOME" in capsys.readouterr().err
    assert run("install", name) == 0
    assert run("install", name, "--check") == 0
    assert run("install", name, "--list") == 0
    assert run("uninstall", name) == 0
    assert tree(at) == before


def test_without_a_harness_and_a_terminal_it_is_a_usage_error(at: Path) -> None:
    """Without a terminal the command asks no question."""
    assert run("install") == 2


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--list", "--check"), "--list and --check do not go together"),
        (("--list", "--dry-run"), "--list and --dry-run do not go together"),
        (("--list", "--force"), "--list and --force do not go together"),
        (("--list", "--scope", "user"), "--list and --scope do not go together"),
        (("--list", "--gate", "off"), "--list and --gate do not go together"),
        (("--check", "--dry-run"), "--check and --dry-run do not go together"),
        (("--check", "--force"), "--check and --force do not go together"),
        (("--json",), "--json needs --list"),
        (("--json", "--check"), "--json needs --list"),
        (("--with", "agents", "--gate", "off"), "--gate changes the hooks, which --with leaves out"),
        (
            ("--with", "agents", "--tool-prefix", "nx_"),
            "--tool-prefix changes the server and the hooks, which --with leaves out",
        ),
    ],
    ids=str,
)
def test_options_of_which_one_would_have_no_effect_are_refused(
    at: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], problem: str
) -> None:
    """Each pair is refused in one sentence with exit code 2, and nothing is written."""
    assert run("install", "codex", "--with", "server,hooks") == 0
    before = tree(at)
    assert run("install", "codex", *words) == 2
    assert problem in capsys.readouterr().err
    assert tree(at) == before


def test_option_with_its_recorded_value_is_accepted(at: Path) -> None:
    """An option that changes nothing of the other parts may be named for some of them."""
    assert run("install", "codex", "--with", "server,hooks", "--tool-prefix", "nx_", "--gate", "off") == 0
    assert run("install", "codex", "--with", "agents", "--tool-prefix", "nx_", "--gate", "off") == 0


def git(at: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(at), *words], check=True, capture_output=True)


def test_absolute_path_is_warned_about_in_files_that_git_shares(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The warning names each such file once: neither ignored files, unless they are tracked, nor files without git."""

    def warned(*words: str) -> str:
        assert run("install", "claude-code", "--with", "server,hooks", *words) == 0
        lines = [line for line in capsys.readouterr().out.splitlines() if "colleagues" in line]
        assert len(lines) <= 1
        return lines[0].partition(" name")[0] if lines else ""

    shutil.rmtree(at / ".git")
    assert warned() == ""
    git(at, "init")
    assert warned() == ".mcp.json, .claude/settings.json"
    assert warned("--command", "nexus-mcp", "--force") == ""
    put(at, {".gitignore": b".mcp.json\n.claude/\n"})
    assert warned("--command", own_command()[0]) == ""
    git(at, "add", "--force", ".mcp.json")
    assert warned() == ".mcp.json"


def test_path_of_the_project_is_warned_about_in_files_that_git_shares(
    at: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OpenCode's configuration names its plugin by an absolute path, whatever the command is."""
    shutil.rmtree(at / ".git")
    git(at, "init")
    assert run("install", "opencode", "--with", "hooks", "--command", "nexus-mcp", "--force") == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "colleagues" in line]
    assert line.startswith(f"opencode.json names {at}, the folder of the project, which colleagues")


def test_a_command_that_is_missing_is_refused(at: Path) -> None:
    """A missing --command is refused, because a hook that does not start would allow everything."""
    assert run("install", "codex", "--command", "no-such-nexus") == 2


def test_stored_bytes_are_for_the_owner_only(at: Path) -> None:
    """The stored bytes are readable for their owner only, because they may hold credentials."""
    put(at, FOREIGN)
    assert run("install", "claude-code") == 0
    vault = at / ".nexus/state/install"
    assert vault.stat().st_mode & 0o777 == 0o700
    assert (vault / "claude-code/before.json").stat().st_mode & 0o777 == 0o600
    assert run("uninstall", "claude-code") == 0
    assert not vault.exists()
