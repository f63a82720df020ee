"""Check, install and remove the packages of `nexus-mcp package` with the clients' own commands."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from tests.e2e.claude_code import ClaudeCode
from tests.e2e.codex import CODE, Codex
from tests.e2e.codex_run import code, patch_in_code
from tests.e2e.conftest import PROGRAMS
from tests.e2e.model.server import Model
from tests.e2e.running import Running
from tests.e2e.scratch import Scratch

ID = "packages"
PLUGIN, MARKETPLACE = "nexus", "nexus-mcp"
OWN = "mcp__plugin_nexus_nexus__"
OURS = re.compile(r"\bmcp__\w+?__(?=plan_|task_|context\b|history_search|artifact_write)")
PARTS = 9, 4, 10
"""Agents, skills and events with a hook in the plugin for Claude Code."""
# `make e2e` names a client that could not be installed.
of_claude = pytest.mark.parametrize("program", [PROGRAMS[one] for one in ("claude-code",) if one in PROGRAMS])
of_codex = pytest.mark.parametrize("program", [PROGRAMS[one] for one in ("codex",) if one in PROGRAMS])


def run(scratch: Scratch, *words: str | Path, env: dict[str, str] | None = None) -> str:
    """Run a command that must succeed, and return its output."""
    done = Running(words, env or scratch.env, scratch.root).wait(60)
    assert done.code == 0, done.out + done.err
    return done.out


def test_bundle_follows_the_specification(scratch: Scratch, tmp_path: Path) -> None:
    """mcpb unpacks the bundle, finds its manifest valid, and packs the same files again."""
    scratch.nexus("package", "mcpb", "--out", str(tmp_path / "bundle"))
    mcpb, unpacked = PROGRAMS[ID], tmp_path / "unpacked"
    run(scratch, mcpb, "unpack", tmp_path / "bundle/nexus-mcp.mcpb", unpacked)
    assert "passes" in run(scratch, mcpb, "validate", unpacked / "manifest.json")
    count = len([path for path in unpacked.rglob("*") if path.is_file()])
    out = run(scratch, mcpb, "pack", unpacked, tmp_path / "again.mcpb")
    assert f"total files: {count}\n" in out
    assert "ignored (.mcpbignore) files: 0\n" in out


@of_claude
def test_claude_code_accepts_plugin_and_marketplace(scratch: Scratch, tmp_path: Path, program: str) -> None:
    """The validator of Claude Code has no error and no warning for plugin and marketplace, and finds each part."""
    scratch.nexus("package", "claude", "--out", str(tmp_path / "p"))
    for folder in (tmp_path / "p", tmp_path / "p/plugins/nexus"):
        report = json.loads(run(scratch, program, "plugin", "validate", "--strict", "--json", folder))
        assert report["success"] is True, report


@of_claude
def test_claude_code_works_with_the_plugin_and_removes_it(
    scratch: Scratch, tmp_path: Path, model: Model, program: str
) -> None:
    """Offline, Claude Code installs the plugin, uses its tool, hook and agent, and uninstalls it completely."""
    claude = ClaudeCode(Path(program), scratch, model)
    settings = claude.folder / "settings.json"
    before = settings.read_bytes()
    scratch.nexus("package", "claude", "--out", str(tmp_path / "p"), "--gate", "block")

    def plugin(*words: str | Path) -> str:
        return run(scratch, program, "plugin", *words, env=claude.env)

    plugin("marketplace", "add", tmp_path / "p")
    plugin("install", f"{PLUGIN}@{MARKETPLACE}")
    details = plugin("details", PLUGIN)
    shown = [f"{name} ({count})" for name, count in zip(("Agents", "Skills", "Hooks"), PARTS, strict=True)]
    assert [text for text in shown if text not in details] == []
    assert f"plugin   server, hooks, agents, skills: the plugin {PLUGIN}@{MARKETPLACE}" in claude_list(scratch, claude)

    write = {"tool": "Write", "input": {"file_path": str(scratch.root / "b.txt"), "content": "x"}}
    agent = {"subagent_type": "nexus:architect", "description": "A look", "prompt": "LOOK", "run_in_background": False}
    model.script.on(
        "BEGIN",
        {"tool": f"{OWN}task_list", "input": {}},
        write,
        {"tool": "Skill", "input": {"skill": "nx-plan"}},
        {"tool": "Agent", "input": agent},
        {"text": "DONE"},
    )
    model.script.on("typed-word", {"text": "TYPED"})
    model.script.on("LOOK", {"tool": f"{OWN}task_list", "input": {}}, {"text": "SEEN"})
    with claude.session() as session:
        session.ask("BEGIN", "DONE")
        agents = json.dumps(scratch.state("state/claude-code/agent-tracker.json"))
        session.ask(f"/{OWN}plan typed-word", "TYPED")
    requests = model.with_tools()
    prompt = next(text for r in requests for text in r.conversation.users() if "typed-word" in text)
    last = next(r.conversation for r in reversed(requests) if r.conversation.results("Skill"))
    assert '"exists":false' in last.results(f"{OWN}task_list")[0].text
    assert "task" in last.results("Write")[0].text
    assert not (scratch.root / "b.txt").exists()
    assert "Launching skill" in last.results("Skill")[0].text
    assert "SEEN" in last.results("Agent")[0].text
    talks = [request.conversation for request in requests]
    looks = [talk for talk in talks if talk.users() and "LOOK" in talk.users()[0]]
    (names,) = {frozenset(tool.name for tool in one.tools) for one in looks}
    assert f"{OWN}task_list" in names
    assert names & {"Write", "Edit", f"{OWN}task_add"} == set()
    assert '"architect"' in agents
    assert f"- plan_status: {OWN}plan_status" in looks[0].text
    assert f"`{OWN}<tool>`" in prompt
    assert [
        talk.text[talk.text.index("mcp__nexus__") - 80 :][:160] for talk in talks if "mcp__nexus__" in talk.text
    ] == []

    plugin("uninstall", f"{PLUGIN}@{MARKETPLACE}")
    plugin("marketplace", "remove", MARKETPLACE)
    left = {name: value for name, value in json.loads(settings.read_bytes()).items() if value != {}}
    assert left == json.loads(before)
    assert "plugin " not in claude_list(scratch, claude)
    claude.install()


def claude_list(scratch: Scratch, claude: ClaudeCode) -> str:
    return scratch.nexus("install", "claude-code", "--list", env=claude.env)


@of_codex
def test_codex_installs_the_plugin_and_removes_it(scratch: Scratch, tmp_path: Path, program: str) -> None:
    """Offline, Codex installs the plugin, lists its server, and after the removal has its old configuration."""
    home = scratch.home / ".codex"
    home.mkdir()
    config = home / "config.toml"
    config.write_text('# mine\nmodel = "gpt-5.5"\n')
    before = config.read_bytes()
    env = {**scratch.env, "CODEX_HOME": str(home)}
    scratch.nexus("package", "codex", "--out", str(tmp_path / "p"))

    def codex(*words: str | Path) -> str:
        return run(scratch, program, *words, env=env)

    codex("plugin", "marketplace", "add", tmp_path / "p")
    codex("plugin", "add", f"{PLUGIN}@{MARKETPLACE}")
    (server,) = json.loads(codex("mcp", "list", "--json"))
    assert server["name"] == PLUGIN
    assert server["transport"]["command"] == "nexus-mcp"
    (cached,) = (home / "plugins/cache" / MARKETPLACE / PLUGIN).iterdir()
    made = tmp_path / "p/plugins/nexus"
    wanted = {path.relative_to(made): path.read_bytes() for path in made.rglob("*") if path.is_file()}
    assert {name: (cached / name).read_bytes() for name in wanted} == wanted
    assert f"the plugin {PLUGIN}@{MARKETPLACE}" in scratch.nexus("install", "codex", "--list", env=env)

    codex("plugin", "remove", f"{PLUGIN}@{MARKETPLACE}")
    codex("plugin", "marketplace", "remove", MARKETPLACE)
    left = {name: value for name, value in tomllib.loads(config.read_text()).items() if value != {}}
    assert left == tomllib.loads(before.decode())
    assert json.loads(codex("mcp", "list", "--json")) == []


@of_codex
def test_names_in_the_texts_for_codex_are_those_of_its_tools(
    scratch: Scratch, tmp_path: Path, model: Model, program: str
) -> None:
    """With the plugin alone: hooks answer, and each name of a tool of ours in a text for a model is one that it has."""
    codex = Codex(Path(program), scratch, model, CODE)
    scratch.nexus("package", "codex", "--out", str(tmp_path / "p"), "--gate", "block")
    for words in (("plugin", "marketplace", "add", tmp_path / "p"), ("plugin", "add", f"{PLUGIN}@{MARKETPLACE}")):
        run(scratch, program, *words, env=codex.env)
    spawn = {"tool": "spawn_agent", "ns": "collaboration", "input": {"task_name": "look", "message": "LOOK"}}
    model.script.on(
        "BEGIN", patch_in_code("early.txt"), code("await tools.mcp__nexus__task_list({})"), spawn, {"text": "DONE"}
    )
    model.script.on("LOOK", {"text": "SEEN"})
    codex.run("[plan] BEGIN", "--dangerously-bypass-hook-trust")
    seen = next(request.conversation for request in reversed(model.with_tools()) if "BEGIN" in request.text)
    assert "First add one with task_add" in seen.text
    assert not (scratch.root / "early.txt").exists()
    assert '"exists":false' in seen.results()[1].text.replace("\\", "")
    mounts = {name for request in model.with_tools() for name in OURS.findall(request.text)}
    assert mounts == {"mcp__nexus__"}
    assert [request for request in model.with_tools() if "LOOK" in request.conversation.users()[-1]]
