"""The guard: which requests are answered, and which headers every answer has."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from nexus_mcp.board.security import EXCHANGE, HEADERS, Session
from tests.board.support import ORIGIN, PORT, client_of, make_board

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.testclient import TestClient

    from nexus_mcp.board.app import Board
    from tests.support import Project

PATHS = (
    "/",
    "/p/root/",
    "/p/root/graph",
    "/p/none/",
    "/events?projects=none",
    "/changed?projects=none",
    "/changed?projects=root",
    "/assets/board.js",
    "/assets/../app.py",
    "/none",
)
HOSTS = {
    f"127.0.0.1:{PORT}": True,
    f"localhost:{PORT}": True,
    f"127.0.0.1:{PORT + 1}": False,
    "127.0.0.1": False,
    f"evil.example:{PORT}": False,
    "": False,
}
ORIGINS = {None: True, "own": True, "http://evil.example": False, "null": False, f"https://127.0.0.1:{PORT}": False}


@pytest.fixture
def board(project: Project, tmp_path: Path) -> Board:
    return make_board(tmp_path / "cache", project.root)


def _check_headers(answer: object) -> None:
    """Insist on the headers of every answer."""
    headers = answer.headers  # type: ignore[attr-defined]
    for name, value in HEADERS.items():
        assert headers.get(name) == value, (name, dict(headers))
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "unsafe-eval" not in policy
    assert "server" not in headers


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_every_combination_is_answered_as_the_rules_say(board: Board, method: str) -> None:
    """Cookie x host x origin x path: without the right host and origin, or the cookie, nothing is shown; all answers
    have the headers.
    """
    key = next(iter(board.projects))
    with (
        client_of(board) as signed_in,
        client_of(board, signed_in=False) as stranger,
    ):  # one event loop for all requests
        _check_combinations(board, key, method, {True: signed_in, False: stranger})


def _check_combinations(board: Board, key: str, method: str, clients: dict[bool, TestClient]) -> None:
    for has_cookie, host, origin, pattern in product(clients, HOSTS, ORIGINS, PATHS):
        path = pattern.replace("/root/", f"/{key}/").replace("=root", f"={key}")
        client = clients[has_cookie]
        headers = {"host": host} | (
            {} if origin is None else {"origin": f"http://{host}" if origin == "own" else origin}
        )
        answer = client.request(method, path, headers=headers)
        context = (has_cookie, host, origin, path, answer.status_code)
        _check_headers(answer)
        is_open = path == "/"
        if not HOSTS[host]:
            assert answer.status_code == 421, context
        elif not ORIGINS[origin]:
            assert answer.status_code == 403, context
        elif method not in ("GET", "HEAD"):
            assert answer.status_code == 405, context
            assert answer.headers["allow"] == "GET, HEAD"
        elif not has_cookie and not is_open:
            assert answer.status_code == 403, context
        elif "none" in path or ".." in path:
            assert answer.status_code == 404, context
        else:
            assert answer.status_code in (200, 303), context
        if not (HOSTS[host] and ORIGINS[origin] and has_cookie):
            assert str(board.projects[key].root) not in answer.text, context


def test_the_token_gets_a_cookie_that_names_the_port(board: Board) -> None:
    """The exchange answers the right token with an HttpOnly, SameSite=Strict cookie, and nothing else."""
    client = client_of(board, signed_in=False)
    answer = client.post(EXCHANGE, content=board.session.token, headers={"origin": ORIGIN})
    assert answer.status_code == 204
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"nexus-board-{PORT}=")
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict")
    assert board.session.token not in cookie
    _check_headers(answer)


@pytest.mark.parametrize("body", ["", "wrong", "x" * 100_000, "\u202e", "{token} "])
def test_a_wrong_token_is_refused(board: Board, body: str) -> None:
    """A wrong, empty, long or padded token gets no cookie."""
    client = client_of(board, signed_in=False)
    content = body.replace("{token}", board.session.token)
    answer = client.post(EXCHANGE, content=content.encode(), headers={"origin": ORIGIN})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    _check_headers(answer)


@pytest.mark.parametrize(
    "headers", [{}, {"origin": "http://evil.example"}, {"origin": ORIGIN, "sec-fetch-site": "cross-site"}]
)
def test_the_exchange_needs_our_own_page(board: Board, headers: dict[str, str]) -> None:
    """The right token from another site, or without an origin, is refused."""
    answer = client_of(board, signed_in=False).post(EXCHANGE, content=board.session.token, headers=headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_a_cross_site_navigation_shows_the_entry_page_only(board: Board) -> None:
    """A link of another site to the board's address is answered without anything of a project."""
    client = client_of(board, signed_in=False)
    answer = client.get("/", headers={"sec-fetch-site": "cross-site"})
    assert (answer.status_code, "enter.js" in answer.text) == (200, True)
    answer = client_of(board).get(f"/p/{next(iter(board.projects))}/", headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "cookie",
    [
        *("{name}=", "{name}=wrong", "other={value}", "{name}", "x{name}={value}", '{name}="\\777"'),
        *("{name}={value}; {name}=wrong", "{name}=wrong; {name}={value}", "{name}={value}; {name}={value}"),
    ],
)
def test_a_wrong_cookie_is_refused(board: Board, cookie: str) -> None:
    """Another value, the cookie of another port, two values and a malformed header are refused."""
    name = board.session.cookie
    value = board.session.set_cookie().partition("=")[2].partition(";")[0]
    client = client_of(board, signed_in=False)
    header = cookie.replace("{name}", name).replace("{value}", value)
    answer = client.get("/assets/board.js", headers={"cookie": header})
    assert answer.status_code == 403
    _check_headers(answer)


