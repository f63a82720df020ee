"""Install, install again and uninstall in generated configurations of users, with edits of others in between."""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nexus_mcp.errors import EditedByHand, InstallRefused
from nexus_mcp.harness import files, jsonc, load, status
from nexus_mcp.harness.definition import PARTS, Request, Site
from nexus_mcp.harness.installing import install, plan_for, read_record, uninstall
from nexus_mcp.harness.models import Models
from tests.harness.test_documents import objects

JSON_FILES = {"claude-code": (".mcp.json", ".claude/settings.json"), "codex": (".codex/hooks.json",)}
JSON_FILES["opencode"] = ("opencode.jsonc",)
FAST = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
LINES = st.sampled_from(
    [
        *("# mine", "", 'model = "m"  # c', "n = 1_000", "[mcp_servers.other]\ncommand = 'x'\n"),
        *("[profiles.a]\nx = [\n  1, # one\n]\n", '[a."b c"]\nd = """\n[mcp_servers.nexus]\n"""'),
    ]
)


@contextmanager
def project() -> Iterator[tuple[Path, Site]]:
    """Yield a new project folder and its site, with a new home folder."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "p"
        (root / ".git").mkdir(parents=True)
        yield root, Site("project", str(root), {"HOME": str(root.parent), "PATH": ""})


def request_of(name: str, command: str = "/opt/nexus-mcp", **more: Any) -> Request:
    from nexus_mcp.catalog.load import load as catalog

    fields: dict[str, Any] = {"parts": PARTS, "gate": "auto", "prefix": "", "fast_hooks": False, **more}
    return Request(command=[command], catalog=catalog(None), models=Models(name, {}, {}), **fields)


def tree(root: Path) -> dict[str, bytes | None]:
    found = {
        path.relative_to(root).as_posix(): None if path.is_dir() else path.read_bytes() for path in root.rglob("*")
    }
    return {path: data for path, data in found.items() if path.split("/")[0] not in (".nexus", ".git")}


def put(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


@FAST
@given(st.sampled_from([*JSON_FILES]), st.sampled_from(["", "\ufeff"]), objects(), st.booleans(), st.data())
def test_json_of_a_user_is_restored(name: str, mark: str, text: str, is_crlf: bool, data: st.DataObject) -> None:
    """For JSON with comments, BOM, CRLF, tabs and trailing commas all bytes are restored, or nothing was written."""
    text = mark + (text.replace("\r\n", "\n").replace("\n", "\r\n") if is_crlf else text)
    with project() as (root, site):
        harness = load(name)
        path = put(root, data.draw(st.sampled_from(JSON_FILES[name])), text)
        before = tree(root)
        try:
            install(site, harness, request_of(name), {}, force=False)
        except InstallRefused:
            assert tree(root) == before
            return
        added = tree(root)
        install(site, harness, request_of(name), {}, force=False)
        assert tree(root) == added
        assert not plan_for(site, harness, request_of(name)).changes
        install(site, harness, request_of(name, "/moved/nexus-mcp"), {}, force=False)
        assert b"/opt/nexus-mcp" not in path.read_bytes()
        uninstall(site, harness, force=False)
        assert tree(root) == before


@FAST
@given(st.sampled_from([*JSON_FILES]), objects(), st.data())
def test_edits_of_others_between_survive(name: str, text: str, data: st.DataObject) -> None:
    """After the removal the file differs only by the field that another program added after the installation."""
    with project() as (root, site):
        harness = load(name)
        path = put(root, data.draw(st.sampled_from(JSON_FILES[name])), text)
        try:
            install(site, harness, request_of(name), {}, force=False)
        except InstallRefused:
            return
        current = path.read_text()
        at = current.index("{") + 1
        comma = "" if jsonc.parse(current) == {} else ","
        path.write_text(f'{current[:at]} "later": [1, /* theirs */ 2]{comma}{current[at:]}')
        install(site, harness, request_of(name, "/moved/nexus-mcp"), {}, force=False)
        uninstall(site, harness, force=False)
        left = jsonc.parse(path.read_text())
        assert left.pop("later") == [1, 2]
        assert left == jsonc.parse(text)
        assert "/* theirs */" in path.read_text()


@FAST
@given(st.lists(LINES, unique=True), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_toml_of_a_user_is_restored(lines: list[str], newline: str, has_end: bool, has_mark: bool) -> None:
    """Comments, BOM, CRLF and a missing last newline stay, even if another table was appended meanwhile."""
    text = ("\ufeff" if has_mark else "") + newline.join(line.replace("\n", newline) for line in lines)
    text += newline * (has_end and bool(lines))
    with project() as (root, site):
        harness = load("codex")
        path = put(root, ".codex/config.toml", text)
        before = tree(root)
        try:
            install(site, harness, request_of("codex"), {}, force=False)
        except InstallRefused:
            assert tree(root) == before
            return
        value = tomllib.loads(path.read_text("utf-8-sig"))
        assert value["mcp_servers"]["nexus"]["command"] == "/opt/nexus-mcp"
        uninstall(site, harness, force=False)
        assert tree(root) == before
        install(site, harness, request_of("codex"), {}, force=False)
        with path.open("a") as file:
            file.write("\n[later]\nz = 1 # theirs\n")
        uninstall(site, harness, force=False)
        assert path.read_bytes().endswith(b"[later]\nz = 1 # theirs\n")
        left = tomllib.loads(path.read_text("utf-8-sig"))
        assert left.pop("later") == {"z": 1}
        assert left == tomllib.loads(text.removeprefix("\ufeff"))


@FAST
@given(objects(), st.sampled_from(["mcpServers", "a"]))
def test_duplicate_key_is_refused_untouched(text: str, key: str) -> None:
    """A file in which a key occurs twice is not changed; the message has the lines to paste."""
    inner = text.strip()[1:-1].strip().rstrip(",") if text.strip().startswith("{") else ""
    twice = f'{{"{key}": {{}}, "{key}": {{}}{", " + inner if inner else ""}}}'
    with project() as (root, site):
        path = put(root, ".mcp.json", twice)
        with pytest.raises(InstallRefused) as error:
            install(site, load("claude-code"), request_of("claude-code"), {}, force=False)
        assert "nexus" in error.value.lines[".mcp.json"]
        assert path.read_bytes() == twice.encode()


def test_file_of_5_mb_is_spliced() -> None:
    """An installation in user scope keeps each byte of a large ~/.claude.json."""
    with project() as (root, site):
        user = site._replace(scope="user")
        rows = {f"/p/{number}": {"history": ["x" * 500]} for number in range(9000)}
        path = put(root.parent, ".claude.json", json.dumps({"projects": rows, "mcpServers": {}}, indent=2))
        before = path.read_bytes()
        assert len(before) > 4_500_000
        install(user, load("claude-code"), request_of("claude-code"), {}, force=False)
        assert json.loads(path.read_bytes())["mcpServers"]["nexus"]["type"] == "stdio"
        uninstall(user, load("claude-code"), force=False)
        assert path.read_bytes() == before


@pytest.mark.parametrize("times", [1, 99])
def test_file_that_changes_meanwhile_is_read_again(times: int) -> None:
    """Claude Code rewrites ~/.claude.json while it runs: its bytes are kept, or the installation is refused."""
    with project() as (root, site):
        user = site._replace(scope="user")
        path = put(root.parent, ".claude.json", '{"n": 0}')
        look, count = files.look, 0

        def looking(name: str, within: str = "") -> files.FoundFile:
            nonlocal count
            found = look(name, within)
            if name == str(path) and count < times:
                count += 1
                path.write_text(f'{{"n": {count}}}')
            return found

        with mock.patch.object(files, "look", looking):
            if times == 1:
                install(user, load("claude-code"), request_of("claude-code"), {}, force=False)
            else:
                with pytest.raises(InstallRefused, match=r"keeps changing"):
                    install(user, load("claude-code"), request_of("claude-code"), {}, force=False)
        value = json.loads(path.read_text())
        assert value["n"] == count
        assert ("mcpServers" in value) == (times == 1)
        assert (root.parent / ".claude").exists() == (times == 1)


@pytest.mark.parametrize("name", [*JSON_FILES])
def test_uninstall_after_the_program_moved(name: str) -> None:
    """The record identifies our entries, so the program that they name need not exist."""
    with project() as (root, site):
        install(site, load(name), request_of(name, "/gone/nexus-mcp"), {}, force=False)
        (problem, *_) = status.missing_commands(site, read_record(site), name)
        assert "starts /gone/nexus-mcp, which is not there" in problem
        uninstall(site, load(name), force=False)
        assert tree(root) == {}


def test_list_names_entries_that_were_edited() -> None:
    """An entry that was edited by hand is named with its file; an unchanged one is not."""
    with project() as (root, site):
        install(site, load("claude-code"), request_of("claude-code"), {}, force=False)
        assert status.drift(site, read_record(site), "claude-code") == []
        path = root / ".mcp.json"
        path.write_text(path.read_text().replace("serve", "serve2"))
        (root / ".claude/agents/tester.md").unlink()
        assert status.drift(site, read_record(site), "claude-code") == [
            "mcpServers.nexus in .mcp.json is missing or was edited by hand.",
            ".claude/agents/tester.md is missing.",
        ]
        with pytest.raises(EditedByHand):
            uninstall(site, load("claude-code"), force=False)


def test_two_programs_on_the_path_are_named(tmp_path: Path) -> None:
    """Each program is listed with its version and path; the version shown is that of the first one."""
    for number in ("1", "2"):
        program = tmp_path / number / "codex"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho codex-cli 0.{number}\n")
        program.chmod(0o755)
    with project() as (_, site):
        path = f"{tmp_path}/1:{tmp_path}/2:/bin:/usr/bin"
        found = status.status(load("codex"), site._replace(environ={**site.environ, "PATH": path}))
    assert found["version"] == "0.1"
    assert found["doubles"] == [f"the program: 0.1 in {tmp_path}/1/codex, 0.2 in {tmp_path}/2/codex"]
