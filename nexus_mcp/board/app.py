"""Make the web application: the table of pages, the exchange of the token, assets, images and the stream of changes."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from anyio import to_thread
from sse_starlette.sse import EventSourceResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from nexus_mcp.board import pages
from nexus_mcp.board.links import Links
from nexus_mcp.board.live import PING_S, Hub
from nexus_mcp.board.projects import start_command
from nexus_mcp.board.render import ASSETS, render
from nexus_mcp.board.security import EXCHANGE, SANDBOX, TOKEN_LIMIT, Guard
from nexus_mcp.errors import NexusError, PathRefused, StorageError, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from typing import Any

    from starlette.requests import Request

    from nexus_mcp.board.projects import Project
    from nexus_mcp.board.security import Session

    Make = Callable[[Project, Mapping[str, str]], pages.Page]

# Each page has a path below that of its project. A parameter in the path is passed to the page like a query parameter.
PAGES: dict[str, Make] = {
    "/": pages.now,
    "/graph": pages.graph,
    "/history": pages.history,
    "/history/{number}": pages.cycle,
    "/compare": pages.compare,
    "/decisions": pages.decisions,
    "/charts": pages.charts,
    "/changes": pages.changes,
    "/changes/{line}": pages.state,
    "/files": pages.all_files,
    "/notes/{path:path}": pages.note,
}
_ASSET_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


class Board:
    """The data that the handlers share: the projects, the session, the hub of changes, and the command that starts this
    board again.
    """

    def __init__(self, projects: list[Project], session: Session) -> None:
        self.projects = {project.key: project for project in projects}
        self.session = session
        self.hub = Hub(projects)
        self.command = start_command(projects)

    def links(self, key: str, keys: list[str]) -> Links:
        return Links(key, keys, many=len(self.projects) > 1)


def make_app(board: Board) -> Guard:
    """Return the application of a board, behind its guard."""
    routes = [
        Route("/", partial(_home, board), methods=["GET"]),
        Route(EXCHANGE, partial(_exchange, board), methods=["POST"]),
        Route("/assets/{name:path}", _asset, methods=["GET"]),
        Route("/events", partial(_events, board), methods=["GET"]),
        Route("/changed", partial(_send_checksum, board), methods=["GET"]),
        *(Route(f"/p/{{key}}{path}", partial(_page, board, make), methods=["GET"]) for path, make in PAGES.items()),
        Route("/p/{key}/artifacts/{name:path}", partial(_artifact, board), methods=["GET"]),
        Route("/p/{key}/raw/{name:path}", partial(_raw, board), methods=["GET"]),
    ]
    handlers: Any = {HTTPException: _http_error, Exception: _failure}

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:  # noqa: ARG001
        yield
        board.hub.close()
        await to_thread.run_sync(board.hub.end)

    # The guard wraps the exception handlers, so that the responses to errors have the headers of the guard, too.
    return Guard(Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan), board.session)


async def _home(board: Board, request: Request) -> Response:
    if not request.state.known:
        return HTMLResponse(render("enter.html", {}))
    if len(board.projects) == 1:
        return RedirectResponse(f"/p/{next(iter(board.projects))}/", HTTPStatus.SEE_OTHER)
    keys = list(board.projects)
    seen = await to_thread.run_sync(board.hub.checksum, keys)
    cards = await to_thread.run_sync(lambda: [pages.card(project) for project in board.projects.values()])
    for card in cards:
        card["link"] = f"/p/{card['key']}/"
    context = {"cards": cards, "links": board.links("", keys), "seen": seen, "command": board.command}
    return await _answer(request, "overview.html", context)


async def _exchange(board: Board, request: Request) -> Response:
    """Set the cookie in exchange for the token; refuse a body that is not the token."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > TOKEN_LIMIT:
            break
    if not board.session.accepts(body.decode("utf-8", "replace")):
        return PlainTextResponse("This is not the token that nexus-mcp board printed.\n", HTTPStatus.FORBIDDEN)
    return Response(status_code=HTTPStatus.NO_CONTENT, headers={"set-cookie": board.session.set_cookie()})


async def _page(board: Board, make: Make, request: Request) -> Response:
    project = _project(board, request)
    query = {**request.query_params, **request.path_params}
    return await _show(board, request, project, lambda: make(project, query))


async def _artifact(board: Board, request: Request) -> Response:
    project = _project(board, request)
    links = board.links(project.key, [])
    return await _show(board, request, project, lambda: pages.artifact(project, request.path_params, links.raw))


