"""The projects of a server. The first request to a project makes its App, its SDK server and its session manager."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from nexus_mcp import log
from nexus_mcp.errors import NexusError, UsageError
from nexus_mcp.server.http.address import SINGLE
from nexus_mcp.server.sdk.exchange import exchange_of
from nexus_mcp.server.sdk.handlers import Turns, build_server
from nexus_mcp.web import projects_file

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from starlette.types import Receive, Scope, Send

    from nexus_mcp.server.app import Answer, App
    from nexus_mcp.server.http.limits import Limits
    from nexus_mcp.server.http.tokens import Token
    from nexus_mcp.server.observing import Observer
    from nexus_mcp.server.sdk.exchange import Exchange
    from nexus_mcp.server.sdk.handlers import Context
    from nexus_mcp.workspace import Workspace

MOST = 1000
"""Maximum number of projects in a projects file."""


class RequestTurns(Turns):
    """Turns that end when the answer exists, so that a client that reads slowly delays no other client.

    An answer with a receipt stays in the exchange of its request until the response was written or failed.
    """

    def answer(self, context: Context, answer: Answer) -> None:
        """Hand an answer with a receipt to the exchange of its request, or report it as undelivered if no exchange is
        open. Report any other answer as delivered. Then end the turn.
        """
        exchange = exchange_of(context)
        if not answer.holds_receipt:
            answer.confirm_delivery()
        elif exchange is None or exchange.is_closed:
            answer.drop_delivery()
        else:
            exchange.answers.append(answer)
        self.give_up()

    async def conclude(self, exchange: Exchange, *, delivered: bool) -> None:
        """Report to the answers of an exchange whether its response was delivered."""
        answers = exchange.close()
        if not answers:
            return
        await self.begin()
        try:
            for answer in answers:
                await anyio.to_thread.run_sync(answer.confirm_delivery if delivered else answer.drop_delivery)
        finally:
            self.give_up()


class _Manager(StreamableHTTPSessionManager):
    """The SDK's session manager, with JSON responses for requests of 2026-07-28 that need no cancellation.

    For other requests the SDK starts two tasks, one to detect that the client disconnects; they take a third of the
    time of a call.
    """

    @property
    def json_response(self) -> bool:
        """Return whether the request of the current task gets a JSON response."""
        return _is_plain.get()

    @json_response.setter
    def json_response(self, _: bool) -> None:
        """Ignore the value that the SDK sets for all requests."""


_is_plain: ContextVar[bool] = ContextVar("is_plain", default=False)


class Mount:
    """A project of the server. `name` is its name in addresses, `path` the one in the projects file or of --project."""

    def __init__(
        self,
        name: str,
        path: str,
        app: App,
        limits: Limits,
        *,
        is_stateless: bool,
        observers: Collection[Observer] = (),
    ) -> None:
        self.name = name
        self.path = path
        self.app = app
        self.turns = RequestTurns()
        self._observers = observers
        self._server = build_server(app, self.turns, has_sessions=not is_stateless, observers=observers)
        self._manager = _Manager(
            self._server,
            stateless=is_stateless,
            session_idle_timeout=None,  # asgi.py ends idle sessions, so that callers.py keeps no ended session
            max_request_body_size=limits.body,
            max_sessions=limits.sessions + 1,
        )
        self._ready, self._ended = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._requests = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def root(self) -> str:
        """Return the folder of the project."""
        return self.app.workspace.root

    def is_there(self) -> bool:
        """Return whether the folder of the project exists."""
        return os.path.isdir(self.root)

    @property
    def has_ended(self) -> bool:
        """Return whether the session manager has ended or is ending."""
        return self._ended.is_set()

    async def start(self) -> None:
        """Start the session manager, unless it runs. Raise RuntimeError if it cannot run."""
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        await self._ready.wait()
        if self._task.done():
            self._task.result()
            raise RuntimeError("the session manager has ended")

    async def handle(
        self, scope: Scope, receive: Receive, send: Send, token: Token, *, ends_by_itself: bool = False
    ) -> None:
        """Let the SDK answer a request of the token. A request that ends by itself is not watched for cancellation."""
        _is_plain.set(ends_by_itself)
        # The SDK also compares this identity with that of the session.
        access = AccessToken(token="", client_id=token.id, scopes=sorted(token.rights))
        scope["user"] = AuthenticatedUser(access)
        self._requests += 1
        self._idle.clear()
        try:
            await self._manager.handle_request(scope, receive, send)
        finally:
            self._requests -= 1
            if not self._requests:
                self._idle.set()

    async def wait_until_idle(self, seconds: float) -> None:
        """Wait until no request is open, for at most `seconds`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), seconds)

    async def end_session(self, session: str, token_id: str) -> None:
        """End a session as if its client had deleted it."""
        if self.has_ended:  # then all its sessions have ended, too
            return
        scope = _deletion(session, token_id)

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_message: Any) -> None:
            pass

        try:
            await self._manager.handle_request(scope, receive, send)
        finally:
            self.forget_session(session)  # last: a request of the session could have subscribed meanwhile

    def forget_session(self, session: str) -> None:
        """End the subscriptions of a session that the SDK has ended."""
        self._server.subscribing.end_session(session)

    def note_session(self, seconds: float) -> None:
        """Report the end of a session to the observers."""
        for observer in self._observers:
            observer.session_ended(seconds)

    def note_hook(self, event: str, seconds: float) -> None:
        """Report an answered hook event to the observers."""
        for observer in self._observers:
            observer.hook_answered(event, seconds)

    async def answers(self) -> bool:
        """Return whether the store can read its files."""
        await self.turns.begin()
        try:
            await anyio.to_thread.run_sync(self.app.check_disk)
        except Exception as error:  # noqa: BLE001 - the question is whether anything fails
            log.warning(f"{self.root} does not answer: {type(error).__name__}: {error}")
            return False
        finally:
            self.turns.give_up()
        return True

    async def end_streams(self) -> None:
        """Send the notifications of all changes so far, and answer the open subscriptions/listen requests."""
        if self._ready.is_set():
            await self._server.subscribing.end()

    async def stop(self) -> None:
        """End the session manager and all its sessions."""
        self.app.stop()
        self._ended.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            async with self._manager.run():
                self._ready.set()
                await self._ended.wait()
        finally:
            self._ready.set()


