"""With a plugin and an installation together only one hook answers an event, and `install --list` shows both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.cli import main
from nexus_mcp.harness.second_hook import is_answered
from tests.support import Project

PROGRAM = Path(sys.executable).with_name("nexus-mcp")
PLUGIN = "nexus@nexus-mcp"
HARNESS_FILES = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json"}


@pytest.fixture
def at(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the project, which is the working directory."""
    monkeypatch.chdir(project.root)
    return project.root


def put(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def group(harness: str = "claude-code", program: str | Path = PROGRAM, **more: Any) -> dict[str, Any]:
    line = f"{program} hook --native {harness} --gate auto"
    return {"hooks": [{"type": "command", "command": line}], **more}


def answered(root: Path, event: str = "PreToolUse", harness: str = "claude-code", **more: str) -> bool:
    return is_answered(harness, event, str(root), {**os.environ, **more})


def trust(home: Path, path: Path, **row: Any) -> None:
    rows = "\n".join(f"{name} = {json.dumps(value)}" for name, value in row.items())
    put(home / ".codex/config.toml", f'[hooks.state."{path}:pre_tool_use:0:0"]\n{rows}\n')


@pytest.mark.parametrize("name", [".claude/settings.json", ".claude/settings.local.json", "~/.claude/settings.json"])
def test_an_installed_hook_is_found_in_each_file(at: Path, name: str) -> None:
    """An installed hook is found in the files of the project and of the user, for its event only."""
    path = Path(name).expanduser() if name.startswith("~") else at / name
    put(path, {"hooks": {"PreToolUse": [group()]}})
    assert answered(at)
    assert not answered(at, "Stop")
    assert not answered(at, harness="opencode")


def test_the_folder_of_the_session_counts(at: Path, tmp_path: Path) -> None:
    """Claude Code reads the settings of the folder that it was started in, which it names."""
    put(at / ".claude/settings.json", {"hooks": {"PreToolUse": [group()]}})
    assert not answered(at, CLAUDE_PROJECT_DIR=str(tmp_path))
    assert answered(tmp_path, CLAUDE_PROJECT_DIR=str(at))


@pytest.mark.parametrize(
    "settings",
    [
        {"hooks": {"PreToolUse": [group(program="/gone/nexus-mcp")]}},
        {"hooks": {"PreToolUse": [group(matcher="Bash")]}},
        {"hooks": {"PreToolUse": [{"hooks": [{"type": "http", "command": f"{PROGRAM} hook --native claude-code"}]}]}},
        {
            "hooks": {
                "PreToolUse": [{"hooks": [{"type": "command", "command": f"'{PROGRAM} hook --native claude-code"}]}]
            }
        },
        {"hooks": {"PreToolUse": group()}},
        {"hooks": [group()]},
        {"permissions": {"deny": ["Bash(nexus-mcp hook --native claude-code)"]}},
        "{" + json.dumps(f"{PROGRAM} hook --native claude-code"),
        "[" * 100_000 + " hook --native claude-code",
    ],
    ids=["gone", "matcher", "type", "quote", "group", "list", "deny", "json", "deep"],
)
def test_a_hook_that_will_not_answer_silences_nothing(at: Path, settings: Any) -> None:
    """If the installed hook will not answer, the hook of the plugin answers, so that denials still apply."""
    put(at / ".claude/settings.json", settings)
    assert not answered(at)


def test_codex_counts_only_a_trusted_hook(at: Path) -> None:
    """Codex skips a hook that the user did not trust, or switched off."""
    path, home = at / ".codex/hooks.json", Path(os.environ["HOME"])
    put(path, {"hooks": {"PreToolUse": [group("codex")]}})
    assert not answered(at, harness="codex")
    trust(home, path, trusted_hash="sha256:1")
    assert answered(at, harness="codex")
    trust(home, path, trusted_hash="sha256:1", enabled=False)
    assert not answered(at, harness="codex")
    trust(home, home / ".codex/hooks.json", trusted_hash="sha256:1")
    assert not answered(at, harness="codex")
    put(home / ".codex/config.toml", "[")
    assert not answered(at, harness="codex")


@pytest.mark.parametrize("harness", HARNESS_FILES)
def test_the_second_hook_stays_silent(at: Path, harness: str) -> None:
    """The installed hook denies, and the plugin's hook prints nothing; after uninstall the plugin's hook answers."""
    assert main(["install", harness, "--gate", "block", "--with", "hooks"]) == 0
    trust(Path(os.environ["HOME"]), at / ".codex/hooks.json", trusted_hash="sha256:1")
    text = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch"
    tool = {"tool_name": "apply_patch", "tool_input": {"command": text}}
    if harness == "claude-code":
        tool = {"tool_name": "Write", "tool_input": {"file_path": str(at / "a.txt"), "content": "x"}}
    payload = json.dumps({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": str(at), **tool})

    def hook(*options: str) -> str:
        words = [str(PROGRAM), "hook", "--native", harness, "--gate", "block", *options]
        done = subprocess.run(words, input=payload, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return str(done.stdout)

    assert '"deny"' in hook()
    assert hook("--plugin") == ""
    assert main(["uninstall", harness]) == 0
    assert '"deny"' in hook("--plugin")


def test_an_unreadable_payload_is_denied_by_both(at: Path) -> None:
    """The event of such a payload is unknown, so the hook of the plugin denies it, too."""
    put(at / ".claude/settings.json", {"hooks": {"PreToolUse": [group()]}})
    words = [str(PROGRAM), "hook", "--native", "claude-code", "--gate", "block", "--plugin"]
    done = subprocess.run(words, input='{"hook_event', capture_output=True, text=True, check=True)
    assert '"deny"' in done.stdout


def enable(root: Path, harness: str) -> None:
    """Enable the plugin as the harness's own command does."""
    if harness == "claude-code":
        put(Path.home() / ".claude/settings.json", {"enabledPlugins": {PLUGIN: True}})
    else:
        put(Path.home() / ".codex/config.toml", f'[plugins."{PLUGIN}"]\nenabled = true\n')


@pytest.mark.parametrize("harness", HARNESS_FILES)
def test_install_refuses_beside_a_plugin(at: Path, capsys: pytest.CaptureFixture[str], harness: str) -> None:
    """The refusal is one sentence with the command that removes the plugin, and nothing is written."""
    enable(at, harness)
    assert main(["install", harness]) == 1
    error = capsys.readouterr().err.splitlines()
    assert f"the plugin {PLUGIN}" in error[0]
    assert "plugin uninstall" in error[0] or "plugin remove" in error[0]
    assert len(error) == 2
    assert not (at / HARNESS_FILES[harness]).exists()


def test_agents_for_codex_go_with_the_plugin(at: Path) -> None:
    """Codex takes no agents from a plugin, so install may bring them."""
    enable(at, "codex")
    assert main(["install", "codex", "--with", "agents"]) == 0
    assert (at / ".codex/agents/tester.toml").exists()


@pytest.mark.parametrize("harness", HARNESS_FILES)
def test_list_shows_a_plugin_and_duplicate_parts(at: Path, capsys: pytest.CaptureFixture[str], harness: str) -> None:
    """A plugin alone is no duplicate; with an installation each common part is one."""

    def listed() -> dict[str, Any]:
        capsys.readouterr()
        assert main(["install", harness, "--list", "--json"]) == 0
        (found,) = json.loads(capsys.readouterr().out)["harnesses"]
        return dict(found)

    assert (listed()["plugins"], listed()["doubles"]) == ({}, [])
    assert main(["install", harness, "--with", "hooks,skills"]) == 0
    assert listed()["doubles"] == []
    enable(at, harness)
    found = listed()
    assert list(found["plugins"]) == [f"the plugin {PLUGIN}"]
    assert [text.split()[0] for text in found["doubles"]] == ["hooks", "skills"]
    assert main(["install", harness, "--list"]) == 0
    out = capsys.readouterr().out
    assert f"the plugin {PLUGIN}" in out
    assert out.count("  twice: ") == 2
    assert main(["uninstall", harness]) == 0
    assert listed()["doubles"] == []


def test_a_plugin_that_is_switched_off_in_the_project_does_not_count(at: Path) -> None:
    """The settings of the project win over those of the user."""
    enable(at, "claude-code")
    put(at / ".claude/settings.local.json", {"enabledPlugins": {PLUGIN: False}})
    assert main(["install", "claude-code", "--with", "server"]) == 0