async def _raw(board: Board, request: Request) -> Response:
    """Send an image. The policy of the response forbids scripts and requests, also when a browser shows the image as a
    page.
    """
    project = _project(board, request)
    try:
        data, kind = await to_thread.run_sync(pages.raw_artifact, project, request.path_params["name"])
    except NexusError as error:
        return PlainTextResponse(f"{error.fault}\n", _status(error))
    return Response(data, media_type=kind, headers={"content-security-policy": SANDBOX})


async def _show(board: Board, request: Request, project: Project, make: Callable[[], pages.Page]) -> Response:
    keys = [project.key]
    # Take the checksum before the files are read: if one of them changes meanwhile, the page is updated.
    seen = await to_thread.run_sync(board.hub.checksum, keys)
    context: dict[str, Any] = {"project": project, "links": board.links(project.key, keys), "seen": seen}
    context["command"] = board.command
    if not await to_thread.run_sync(project.is_there):
        text = f"The folder {project.root} no longer exists. This page shows the project again when the folder exists."
        message = {"heading": "This project vanished", "text": text}
        return await _answer(request, "message.html", {**context, **message}, HTTPStatus.NOT_FOUND)
    try:
        template, found = await to_thread.run_sync(make)
        found["banner"] = await to_thread.run_sync(pages.diagnosis, project, found["faults"])
    except NexusError as error:
        template, message = pages.message(error)
        return await _answer(request, template, {**context, **message}, _status(error))
    return await _answer(request, template, {**context, **found})


async def _answer(request: Request, template: str, context: dict[str, Any], status: int = HTTPStatus.OK) -> Response:
    path = request.url.path
    here = f"{path}?{request.url.query}" if request.url.query else path
    is_part = request.headers.get("hx-request") == "true"
    made = {**context, "nonce": request.state.nonce, "here": here, "is_part": is_part}
    return HTMLResponse(await to_thread.run_sync(render, template, made), status)


def _watched_keys(board: Board, request: Request) -> list[str]:
    keys = request.query_params.get("projects", "").split(",")
    if any(key not in board.projects for key in keys):
        raise HTTPException(HTTPStatus.NOT_FOUND, "There is no such project.")
    return keys


async def _send_checksum(board: Board, request: Request) -> Response:
    """Send the checksum of the projects' files (Hub.checksum). A window without a stream requests it regularly."""
    return JSONResponse({"seen": await to_thread.run_sync(board.hub.checksum, _watched_keys(board, request))})


async def _events(board: Board, request: Request) -> Response:
    keys = _watched_keys(board, request)
    seen = request.headers.get("last-event-id") or request.query_params.get("seen", "")
    return EventSourceResponse(board.hub.changes(keys, seen), ping=PING_S)


async def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    kind = _ASSET_TYPES.get(name.rpartition(".")[2])
    folder, _, file = name.rpartition("/")
    if kind is None or folder not in ("", "vendor") or not os.path.isfile(os.path.join(ASSETS, folder, file)):
        return PlainTextResponse("There is no such file.\n", HTTPStatus.NOT_FOUND)
    return Response(_bytes_of(os.path.join(ASSETS, folder, file)), media_type=kind)


@lru_cache(maxsize=32)
def _bytes_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _project(board: Board, request: Request) -> Project:
    try:
        return board.projects[request.path_params["key"]]
    except KeyError:
        raise HTTPException(HTTPStatus.NOT_FOUND, "There is no such project.") from None


def _status(error: NexusError) -> int:
    """Return the HTTP status of an error: 404 if the page does not exist, 503 if the system refuses to read a file,
    else 500.
    """
    if isinstance(error, (UsageError, PathRefused)):
        return HTTPStatus.NOT_FOUND
    return HTTPStatus.SERVICE_UNAVAILABLE if isinstance(error, StorageError) else HTTPStatus.INTERNAL_SERVER_ERROR


async def _http_error(request: Request, error: Exception) -> Response:  # noqa: ARG001
    assert isinstance(error, HTTPException)
    return PlainTextResponse(f"{error.detail}\n", error.status_code, error.headers)


async def _failure(request: Request, error: Exception) -> Response:  # noqa: ARG001
    return PlainTextResponse("This page failed. Please report it.\n", HTTPStatus.INTERNAL_SERVER_ERROR)
