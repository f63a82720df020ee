"""`nexus-mcp install --url`: the entries of the three harnesses, --local and uninstall, and the refusals."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.harness import HARNESSES, load
from tests.harness.test_install import FOREIGN, put, run, tree
from tests.remote.listener import Listener
from tests.support import Project

NAMES = tuple(HARNESSES)
URL = "https://nexus.example.org/p/shop/mcp"
OTHER = "https://other.example.org/p/shop/mcp"
TOKEN = "nexus_" + "s" * 43
_COMMAND = re.compile(r"^const COMMAND = (\[.*\])$", re.MULTILINE)


@pytest.fixture
def at(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the project, which is the working directory."""
    monkeypatch.chdir(project.root)
    monkeypatch.setenv("NEXUS_TOKEN", TOKEN)
    return project.root


def server(root: Path, name: str) -> dict[str, Any]:
    """Return the entry of the server in the file of a harness."""
    if name == "codex":
        found: dict[str, Any] = tomllib.loads((root / ".codex/config.toml").read_text())["mcp_servers"]["nexus"]
    elif name == "opencode":
        found = json.loads((root / "opencode.json").read_text())["mcp"]["nexus"]
    else:
        found = json.loads((root / ".mcp.json").read_text())["mcpServers"]["nexus"]
    return found


def hook_words(root: Path, name: str) -> list[str]:
    """Return the command of the hook that a harness starts."""
    if name == "opencode":
        match = _COMMAND.search((root / ".nexus/opencode/nexus.js").read_text())
        assert match
        words: list[str] = json.loads(match[1])
        return words
    path = root / (".codex/hooks.json" if name == "codex" else ".claude/settings.json")
    return shlex.split(json.loads(path.read_text())["hooks"]["Stop"][-1]["hooks"][0]["command"])


def configured(root: Path, home: Path) -> dict[str, bytes | None]:
    """Return path → bytes of the files of the harness, without our record."""
    files = {**tree(root), **{f"~/{name}": data for name, data in tree(home).items()}}
    return {name: data for name, data in files.items() if "nexus-mcp/install" not in name}