@pytest.mark.parametrize(
    "header", ['prefs={"a": 1}; {ours}', "{ours}; path=/; expires=x", "a b; {ours}", ";;{ours};", "é=é;{ours}"]
)
def test_cookies_of_other_ports_do_not_hide_ours(board: Board, header: str) -> None:
    """A browser sends the cookies of every port of this machine: other programs write what they like into them."""
    ours = board.session.set_cookie().partition(";")[0]
    client = client_of(board, signed_in=False)
    answer = client.get("/assets/board.js", headers={b"cookie": header.replace("{ours}", ours).encode()})
    assert answer.status_code == 200


def test_a_board_on_port_80_answers_an_address_without_a_port() -> None:
    """A browser leaves `:80` out of Host and Origin."""
    assert Session(80).hosts == {"127.0.0.1", "localhost"}


def test_sessions_differ() -> None:
    """Two runs have different tokens and cookies; neither is in the other's name."""
    one, two = Session(1), Session(2)
    assert one.token != two.token
    assert one.cookie != two.cookie
    assert not two.knows([one.set_cookie().partition(";")[0]])


@pytest.mark.parametrize(
    "path",
    [
        "/assets/",
        "/assets/vendor",
        "/assets/%2e%2e/app.py",
        "/assets/vendor/VENDORED.md",
        "/assets//etc/passwd",
        "/assets/vendor/../../app.js",
    ],
)
def test_only_assets_are_sent(board: Board, path: str) -> None:
    """A path that leaves the folder of assets, or names another kind of file, is not found."""
    answer = client_of(board).get(path)
    assert answer.status_code in (404, 405), answer.text[:200]
    _check_headers(answer)


def test_a_failing_page_has_the_headers_too(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception in a handler is answered with a sentence and the headers, without its text."""

    def fail(*_: object) -> None:
        raise RuntimeError("secret")

    client = client_of(board, raises=False)
    monkeypatch.setattr("nexus_mcp.board.app.render", fail)
    answer = client.get(f"/p/{next(iter(board.projects))}/")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    _check_headers(answer)
