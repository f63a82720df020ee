"""Attempts of an intruder on raw sockets: paths, methods, upgrades, requests behind others, links in place of files."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from nexus_mcp.server.http import tokens
from tests.cli.support import COMMAND, LIMIT, environment
from tests.server.http.serving import ACCEPT, Client, headers_of, make_token
from tests.server.http.test_guard import run
from tests.wire.connection import modern

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Json = Any
READ = modern(1, "tools/call", name="task_list", arguments={})
WRITE = modern(1, "tools/call", name="task_add", arguments={"title": "T", "context": "C"})


class Victim:
    """A server with the projects `a` and `b`, and a token for `a` only."""

    def __init__(self, folder: Path) -> None:
        for name in ("a", "b"):
            (folder / name).mkdir()
        (folder / "projects.txt").write_text(f"a={folder}/a\nb={folder}/b\n")
        file = str(folder / "config" / "tokens.json")
        self.token = tokens.add(file, "a", ("a",), tokens.RIGHTS, "")
        words = ["--projects", str(folder / "projects.txt"), "--tokens", file]
        self.process = subprocess.Popen(
            [*COMMAND, "serve", "--http", "127.0.0.1:0", *words],
            cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.process.stdout.readline()
        self.port = int(self.process.stdout.readline().split(":")[2].split("/")[0])

    def request(self, path: str = "/p/a/mcp", method: str = "POST", *more: str, last: bool = True) -> bytes:
        """Return a request with the token; the server closes the connection after the `last` one."""
        body = json.dumps(READ)
        fields = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.token}",
            "Accept": ACCEPT,
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **headers_of(READ),
            **({"Connection": "close"} if last else {}),
        }
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), *more]
        return "\r\n".join([*lines, "", body]).encode("latin-1")

    def statuses(self, data: bytes) -> list[int]:
        """Return the status of each response."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT) as connection:
            connection.sendall(data)
            found = b""
            with contextlib.suppress(ConnectionResetError):
                while part := connection.recv(1 << 16):
                    found += part
        return [int(one[:3]) for one in found.split(b"HTTP/1.1 ")[1:]]


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    made = Victim(tmp_path_factory.mktemp("victim"))
    yield made
    made.process.send_signal(signal.SIGTERM)
    made.process.communicate(timeout=LIMIT)
    assert made.process.returncode == 0


@pytest.mark.parametrize(
    "path",
    ["/p/b/mcp", "/p/%62/mcp", "/p/..%2fb/mcp", "/p/a/../b/mcp", "/p/a%2f..%2fb/mcp", "/p/a/mcp/../../b/mcp",
     "/p/b%00/mcp", "/p/B/mcp", "/p//mcp", "//p/a/mcp", "/p/a/mcp/", "/p/a%252fmcp", "/p/%ff/mcp", "/p/a;b/mcp", "*",
     "http://evil.example/p/a/mcp", "/mcp"],
)  # fmt: skip
def test_no_path_leads_to_another_project(victim: Victim, path: str) -> None:
    """Every path other than those of the token's project gets 404, in any spelling."""
    assert victim.statuses(victim.request(path)) == [404]


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "PUT", "PATCH", "CONNECT", "PRI"])
def test_other_methods_do_nothing(victim: Victim, method: str) -> None:
    """Other methods are refused, with and without a token."""
    assert victim.statuses(victim.request(method=method)) == [405]
    bare = f"{method} /p/a/mcp HTTP/1.1\r\nHost: 127.0.0.1:{victim.port}\r\nConnection: close\r\n\r\n"
    assert victim.statuses(bare.encode()) == [401]


def test_request_behind_another_needs_its_own_token(victim: Victim) -> None:
    """A request without a token is refused, even after an accepted one on the same connection."""
    bare = f"POST /p/a/mcp HTTP/1.1\r\nHost: 127.0.0.1:{victim.port}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    assert victim.statuses(victim.request(last=False) + bare.encode()) == [200, 401]


def test_connection_is_never_upgraded(victim: Victim) -> None:
    """HTTP/2 in clear text and WebSocket would pass our deadlines: the request is answered as HTTP/1.1, or refused."""
    upgrade = victim.request("/p/a/mcp", "POST", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA")
    assert victim.statuses(upgrade) == [200]
    assert victim.statuses(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") in ([421], [421, 400])


def test_project_that_became_a_link_is_not_written(tmp_path: Path) -> None:
    """A link in place of a project's folder is an error of the call: nothing is written where it leads."""
    root, other = tmp_path / "project", tmp_path / "other"

    async def work(client: Client) -> None:
        assert (await client.modern(READ)).status == 200
        root.rename(tmp_path / "moved")
        other.mkdir()
        root.symlink_to(other)
        answer = (await client.modern(WRITE)).message["result"]
        assert answer["isError"] is True
        assert "nothing was changed" in answer["structuredContent"]["error"]
        assert list(other.iterdir()) == []

    run(tmp_path, work)


def test_token_file_that_became_a_link_admits_no_token(tmp_path: Path) -> None:
    """Its tokens are refused until the file is a file again; the generated one does not hold either."""

    async def work(client: Client) -> None:
        client.token = make_token(tmp_path, "laptop")
        assert (await client.modern(READ)).status == 200
        os.rename(tmp_path / "tokens.json", tmp_path / "real.json")
        (tmp_path / "tokens.json").symlink_to("real.json")
        assert (await client.modern(READ)).status == 503
        (tmp_path / "tokens.json").unlink()
        assert (await client.modern(READ)).status == 401
        os.rename(tmp_path / "real.json", tmp_path / "tokens.json")
        assert (await client.modern(READ)).status == 200

    run(tmp_path, work)
