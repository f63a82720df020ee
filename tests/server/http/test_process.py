"""`serve --http` as a process: its output, raw sockets, signals, and settings with which it does not start."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from nexus_mcp.server.http import tokens
from tests.cli.support import COMMAND, LIMIT, environment, nexus
from tests.server.http.serving import ACCEPT, headers_of
from tests.wire.connection import modern

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Json = Any
TOKEN = re.compile(r"Token: (nexus_[A-Za-z0-9_-]{43})\n")


def beside(folder: Path) -> str:
    """Return a place for the configuration outside of the project."""
    return str(folder.parent / f"{folder.name}-config")


class Server:
    """A running server, its token and its port."""

    def __init__(self, folder: Path, *words: str, environ: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "serve", "--http", "127.0.0.1:0", "--log-level", "debug", *words],
            cwd=folder,
            env={**environment(), "XDG_CONFIG_HOME": beside(folder), **(environ or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        match = TOKEN.fullmatch(self.process.stdout.readline())
        assert match, self.process.communicate()
        self.token = match[1]
        self.port = int(self.process.stdout.readline().split(":")[2].split("/")[0])

    def ask(self, message: Json, **more: str) -> tuple[int, Json]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        headers = {"Authorization": f"Bearer {self.token}", "Accept": ACCEPT, "Content-Type": "application/json"}
        connection.request("POST", "/mcp", json.dumps(message), {**headers, **headers_of(message), **more})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, json.loads(body) if body[:1] == b"{" else body.decode()

    def end(self, number: int = signal.SIGKILL) -> tuple[str, str]:
        self.process.send_signal(number)
        return self.process.communicate(timeout=LIMIT)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("project"))
    yield made
    out, err = made.end(signal.SIGTERM)
    assert (made.process.returncode, out) == (0, "")
    assert made.token not in err, "a log holds the token"
    assert "Traceback" not in err


def test_it_answers_on_its_port(server: Server) -> None:
    """The printed token and port are those that work."""
    status, answer = server.ask(modern(1, "tools/call", name="task_list", arguments={}))
    assert (status, answer["result"]["structuredContent"]) == (200, {"exists": False})
    assert server.ask(modern(1, "tools/list"), Authorization="Bearer x")[0] == 401


HEAD = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
SENT = {
    "no HTTP": ("x\r\n\r\n", 400),
    "a header without a colon": ("GET / HTTP/1.1\r\nbad\r\n\r\n", 400),
    "two lengths": (f"{HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}", 400),
    "a negative length": (f"{HEAD}Content-Length: -2\r\n\r\n", 400),
    "length and chunks": (f"{HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "an unknown coding": (f"{HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400),
    "a chunk without a size": (f"{HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    "a header of 100 KB": (f"GET /healthz HTTP/1.1\r\nX: {'x' * 100_000}\r\n\r\n", 400),
    "two hosts": ("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n\r\n", 400),
    "no host": ("GET /healthz HTTP/1.0\r\n\r\n", 421),
    "a space before the colon": (f"{HEAD}Content-Length : 2\r\n\r\n{{}}", 400),
    "a null byte": ("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX: a\0b\r\n\r\n", 400),
    "a folded header": ("GET /healthz HTTP/1.1\r\nHost:\r\n evil.example\r\n\r\n", 421),
}


@pytest.mark.parametrize("what", SENT)
def test_malformed_http_is_refused(server: Server, what: str) -> None:
    """Each is refused on its own connection, which is closed, and the server goes on."""
    text, status = SENT[what]
    with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT) as connection:
        connection.sendall(text.replace("{port}", str(server.port)).replace("{token}", server.token).encode())
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        answer.read()
        assert answer.status == status
    assert server.ask(modern(1, "tools/list"))[0] == 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_open_streams(tmp_path: Path, number: int) -> None:
    """A stream that is open gets its result, and the process ends with code 0."""
    made = Server(tmp_path)
    message = modern(1, "subscriptions/listen", notifications={"promptsListChanged": True})
    connection = http.client.HTTPConnection("127.0.0.1", made.port, timeout=LIMIT)
    headers = {"Authorization": f"Bearer {made.token}", "Accept": ACCEPT, "Content-Type": "application/json"}
    connection.request("POST", "/mcp", json.dumps(message), {**headers, **headers_of(message)})
    answer = connection.getresponse()
    assert answer.readline() == b"event: message\r\n"
    made.end(number)
    assert b'"resultType":"complete"' in answer.read()
    connection.close()
    assert made.process.returncode == 0


REFUSED = {
    ("0.0.0.0:0",): "needs the names by which clients call it",
    ("0.0.0.0:0", "--allow-host", "a.example"): "needs TLS",
    ("0.0.0.0:0", "--allow-host", "a.example", "--behind-proxy"): "needs tokens",
    ("127.0.0.1:0", "--behind-proxy"): "needs the names",
    ("0.0.0.0:0", "--allow-host", "*.example"): "is no value of a Host header",
    ("127.0.0.1:0", "--allow-origin", "a.example"): "is no origin",
    ("127.0.0.1:0", "--certfile", "none"): "belong together",
    ("127.0.0.1:0", "--certfile", "none", "--keyfile", "none"): "cannot be used: No such file",
    ("127.0.0.1",): "needs an address",
    ("evil.example:80",): "needs an address",
    ("127.0.0.1:70000",): "needs an address",
    ("127.0.0.1:0", "--sdk"): "exclude each other",
    ("127.0.0.1:0", "--projects", "none"): "cannot be read",
    ("127.0.0.1:0", "--tokens", "tokens.json"): "is inside the project",
}


@pytest.mark.parametrize("words", REFUSED)
def test_it_refuses_to_start(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Settings that would let strangers in, or that contradict each other, end it with code 2 and one sentence."""
    ran = nexus("serve", "--http", *words, cwd=tmp_path, env={"XDG_CONFIG_HOME": beside(tmp_path)})
    assert (ran.code, ran.out) == (2, "")
    assert REFUSED[words] in ran.err


