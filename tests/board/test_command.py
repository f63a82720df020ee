"""`nexus-mcp board` as a process: its address, its errors, its end, and the export."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from nexus_mcp.board.export import MARK
from nexus_mcp.board.security import HEADERS, MOST_REQUESTS
from nexus_mcp.views.files import LARGEST
from tests.board.process import Board
from tests.board.test_pages import Elements
from tests.browser import samples
from tests.cli.support import COMMAND, LIMIT, environment, nexus
from tests.support import Project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    made = Board(cwd=samples.typical(tmp_path / "x"))
    yield made
    made.end()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_open_streams(board: Board, tmp_path: Path, number: int) -> None:
    """With a stream that waits, Ctrl-C, SIGTERM and a closed terminal end the process with code 0, silently, and leave
    no file.
    """
    before = Project(tmp_path / "x").snapshot()
    answer = board.ask("GET", "/events?projects=x&seen=", Cookie=board.cookie())
    assert answer.status == 200
    assert answer.readline().startswith(b"event: nexus-change") or answer.readline()
    _, err = board.end(number)
    answer.close()
    assert (board.process.returncode, err) == (0, "")
    assert Project(tmp_path / "x").snapshot() == before


def test_idle_connections_and_streams_keep_no_page_from_being_shown(board: Board) -> None:
    """Connections without a request keep nobody out; too many streams are refused with the headers and a sentence."""
    cookie = board.cookie()
    with ExitStack() as stack:
        for _ in range(MOST_REQUESTS + 5):
            stack.enter_context(socket.create_connection(("127.0.0.1", board.port)))
        assert board.ask("GET", "/p/x/", Cookie=cookie).status == 200
        for _ in range(MOST_REQUESTS):
            assert board.ask("GET", "/events?projects=x&seen=", Cookie=cookie).status == 200
        refused = board.ask("GET", "/p/x/", Cookie=cookie)
        assert (refused.status, b"Close some" in refused.read()) == (503, True)
        assert "default-src 'none'" in refused.headers["content-security-policy"]
        assert board.ask("GET", "/").status == 200


def test_it_serves_pages_over_http(board: Board) -> None:
    """The whole way: token, cookie, page; and without the cookie nothing."""
    answer = board.ask("GET", "/p/x/", Cookie=board.cookie())
    assert (answer.status, "Links survive a restart" in answer.read().decode()) == (200, True)
    assert answer.headers["server"] is None
    refused = board.ask("GET", "/p/x/")
    assert (refused.status, "restart" in refused.read().decode()) == (403, False)


@pytest.mark.parametrize("request_", [b"x\r\n\r\n", b"GET / HTTP/1.1\r\nbad header\r\n\r\n"])
def test_a_malformed_request_is_refused_with_the_headers(board: Board, request_: bytes) -> None:
    """What is no HTTP is answered by the server itself, with all headers of any other answer."""
    with socket.create_connection(("127.0.0.1", board.port), timeout=LIMIT) as connection:
        connection.sendall(request_)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert (answer.status, answer.read()) == (400, b"Invalid HTTP request received.\n")
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; ")
        assert connection.recv(1) == b""
    assert board.ask("GET", "/").status == 200


def test_a_malformed_body_ends_an_answer_that_has_begun(board: Board) -> None:
    """No second answer is written into a stream that is open."""
    cookie = board.cookie()
    head = f"GET /events?projects=x&seen= HTTP/1.1\r\nHost: 127.0.0.1:{board.port}\r\nCookie: {cookie}\r\n"
    with socket.create_connection(("127.0.0.1", board.port), timeout=LIMIT) as connection:
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        data = b""
        while b"nexus-change" not in data:
            data += connection.recv(4096)
        connection.sendall(b"no length\r\n")
        while more := connection.recv(4096):
            data += more
    assert data.count(b"HTTP/1.1") == 1
    assert data.startswith(b"HTTP/1.1 200")


def test_the_folder_of_a_killed_board_goes_with_the_next_one(tmp_path: Path) -> None:
    """A killed board leaves its temporary folder, and the next one removes it; that of a running board stays."""
    root, temporary = samples.typical(tmp_path / "x"), tmp_path / "tmp"
    temporary.mkdir()
    killed = Board(cwd=root, TMPDIR=str(temporary))
    running = Board(cwd=root, TMPDIR=str(temporary))
    assert len(list(temporary.iterdir())) == 2
    killed.end(signal.SIGKILL)
    stays = set(temporary.iterdir())
    third = Board(cwd=root, TMPDIR=str(temporary))
    assert len(stays & set(temporary.iterdir())) == 1
    assert running.ask("GET", "/").status == 200
    third.end(signal.SIGTERM)
    running.end(signal.SIGTERM)
    assert list(temporary.iterdir()) == []


def test_a_port_in_use_is_one_sentence(tmp_path: Path) -> None:
    """The error names the port and the next step; exit code 2."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = nexus("board", "--port", str(port), cwd=tmp_path)
    assert ran.code == 2
    assert ran.err.startswith(f"nexus-mcp: Port {port} is in use, ")
    assert ran.err.endswith(". Use the board that runs, or start this one with --port 0.\n")
    assert any(by in ran.err for by in (f"(process {os.getpid()})", "perhaps by another board"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("none",), "'none' is not a folder"),
        (("--port", "99999"), "--port needs a number from 0 to 65535"),
        (("--port", "x"), "--port needs a number from 0, not 'x'"),
        (("--projects", "none"), "cannot be read"),
        (("--export", "full"), "has files that are no export"),
        (("--export", "full/file"), "is no folder"),
    ],
)
def test_wrong_words_are_one_sentence(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """A wrong folder, port, list or export folder ends it with code 2, a sentence and the next step."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    ran = nexus("board", *words, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_it_says_when_there_is_no_browser(tmp_path: Path) -> None:
    """--open without a browser: the board runs, and a sentence on stderr says so."""
    process = subprocess.Popen(
        [*COMMAND, "board", "--port", "0", "--open"],
        cwd=tmp_path,
        env={**environment(), "PATH": "/nonexistent", "DISPLAY": "", "BROWSER": "/nonexistent/browser"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=LIMIT)
    assert line == "No browser could be opened: open the address yourself.\n"
    assert process.returncode == 0


def test_a_list_shows_vanished_projects(tmp_path: Path) -> None:
    """A line of --projects that is no folder any more is on the overview as vanished."""
    samples.typical(tmp_path / "x")
    (tmp_path / "list").write_text("x\ngone\n", encoding="utf-8")
    board = Board("--projects", "list", cwd=tmp_path)
    page = board.ask("GET", "/", Cookie=board.cookie()).read().decode()
    board.end()
    assert "Vanished" in page
    assert "Links survive a restart" in page


def test_an_export_has_every_page_and_only_relative_links(tmp_path: Path) -> None:
    """Each link of each file leads to a file of the export; nothing is loaded from elsewhere; nothing is written to the
    projects.
    """
    samples.typical(tmp_path / "x")
    samples.hostile(tmp_path / "h")
    large = Project(tmp_path / "h").put("state/artifacts/large.txt", b"")
    os.truncate(large, LARGEST + 1)
    Project(tmp_path / "h").put("memory/bad.md", b"\xff\xfe")
    before = [Project(tmp_path / name).snapshot() for name in ("x", "h")]
    ran = nexus("board", "--export", "out", "x", "h", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    files = sorted((tmp_path / "out").rglob("*.html"))
    assert f"Wrote {len(files)} pages." in ran.out
    assert {"index.html", "x/index.html", "x/graph.html", "h/cycle-1.html"} <= {
        str(file.relative_to(tmp_path / "out")) for file in files
    }
    for file in files:
        for tag, attributes in Elements(file.read_text(encoding="utf-8")).found:
            for name in ("href", "src", "action"):
                target = attributes.get(name)
                if not target or re.match("#|https?://example.com", target):
                    continue
                assert (file.parent / target.partition("#")[0]).is_file(), (file, tag, name, target)
    assert [Project(tmp_path / name).snapshot() for name in ("x", "h")] == before
    assert not list((tmp_path / "out").rglob("raw-*.svg"))


@pytest.mark.parametrize("name", [".nexus/out", ".nexus/state/artifacts/site", ".git/out", "a/../.nexus", "link/out"])
def test_an_export_into_nexus_or_git_is_refused(tmp_path: Path, name: str) -> None:
    """The board writes nothing where nexus-mcp and git own all files, by no way into it."""
    root = samples.typical(tmp_path / "x")
    (root / ".git").mkdir()
    (root / "link").symlink_to(".nexus")
    before = Project(root).snapshot()
    ran = nexus("board", "--export", f"x/{name}", "x", cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "Name a" in ran.err
    assert Project(root).snapshot() == before


def test_an_export_replaces_an_older_one_whole(tmp_path: Path) -> None:
    """A page of an older export that is not in the new one goes; a foreign folder stays as it is."""
    samples.empty(tmp_path / "x")
    assert nexus("board", "--export", "out", "x", cwd=tmp_path).code == 0
    (tmp_path / "out/old.html").touch()
    assert nexus("board", "--export", "out", "x", cwd=tmp_path).code == 0
    assert not (tmp_path / "out/old.html").exists()
    (tmp_path / f"out/{MARK}").unlink()
    assert nexus("board", "--export", "out", "x", cwd=tmp_path).code == 2
    assert (tmp_path / "out/index.html").exists()
    assert not list(tmp_path.glob("out.new*"))
