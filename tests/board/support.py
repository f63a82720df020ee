"""A board over the projects of a test, and a client that is signed in to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.testclient import TestClient

from nexus_mcp.board.app import Board, make_app
from nexus_mcp.board.projects import open_projects
from nexus_mcp.board.security import EXCHANGE, Session
from nexus_mcp.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


PORT = 8737
ORIGIN = f"http://127.0.0.1:{PORT}"


def make_board(cache: Path, *roots: Path) -> Board:
    """Return a board of these projects; `cache` is an absent folder."""
    cache.mkdir()
    return Board(open_projects([Workspace(str(root)) for root in roots], str(cache)), Session(PORT))


def client_of(board: Board, *, signed_in: bool = True, raises: bool = True) -> TestClient:
    """Return a client of the board; `raises` passes on the exception of a handler."""
    client = TestClient(make_app(board), base_url=ORIGIN, raise_server_exceptions=raises, follow_redirects=False)
    if signed_in:
        answer = client.post(EXCHANGE, content=board.session.token, headers={"origin": ORIGIN})
        assert answer.status_code == 204, answer.text
    return client


def pages_of(client: TestClient, *paths: str) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of each page, which has to be there."""
    for path in paths:
        answer = client.get(path)
        assert answer.status_code == 200, (path, answer.text[-2000:])
        yield path, answer.text


def header_names(headers: Mapping[str, str]) -> set[str]:
    return {name.lower() for name in headers}
