"""Entries and files without a record: after `.nexus/` was deleted by hand, and servers that a user added."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from pathlib import Path

import pytest

from nexus_mcp.harness import HARNESSES
from nexus_mcp.program import own_command
from tests.harness.test_install import at, put, run, tree

__all__ = ("at",)  # the fixture
NAMES = tuple(HARNESSES)
ADDED = {
    "claude-code": (
        ".mcp.json",
        b'{"mcpServers": {"nexus": {"type": "stdio", "command": "nexus-mcp", "args": ["serve"], "env": {}}}}\n',
    ),
    "codex": (".codex/config.toml", b'# mine\n[mcp_servers.nexus]\ncommand = "nexus-mcp"\nargs = ["serve"]\n'),
    "opencode": ("opencode.json", b'{"mcp": {"nexus": {"type": "local", "command": ["nexus-mcp", "serve"]}}}'),
}
"""Harness → a file with a server as its own command adds it."""


@pytest.mark.parametrize("name", NAMES)
def test_uninstall_without_a_record_names_what_looks_like_ours(
    at: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """After `rm -rf .nexus` uninstall changes nothing, names each place and the way out, and ends with 1."""
    assert run("install", name) == 0
    shutil.rmtree(at / ".nexus")
    before = tree(at)
    capsys.readouterr()
    assert run("uninstall", name) == 1
    error = capsys.readouterr().err
    server = {"claude-code": "mcpServers.nexus in .mcp.json", "codex": "mcp_servers.nexus in .codex/config.toml"}
    assert server.get(name, "mcp.nexus in opencode.json") in error
    assert "9 generated files in ." in error
    assert f"run nexus-mcp install {name}, then nexus-mcp uninstall {name}." in error
    assert tree(at) == before
    assert run("uninstall", name, "--dry-run") == 1


@pytest.mark.parametrize("scope", ["project", "user"])
@pytest.mark.parametrize("name", NAMES)
def test_way_out_without_a_record_leaves_nothing(at: Path, tmp_path: Path, name: str, scope: str) -> None:
    """To install again and then uninstall removes all entries, files and folders of the lost installation."""
    home = tmp_path / "home"
    options = (name, "--scope", scope)
    assert run("install", *options) == 0
    shutil.rmtree(at / ".nexus" if scope == "project" else os.environ["XDG_STATE_HOME"])
    assert run("install", *options) == 0
    assert run("uninstall", *options) == 0
    left = {**tree(at), **tree(home)}
    schema = {path: data for path, data in left.items() if path.endswith("opencode.json")}
    # OpenCode writes $schema into each file, so it does not tell who made the file.
    assert [json.loads(data) for data in schema.values() if data] in (
        [],
        [{"$schema": "https://opencode.ai/config.json"}],
    )
    assert [path for path, data in left.items() if data is not None and path not in schema] == []
    assert run("uninstall", *options) == 0


def test_other_entries_of_a_file_without_a_record_stay(at: Path) -> None:
    """What the user has in a file beside our entries stays, when the record was lost."""
    put(at, {".mcp.json": b'{\n  "mcpServers": {\n    "x": {"command": "y"}\n  }\n}\n'})
    before = tree(at)
    assert run("install", "claude-code") == 0
    shutil.rmtree(at / ".nexus")
    assert run("install", "claude-code") == 0
    assert run("uninstall", "claude-code") == 0
    assert tree(at) == before


@pytest.mark.parametrize("name", NAMES)
def test_server_that_the_user_added_comes_back(at: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Install takes over a server of `mcp add`, says so, and uninstall restores its bytes."""
    file, data = ADDED[name]
    put(at, {file: data})
    before = tree(at)
    assert run("uninstall", name) == 0  # an entry of the user is no installation
    assert run("install", name) == 0
    assert (
        f"{file} had another entry that starts nexus-mcp. nexus-mcp uninstall brings it back."
        in capsys.readouterr().out
    )
    assert "--harness-id" in (at / file).read_text()
    assert run("uninstall", name) == 0
    assert tree(at) == before


@pytest.mark.parametrize("name", NAMES)
def test_server_of_the_user_comes_back_into_an_edited_file(at: Path, name: str) -> None:
    """After edits of the file and a second installation the server of the user comes back, too."""
    file, data = ADDED[name]
    put(at, {file: data})
    assert run("install", name) == 0
    path = at / file
    edit = (b"# later\n", b"") if file.endswith("toml") else (b"", b"\n")
    path.write_bytes(edit[0] + path.read_bytes() + edit[1])
    assert run("install", name, "--command", "sh", "--gate", "warn") == 0
    assert run("uninstall", name) == 0
    load = tomllib.loads if file.endswith("toml") else json.loads
    assert load(path.read_text()) == load(data.decode())
    assert path.read_bytes().startswith(edit[0])


def test_entry_exactly_as_installed_is_told_and_removed(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An entry of the same content counts as installed: install says so, and uninstall removes it."""
    words = own_command()
    server = {"type": "stdio", "command": words[0], "args": [*words[1:], "serve", "--harness-id", "claude-code"]}
    put(at, {".mcp.json": json.dumps({"mcpServers": {"nexus": server}}).encode()})
    assert run("install", "claude-code", "--with", "server") == 0
    assert "count as installed now, and nexus-mcp uninstall removes them: .mcp.json" in capsys.readouterr().out
    assert run("uninstall", "claude-code") == 0
    assert json.loads((at / ".mcp.json").read_bytes()) == {}
