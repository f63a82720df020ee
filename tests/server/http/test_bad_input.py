"""Bad input of a server over HTTP as a process: ports, addresses, files, projects, and a second server beside it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from nexus_mcp.errors import UsageError
from nexus_mcp.server.http import tokens
from nexus_mcp.web.projects_file import read
from tests.cli.support import COMMAND, LIMIT, environment, nexus
from tests.server.http.serving import Client
from tests.server.http.test_guard import run
from tests.server.http.test_process import Server, beside
from tests.wire.connection import modern

if TYPE_CHECKING:
    from pathlib import Path

Json = Any
CLIENTS, EACH = 4, 5
READ = modern(1, "tools/call", name="task_list", arguments={})


def adding(title: str, id: int = 1) -> Json:
    return modern(id, "tools/call", name="task_add", arguments={"title": title, "context": "C"})


@pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="the system does not show it")
def test_port_in_use_names_its_process(tmp_path: Path) -> None:
    """The error says which process listens there."""
    made = Server(tmp_path)
    ran = nexus("serve", "--http", f"127.0.0.1:{made.port}", cwd=tmp_path, env={"XDG_CONFIG_HOME": beside(tmp_path)})
    made.end(signal.SIGTERM)
    assert (ran.code, ran.out) == (2, "")
    assert f"Port {made.port} is in use, by " in ran.err
    assert f"(process {made.process.pid})." in ran.err


def test_address_of_another_machine_is_refused(tmp_path: Path) -> None:
    """An address that this machine does not have is named, with those that it has."""
    file = str(tmp_path / "config" / "tokens.json")
    tokens.add(file, "laptop", None, tokens.RIGHTS, "")
    words = ["--allow-host", "a.example", "--behind-proxy", "--tokens", file]
    (tmp_path / "project").mkdir()
    ran = nexus("serve", "--http", "192.0.2.1:8750", *words, cwd=tmp_path / "project")
    assert (ran.code, "192.0.2.1 is no address of this machine. Use one of its addresses" in ran.err) == (2, True)


@pytest.mark.parametrize("what", ["a folder", "a pipe", "for others"])
def test_token_file_that_cannot_be_used_is_one_sentence(tmp_path: Path, what: str) -> None:
    """The server does not start, and says what is wrong with the file and what to do."""
    file = tmp_path / "tokens.json"
    if what == "a folder":
        file.mkdir()
    elif what == "a pipe":
        os.mkfifo(file)
    else:
        file.write_text("{}")
        file.chmod(0o640)
    (tmp_path / "project").mkdir()
    ran = nexus("serve", "--http", "127.0.0.1:0", "--tokens", str(file), cwd=tmp_path / "project")
    assert (ran.code, ran.out) == (2, "")
    assert ("Others may read or change" if what == "for others" else "is not a plain file") in ran.err


def test_token_that_is_written_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that cannot be synced undoes nothing: the token holds, so its maker has to get it."""
    real = os.fsync

    def fsync(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    file = str(tmp_path / "tokens.json")
    text = tokens.add(file, "laptop", None, tokens.RIGHTS, "")
    assert tokens.find(tokens.load(file), text)


@pytest.mark.parametrize("line", ["a=", "a= ", "/srv/a\0b"])
def test_line_without_a_folder_is_named(tmp_path: Path, line: str) -> None:
    """The error of a projects file has the number of the line."""
    file = tmp_path / "projects.txt"
    file.write_text(f"# projects\n/srv/shop\n{line}\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"line 3 of .* names no folder"):
        read(str(file))


def test_project_that_vanishes_is_404_and_comes_back(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Its folder is moved away and back: 404 and a line in the log, then its tasks again. Nothing is made meanwhile."""
    root, moved = tmp_path / "project", tmp_path / "moved"

    async def work(client: Client) -> None:
        assert (await client.modern(adding("kept"))).status == 200
        root.rename(moved)
        assert (await client.modern(adding("lost"))).status == 404
        assert not root.exists()
        moved.rename(root)
        listed = (await client.modern(READ)).message["result"]["structuredContent"]
        assert [task["title"] for task in listed["tasks"]] == ["kept"]

    run(tmp_path, work)
    assert f"the folder of a project is gone: {root}" in capfd.readouterr().err


def test_project_that_was_made_again_is_read_anew(tmp_path: Path) -> None:
    """A folder with the same name is another project: nothing of the old one is shown or written there."""
    root = tmp_path / "project"

    async def work(client: Client) -> None:
        assert (await client.modern(adding("old"))).status == 200
        shutil.rmtree(root)
        root.mkdir()
        answer = (await client.modern(READ)).message["result"]["structuredContent"]
        assert answer == {"exists": False}

    run(tmp_path, work)


def test_servers_over_http_and_stdio_share_a_project(tmp_path: Path) -> None:
    """Clients of both add tasks at the same time: every task is there once, with an id of its own."""
    made = Server(tmp_path)

    def over_http(client: int) -> list[int]:
        found = []
        for number in range(EACH):
            status, answer = made.ask(adding(f"http {client} {number}"))
            assert status == 200
            found.append(answer["result"]["structuredContent"]["task"]["id"])
        return found

    def over_stdio(client: int) -> list[int]:
        lines = [json.dumps(adding(f"stdio {client} {number}", number + 1)) for number in range(EACH)]
        done = subprocess.run(
            [*COMMAND, "serve"], cwd=tmp_path, env=environment(), input="\n".join(lines) + "\n",
            capture_output=True, text=True, timeout=LIMIT, check=True,
        )  # fmt: skip
        return [json.loads(line)["result"]["structuredContent"]["task"]["id"] for line in done.stdout.splitlines()]

    with ThreadPoolExecutor(2 * CLIENTS) as workers:
        work = [workers.submit(each, client) for client in range(CLIENTS) for each in (over_http, over_stdio)]
        ids = [id for one in work for id in one.result()]
    made.end(signal.SIGTERM)
    kept = json.loads((tmp_path / ".nexus" / "state" / "tasks.json").read_bytes())["tasks"]
    assert sorted(ids) == [task["id"] for task in kept] == [*range(1, 2 * CLIENTS * EACH + 1)]
    wanted = {f"{over} {client} {n}" for over in ("http", "stdio") for client in range(CLIENTS) for n in range(EACH)}
    assert {task["title"] for task in kept} == wanted


def test_one_token_file_serves_two_servers(tmp_path: Path) -> None:
    """Both accept its tokens, and a revoked token is refused by both."""
    file = str(tmp_path / "tokens.json")
    text = tokens.add(file, "laptop", None, tokens.RIGHTS, "")
    servers = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        servers.append(Server(tmp_path / name, "--tokens", file))
    with_it = {"Authorization": f"Bearer {text}"}
    assert [one.ask(READ, **with_it)[0] for one in servers] == [200, 200]
    tokens.revoke(file, "laptop")
    assert [one.ask(READ, **with_it)[0] for one in servers] == [401, 401]
    for one in servers:
        one.end(signal.SIGTERM)


def test_too_few_descriptors_limit_the_connections(tmp_path: Path) -> None:
    """The server says how many fit, still answers beyond that, and does not start with too few for its own files."""
    words = ["sh", "-c", 'ulimit -n "$0"; exec "$@"']
    command = [*COMMAND, "serve", "--http", "127.0.0.1:0"]
    env = {**environment(), "XDG_CONFIG_HOME": beside(tmp_path)}
    ran = subprocess.run([*words, "60", *command], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (ran.returncode, "The limit of 60 open files is too low" in ran.stderr) == (2, True)
    with subprocess.Popen(
        [*words, "200", *command], cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Token: ")
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=LIMIT)
    assert "only 72 connections fit into the limit of 200 open files" in err
