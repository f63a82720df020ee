"""`nexus-mcp package`: the content of the packages, how they are written, and which folders are refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nexus_mcp import __version__
from nexus_mcp.harness.packages import PACKAGES, mcpb_bundle
from nexus_mcp.store.history import parse
from tests.catalog.files import AGENT
from tests.harness.packages import package, plugin, tree
from tests.support import NAMES

PLUGINS = {"claude": ("claude-code", "claude_code"), "codex": ("codex", "codex")}
OWN = "mcp__plugin_nexus_nexus__"


def unpack(folder: Path, to: Path) -> Path:
    """Unpack the bundle of a package."""
    with zipfile.ZipFile(folder / "nexus-mcp.mcpb") as archive:
        archive.extractall(to)
    return to


@pytest.mark.parametrize("kind", PACKAGES)
def test_the_same_call_gives_the_same_bytes(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes do not depend on the folder, on the times of files or on the order of entries."""
    walk = os.walk

    def backwards(top: str, **more: Any) -> Any:
        for place, folders, names in walk(top, **more):
            yield place, folders, names[::-1]

    assert package(kind, tmp_path / "one") == 0
    monkeypatch.setattr(os, "walk", backwards)
    assert package(kind, tmp_path / "two") == 0
    monkeypatch.undo()
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    (inode,) = {(tmp_path / "one").stat().st_ino}
    capsys.readouterr()
    assert package(kind, tmp_path / "one") == 0
    assert "unchanged" in capsys.readouterr().out
    assert (tmp_path / "one").stat().st_ino == inode


@pytest.mark.parametrize("kind", PLUGINS)
def test_hooks_of_a_plugin_have_its_options(tmp_path: Path, kind: str) -> None:
    """Each event that install writes has one hook; --command, --gate and --tool-prefix reach server and hooks."""
    harness, module = PLUGINS[kind]
    events = __import__(f"nexus_mcp.harness.{module}", fromlist=("EVENTS",)).EVENTS
    for options, program, gate, prefix in (
        ((), "nexus-mcp", "auto", []),
        (
            ("--command", "/opt/a b/nexus-mcp", "--gate", "block", "--tool-prefix", "nx_"),
            "'/opt/a b/nexus-mcp'",
            "block",
            ["--tool-prefix", "nx_"],
        ),
    ):
        assert package(kind, tmp_path / kind, *options) == 0
        hooks = json.loads((plugin(tmp_path / kind) / "hooks/hooks.json").read_text())["hooks"]
        assert list(hooks) == list(events)
        lines = {hook["command"] for groups in hooks.values() for group in groups for hook in group["hooks"]}
        own = OWN if kind == "claude" else "mcp__nexus__" * bool(prefix)
        mount = f" --mount {own}{''.join(prefix[1:])}" if own else ""
        assert lines == {f"{program} hook --native {harness} --gate {gate} --skills{mount} --plugin"}
        server = json.loads((plugin(tmp_path / kind) / ".mcp.json").read_text())["mcpServers"]["nexus"]
        words = [*prefix, *(["--mount", OWN] if kind == "claude" else [])]
        assert server == {"command": program.strip("'"), "args": ["serve", "--harness-id", harness, *words]}