def test_port_in_use_is_one_sentence(tmp_path: Path, server: Server) -> None:
    """The error names the port and the next step."""
    ran = nexus("serve", "--http", f"127.0.0.1:{server.port}", cwd=tmp_path, env={"XDG_CONFIG_HOME": beside(tmp_path)})
    assert ran.code == 2
    assert f"Port {server.port} is in use, " in ran.err
    assert "Use another port; 0 takes any free one." in ran.err


def test_options_of_http_need_http(tmp_path: Path) -> None:
    """Without --http its options are refused, because they would have no effect."""
    ran = nexus("serve", "--allow-host", "a.example", cwd=tmp_path)
    assert (ran.code, "--allow-host needs --http." in ran.err) == (2, True)


def test_token_command_makes_lists_and_revokes(tmp_path: Path) -> None:
    """The printed token is valid, the list shows no secret, and revoke removes the token."""
    file = str(tmp_path / "tokens.json")
    made = nexus("token", "new", "ci", "--rights", "read", "--projects", "shop", "--tokens", file, cwd=tmp_path)
    match = TOKEN.match(made.out)
    assert match, made.err
    found = tokens.find(tokens.load(file), match[1])
    assert found is not None
    assert (found.name, found.projects, found.rights) == ("ci", ("shop",), frozenset(("read",)))
    assert (tmp_path / "tokens.json").stat().st_mode & 0o777 == 0o600
    assert match[1] not in (tmp_path / "tokens.json").read_text()
    assert nexus("token", "new", "ci", "--tokens", file, cwd=tmp_path).code == 2
    listed = nexus("token", "list", "--json", "--tokens", file, cwd=tmp_path)
    (row,) = json.loads(listed.out)["tokens"]
    assert (row["name"], row["rights"], "hash" in row) == ("ci", ["read"], False)
    assert nexus("token", "revoke", "ci", "--tokens", file, cwd=tmp_path).code == 0
    assert nexus("token", "revoke", "ci", "--tokens", file, cwd=tmp_path).code == 2
    assert tokens.load(file) == ()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"version": 2, "tokens": []}', '{"version": 1}', '{"version": 1, "tokens": [{"name": "a"}]}',
     '{"version": 1, "tokens": [{"name": "a", "hash": "sha256:%s", "rights": ["all"], "projects": null}]}' % ("0" * 64),
     '{"version": 1, "tokens": [{"name": "a", "hash": "sha256:%s", "rights": ["read"]}]}' % ("0" * 64)],
)  # fmt: skip
def test_token_file_that_cannot_be_read_is_refused_and_kept(tmp_path: Path, text: str) -> None:
    """A malformed file is never taken for an empty one, and never overwritten."""
    file = tmp_path / "tokens.json"
    file.write_text(text)
    file.chmod(0o600)
    for words in (("new", "x"), ("list",), ("revoke", "x")):
        ran = nexus("token", *words, "--tokens", str(file), cwd=tmp_path)
        assert ran.code == 2, words
    assert file.read_text() == text


def test_link_to_a_token_file_is_refused(tmp_path: Path) -> None:
    """A link as the token file is refused: it could lead to a file of another user."""
    (tmp_path / "real.json").write_text("{}")
    (tmp_path / "tokens.json").symlink_to("real.json")
    ran = nexus("token", "list", "--tokens", str(tmp_path / "tokens.json"), cwd=tmp_path)
    assert (ran.code, "cannot be opened" in ran.err) == (2, True)