class Mounts:
    """The projects by name. `open_workspace` makes the workspace of a path and raises NexusError. `observers_of`
    returns the observers of a project by its name and label. `check` raises UsageError for paths of projects that may
    not be served.

    If there is a projects `file`, it is read again when it changes. If it is malformed or refused then, the projects
    stay.
    """

    def __init__(
        self,
        open_workspace: Callable[[str], Workspace],
        make_app: Callable[[Workspace], App],
        limits: Limits,
        *,
        single: str = "",
        file: str = "",
        is_stateless: bool = False,
        observers_of: Callable[[str, str], Collection[Observer]] = lambda _name, _label: (),
        check: Callable[[Collection[str]], object] = bool,
    ) -> None:
        self._check = check
        self._observers_of = observers_of
        self._open_workspace = open_workspace
        self._make_app = make_app
        self._limits = limits
        self._file = file
        self._is_stateless = is_stateless
        self._mark: object = _mark(file)
        self._paths: Mapping[str, str] = read_projects(file) if file else {SINGLE: single}
        self._check(self._paths.values())
        self._mounts: dict[str, Mount] = {}

    @property
    def roots(self) -> list[str]:
        """Return the paths of all projects, opened or not."""
        return list(self._paths.values())

    @property
    def opened_mounts(self) -> list[Mount]:
        """Return the projects that were called so far and are still served."""
        return list(self._mounts.values())

    def refresh(self) -> list[Mount]:
        """Read the file again if it changed. Return the opened projects that it no longer lists with the same path;
        the caller ends them.
        """
        if not self._file or (now := _mark(self._file)) == self._mark:
            return []
        self._mark = now
        try:
            paths = read_projects(self._file)
            self._check(paths.values())
        except NexusError as error:
            log.error(f"the projects stay as they were: {error}")
            return []
        self._paths = paths
        gone = [name for name, mount in self._mounts.items() if self._paths.get(name) != mount.path]
        return [self._mounts.pop(name) for name in gone]

    async def find(self, name: str) -> Mount | None:
        """Return the started project with this name; None if it is unknown, its folder is missing, or opening it fails.

        Raise RuntimeError if its session manager cannot run.
        """
        path = self._paths.get(name)
        if path is None:
            return None
        mount = self._mounts.get(name)
        if mount is None:
            try:
                app = self._make_app(self._open_workspace(path))
            except NexusError as error:
                log.warning(f"a project cannot be served: {error}")
                return None
            mount = self._mounts[name] = Mount(
                name,
                path,
                app,
                self._limits,
                is_stateless=self._is_stateless,
                observers=self._observers_of(name, name or projects_file.plain_name(app.workspace.root)),
            )
        if not mount.is_there():
            log.warning(f"the folder of a project is gone: {path}")
            return None
        await mount.start()
        return mount


def read_projects(file: str) -> dict[str, str]:
    """Return the paths in a projects file by the project's name in addresses. Raise UsageError."""
    entries = projects_file.read(file)
    if len(entries) > MOST:
        raise UsageError(f"--projects: {file!r} names more than {MOST} projects.", next_step="Name fewer of them.")
    found: dict[str, str] = {}
    for entry in entries:
        name = entry.name or projects_file.plain_name(entry.path)
        if found.setdefault(name, entry.path) != entry.path:
            # No number makes the name unique: it would change with the order of the lines, and tokens refer to names.
            raise UsageError(
                f"--projects: {file!r} has two projects with the name {name}.",
                next_step=f"Give one of them another name: other-name={entry.path}",
            )
    return found


def _mark(file: str) -> object:
    try:
        info = os.stat(file) if file else None
    except OSError:
        return None
    return info and (info.st_mtime_ns, info.st_size, info.st_ino)


def _deletion(session: str, token_id: str) -> dict[str, Any]:
    """Return the ASGI scope of a request that deletes a session."""
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "DELETE",
        "path": "/",
        "raw_path": b"/",
        "root_path": "",
        "scheme": "http",
        "query_string": b"",
        "headers": [(b"mcp-session-id", session.encode())],
        "user": AuthenticatedUser(AccessToken(token="", client_id=token_id, scopes=[])),
        "state": {},
    }