def test_entries_have_the_values_that_harnesses_read(at: Path) -> None:
    """Each harness has the URL, and reads the token from the variable in its own way; the hook has the URL, too."""
    for name in NAMES:
        assert run("install", name, "--url", URL, "--token-env", "MY_TOKEN") == 0
        assert hook_words(at, name)[-4:] == ["--url", URL, "--token-env", "MY_TOKEN"]
    claude, codex, opencode = (server(at, name) for name in NAMES)
    assert claude == {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${MY_TOKEN}"}}
    assert (codex["url"], codex["bearer_token_env_var"], codex["required"]) == (URL, "MY_TOKEN", True)
    assert "command" not in codex
    assert codex["tools"]["context"] == {"approval_mode": "approve"}
    header = {"Authorization": "Bearer {env:MY_TOKEN}"}
    assert opencode == {"type": "remote", "url": URL, "headers": header, "oauth": False, "enabled": True}


@pytest.mark.parametrize("name", NAMES)
def test_usual_variable_needs_no_option(at: Path, name: str) -> None:
    """Without --token-env the hook names the URL only, and its variable is NEXUS_TOKEN."""
    assert run("install", name, "--url", URL) == 0
    assert hook_words(at, name)[-2:] == ["--url", URL]
    assert "NEXUS_TOKEN" in json.dumps(server(at, name))


@pytest.mark.parametrize("scope", ["project", "user"])
@pytest.mark.parametrize("name", NAMES)
def test_token_is_in_no_file(at: Path, tmp_path: Path, name: str, scope: str) -> None:
    """No file of the project or the home has the token, although the variable is set."""
    assert run("install", name, "--url", URL, "--scope", scope) == 0
    files = [path.read_bytes() for base in (at, tmp_path / "home") for path in base.rglob("*") if path.is_file()]
    assert [data for data in files if TOKEN.encode() in data] == []


@pytest.mark.parametrize("scope", ["project", "user"])
@pytest.mark.parametrize("foreign", [{}, FOREIGN], ids=["nothing", "files"])
@pytest.mark.parametrize("name", NAMES)
def test_uninstall_restores_the_bytes(
    at: Path, tmp_path: Path, name: str, foreign: dict[str, bytes], scope: str
) -> None:
    """From local to remote, to another server and back: one entry each time, and uninstall restores each byte."""
    home = tmp_path / "home"
    put(at, foreign)
    before = tree(at), tree(home)
    words = ("install", name, "--scope", scope)
    assert run(*words) == 0
    local = configured(at, home)
    assert run(*words, "--url", URL) == 0
    assert run(*words, "--url", URL, "--check") == 0
    remote = tree(at), tree(home)
    assert run(*words, "--url", URL) == 0
    assert (tree(at), tree(home)) == remote
    assert run(*words, "--url", OTHER) == 0
    assert URL.encode() not in b"".join(data or b"" for data in configured(at, home).values())
    assert run(*words, "--local") == 0
    assert configured(at, home) == local
    assert run(*words, "--url", URL) == 0
    assert run("uninstall", name, "--scope", scope) == 0
    assert (tree(at), tree(home)) == before


@pytest.mark.parametrize("name", NAMES)
def test_hooks_and_server_have_one_place(at: Path, name: str) -> None:
    """After a switch there is one hook for each event, and one server."""
    assert run("install", name) == 0
    assert run("install", name, "--url", URL) == 0
    if name != "opencode":
        path = at / (".codex/hooks.json" if name == "codex" else ".claude/settings.json")
        hooks = json.loads(path.read_text())["hooks"]
        assert {len(entries) for entries in hooks.values()} == {1}
    text = json.dumps(server(at, name))
    assert URL in text
    assert "serve" not in text


@pytest.mark.parametrize("name", NAMES)
def test_check_finds_another_server(at: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--check uses the recorded server, and differs for another one, for the local one, and after an edit by hand."""
    assert run("install", name, "--url", URL) == 0
    assert run("install", name, "--check") == 0
    assert run("install", name, "--url", OTHER, "--check") == 1
    assert run("install", name, "--local", "--check") == 1
    path = at / {"codex": ".codex/config.toml", "opencode": "opencode.json"}.get(name, ".mcp.json")
    path.write_text(path.read_text().replace("nexus.example.org", "evil.example.org"))
    capsys.readouterr()
    assert run("install", name, "--check") == 1
    assert "edited by hand" in capsys.readouterr().out
    assert run("install", name, "--url", URL) == 3


@pytest.mark.parametrize("name", NAMES)
def test_dry_run_shows_the_change_and_makes_none(at: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--dry-run prints the new entry, and no file is there afterwards."""
    assert run("install", name, "--url", URL, "--dry-run") == 0
    assert URL in capsys.readouterr().out
    assert tree(at) == {}


@pytest.mark.parametrize("name", NAMES)
def test_unrecorded_entry_of_ours_is_recognized(at: Path, name: str) -> None:
    """An entry as --url writes it is ours without a record; one with the token itself, or of another server, is not."""
    assert run("install", name, "--url", URL, "--with", "server") == 0
    entry = server(at, name)
    harness = load(name)
    assert harness.recognizes(entry)
    foreign = json.loads(json.dumps(entry).replace("/mcp", "/sse"))
    assert not harness.recognizes(foreign)
    if "headers" in entry:
        assert not harness.recognizes({**entry, "headers": {"Authorization": f"Bearer {TOKEN}"}})
        assert not harness.recognizes({**entry, "headers": {}})
    (at / ".nexus/generated.json").unlink()
    assert run("install", name, "--url", URL, "--with", "server") == 0
    assert run("uninstall", name) == 0
    assert [data for data in tree(at).values() if data is not None] == []


def test_recorded_server_of_a_clone_has_to_be_named(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A record may come with a clone, and its server would get the token: it is refused until the user names it."""
    assert run("install", "claude-code", "--url", URL) == 0
    before = tree(at)
    assert run("install", "claude-code", "--force") == 2
    assert f"names the server {URL}, which would get your token" in capsys.readouterr().err
    assert tree(at) == before
    assert run("install", "claude-code", "--local") == 0


def test_recorded_server_of_this_machine_stays(at: Path) -> None:
    """A loopback server, and one in user scope, is kept by an installation that names none."""
    assert run("install", "claude-code", "--url", "http://127.0.0.1:8750/mcp") == 0
    assert run("install", "claude-code", "--gate", "warn") == 0
    assert server(at, "claude-code")["url"] == "http://127.0.0.1:8750/mcp"
    assert run("uninstall", "claude-code") == 0
    assert run("install", "codex", "--scope", "user", "--url", URL) == 0
    assert run("install", "codex", "--scope", "user", "--gate", "warn") == 0
    assert run("install", "codex", "--scope", "user", "--url", URL, "--check") == 0


REFUSED = {
    ("--url", "http://nexus.example.org/mcp"): "clear text",
    ("--url", "https://user:SECRET@nexus.example.org/mcp"): "may not have a user name or a password",
    ("--url", "https://nexus.example.org/mcp?key=SECRET"): "query",
    ("--url", "https://nexus.example.org"): "ends with /mcp",
    ("--url", URL, "--local"): "do not go together",
    ("--url", URL, "--fast-hooks"): "do not go together",
    ("--url", URL, "--token-env", "A-B"): "name of an environment variable",
    ("--url", URL, "--token-env", TOKEN): "looks like a token",
    ("--url", URL, "--with", "server,status-line"): "shows the files of this machine",
    ("--token-env", "MINE"): "--token-env needs --url",
    ("--allow-http",): "--allow-http needs --url",
}


@pytest.mark.parametrize("words", REFUSED)
def test_wrong_options_are_refused(at: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """The refusal names the reason and no secret, and nothing is written."""
    assert run("install", "claude-code", *words) == 2
    err = capsys.readouterr().err
    assert REFUSED[words] in err
    assert "SECRET" not in err
    assert "s" * 43 not in err
    assert tree(at) == {}


def test_plain_http_is_written_where_the_user_allows_it(at: Path) -> None:
    """With --allow-http the hook has the option, too; another URL needs it anew."""
    plain = "http://nexus.example.org/mcp"
    assert run("install", "claude-code", "--url", plain, "--allow-http") == 0
    assert hook_words(at, "claude-code")[-3:] == ["--url", plain, "--allow-http"]
    assert run("install", "claude-code", "--url", "http://other.example.org/mcp") == 2
    assert run("install", "claude-code", "--url", URL) == 0
    assert hook_words(at, "claude-code")[-2:] == ["--url", URL]


def test_switch_changes_server_and_hooks_together(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Server entry and hooks always use the same server: --with may not leave out an installed part."""
    assert run("install", "claude-code") == 0
    before = tree(at)
    assert run("install", "claude-code", "--url", URL, "--with", "server") == 2
    assert "The hooks would still use another server" in capsys.readouterr().err
    assert tree(at) == before


def test_status_line_goes_with_a_remote_server(at: Path) -> None:
    """A status line shows the files of this machine, so a switch to a server over HTTP removes it."""
    assert run("install", "claude-code", "--with", "server,hooks,status-line") == 0
    assert run("install", "claude-code", "--url", URL) == 0
    assert "statusLine" not in json.loads((at / ".claude/settings.json").read_text())


def test_list_asks_the_server_without_a_token(
    at: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """--list shows whether the server answers, sends no token, and names an unset variable."""
    with Listener(b"HTTP/1.1 401 X\r\nContent-Length: 0\r\n\r\n", b"") as listener:
        assert run("install", "codex", "--url", f"http://127.0.0.1:{listener.port}/mcp", "--with", "server") == 0
        assert run("install", "codex", "--list") == 0
        assert "server; the server answers" in capsys.readouterr().out
        monkeypatch.delenv("NEXUS_TOKEN")
        assert run("install", "codex", "--list") == 0
    out = capsys.readouterr().out
    assert "server; the server does not answer" in out
    assert f"The server http://127.0.0.1:{listener.port}/mcp " in out
    assert "Check that it runs and that the URL is right." in out
    assert "NEXUS_TOKEN is not set here" in out
    assert TOKEN.encode() not in b"".join(listener.heard)


def test_list_names_a_program_that_is_no_server(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another program may listen at the URL."""
    with Listener(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as listener:
        assert run("install", "codex", "--url", f"http://127.0.0.1:{listener.port}/mcp", "--with", "server") == 0
        assert run("install", "codex", "--list") == 0
    assert "answered with status 200. Check that it is the URL of a nexus-mcp server." in capsys.readouterr().out