@pytest.mark.parametrize("kind", PLUGINS)
def test_manifests_have_the_version(tmp_path: Path, kind: str) -> None:
    """A harness updates a plugin when the version has changed."""
    assert package(kind, tmp_path / kind) == 0
    manifest = json.loads((plugin(tmp_path / kind) / f".{kind}-plugin/plugin.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("nexus", __version__)


def test_names_in_the_claude_plugin_follow_the_mount(tmp_path: Path) -> None:
    """Agents are denied our tools under the plugin's names, and skills use these names only."""
    assert package("claude", tmp_path / "p", "--tool-prefix", "nx_") == 0
    tester = (plugin(tmp_path / "p") / "agents/tester.md").read_text()
    (denied,) = [line for line in tester.splitlines() if line.startswith("disallowedTools: ")]
    assert f"{OWN}nx_task_add" in denied.split(", ")
    assert "mcp__nexus__" not in denied
    agents = "".join(path.read_text() for path in (plugin(tmp_path / "p") / "agents").iterdir())
    assert f"`{OWN}nx_task_list`" in agents or f"`{OWN}nx_context`" in agents
    skills = {path.parent.name: path.read_text() for path in (plugin(tmp_path / "p") / "skills").rglob("SKILL.md")}
    assert sorted(skills) == ["nx-init", "nx-plan", "nx-run", "nx-sync"]
    assert [name for name, text in skills.items() if "mcp__nexus__" in text] == []
    assert f"{OWN}plan_decide" in skills["nx-plan"]
    assert "`nexus:<id>`" in skills["nx-run"]


def test_skills_for_codex_have_its_notes_alone(tmp_path: Path) -> None:
    """Codex names the tools of a plugin like those of any server, and no other harness reads these files."""
    assert package("codex", tmp_path / "p") == 0
    text = (plugin(tmp_path / "p") / "skills/nx-run/SKILL.md").read_text()
    assert "spawn_agent" in text
    assert "Claude" not in text


def test_the_bundle_works_a_whole_cycle_without_a_library(tmp_path: Path) -> None:
    """The server of the bundle, on a Python without site-packages, answers the tools of a whole cycle and the prompts;
    the project has a history that msgspec reads if it is there, and a catalog entry of its own.
    """
    assert package("mcpb", tmp_path / "p") == 0
    bundle, project = unpack(tmp_path / "p", tmp_path / "unpacked"), tmp_path / "project"
    agent = project / ".nexus/agents/gardener"
    agent.mkdir(parents=True)
    (agent / "meta.yml").write_text(AGENT.format(id="gardener"))
    (agent / "body.md").write_text("Prune.\n")
    cycles = [
        {"completed_at": f"2026-01-01T00:{n // 60:02}:{n % 60:02}.000Z", "branch": "x" * 4000} for n in range(600)
    ]
    history = {"schema_version": "0.2", "cycles": cycles}
    (project / ".nexus/history.json").write_text(json.dumps(history, indent=2) + "\n")
    assert (project / ".nexus/history.json").stat().st_size > parse.FAST_FROM_BYTES
    manifest = json.loads((bundle / "manifest.json").read_text())
    assert [tool["name"] for tool in manifest["tools"]] == list(NAMES)
    assert all(tool["description"].endswith(".") for tool in manifest["tools"])
    calls: list[tuple[str, dict[str, Any]]] = [
        ("plan_start", {"topic": "T", "issues": ["Q?"], "research_summary": "R"}),
        ("plan_update", {"action": "add", "title": "R?"}),
        ("plan_decide", {"issue_id": 1, "decision": "D"}),
        ("plan_decide", {"issue_id": 2, "decision": "E"}),
        ("plan_status", {}),
        ("task_add", {"title": "A", "context": "C"}),
        ("task_list", {}),
        ("context", {}),
        ("task_update", {"id": 1, "status": "completed"}),
        ("artifact_write", {"filename": "a.md", "content": "x"}),
        ("task_close", {}),
        ("history_search", {"query": "T"}),
    ]
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    bodies: list[dict[str, Any]] = [{"method": "initialize", "params": client}]
    bodies += [{"method": "tools/call", "params": {"name": name, "arguments": values}} for name, values in calls]
    bodies += [{"method": "prompts/list"}, {"method": "resources/list"}]
    lines = [json.dumps({"jsonrpc": "2.0", "id": number, **body}) for number, body in enumerate(bodies)]
    words = [
        word.replace("${__dirname}", str(bundle)).replace("${user_config.project}", str(project))
        for word in manifest["server"]["mcp_config"]["args"]
    ]
    done = subprocess.run(
        [sys.executable, "-I", "-S", *words],
        input="".join(f"{line}\n" for line in lines),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    answers = {one["id"]: one for one in map(json.loads, done.stdout.splitlines())}
    results = {number: answers[number].get("result", {}) for number in range(1, len(calls) + 1)}
    assert answers[len(calls) + 1]["result"]["prompts"]
    assert answers[len(calls) + 2]["result"]["resources"]
    assert [result for result in results.values() if "structuredContent" not in result] == []
    assert {name for name, _ in calls} <= {*NAMES}


@pytest.mark.parametrize("fault", ["distribution", "licence"])
def test_a_bundle_needs_the_licence_of_pyyaml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fault: str
) -> None:
    """PyYAML of a system package may have neither metadata nor licence."""

    def absent(_: str) -> Any:
        if fault == "distribution":
            raise PackageNotFoundError
        return SimpleNamespace(files=[], version="6.0")

    monkeypatch.setattr(mcpb_bundle, "distribution", absent)
    assert package("mcpb", tmp_path / "p") == 1
    assert "The licence of PyYAML is not installed. Install PyYAML from PyPI" in capsys.readouterr().err


def test_the_bundle_says_which_python_it_needs(tmp_path: Path) -> None:
    """An older Python stops with one sentence instead of a syntax error."""
    assert package("mcpb", tmp_path / "p") == 0
    source = (unpack(tmp_path / "p", tmp_path / "unpacked") / "server/main.py").read_text()
    old = f"import sys\nsys.version_info = (3, 10)\n{source}"
    done = subprocess.run([sys.executable, "-c", old], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("nexus-mcp needs Python 3.11 or newer, and this is ")
    assert len(done.stderr.splitlines()) == 1


def test_the_bundle_holds_only_its_own_files(tmp_path: Path) -> None:
    """The bundle has program, data, licence and manifest, and neither caches nor the conformance fixtures."""
    assert package("mcpb", tmp_path / "p") == 0
    names = zipfile.ZipFile(tmp_path / "p/nexus-mcp.mcpb").namelist()
    assert {name.split("/")[0] for name in names} == {"manifest.json", "LICENSE", "server"}
    assert [name for name in names if "__pycache__" in name or "/_data/conformance" in name] == []
    assert names == sorted(names)


def test_facts_are_those_of_the_project() -> None:
    """Description, licence and author are in pyproject.toml as in the manifests."""
    import tomllib

    from nexus_mcp.harness.packages import definition

    root = Path(__file__).resolve().parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["description"] == definition.DESCRIPTION
    assert project["license"] == definition.LICENSE
    assert project["authors"] == [{"name": definition.AUTHOR}]
    assert list(definition.KEYWORDS) == project["keywords"]
    assert f">={mcpb_bundle.PYTHON[0]}.{mcpb_bundle.PYTHON[1]}" == project["requires-python"]
    assert project["scripts"].keys() == {definition.MARKETPLACE}
