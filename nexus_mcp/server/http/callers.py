"""Keep the valid tokens, their sessions and their open requests. The token file is read again when it changes."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from typing import TYPE_CHECKING

from nexus_mcp import log
from nexus_mcp.errors import UsageError
from nexus_mcp.server.http import tokens
from nexus_mcp.server.http.limits import share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nexus_mcp.server.http.mounts import Mount
    from nexus_mcp.server.http.tokens import Token
    from nexus_mcp.server.http.writer import Writer


class Unreadable(Exception):
    """The token file cannot be used now, so each token that may be in it is refused."""


class Tokens:
    """The valid tokens: the tokens of a file, and `extra`. Raise UsageError if the file cannot be used at the start."""

    def __init__(self, file: str, extra: Iterable[Token] = ()) -> None:
        self._file = file
        self._extra = tuple(extra)
        self._mark = _mark(file)
        self._tokens = (*self._extra, *(tokens.load(file) if file else ()))
        self._is_unreadable = False

    def __len__(self) -> int:
        return len(self._tokens)

    def find(self, text: str) -> Token | None:
        """Return the token with this text, None if there is none. Raise Unreadable."""
        found = tokens.find(self._extra if self._is_unreadable else self._tokens, text)
        if found is None and self._is_unreadable:
            raise Unreadable
        return found

    def refresh(self) -> list[Token]:
        """Read the file again if it changed or was unreadable. Return the tokens that changed or are now refused."""
        now = _mark(self._file)
        has_changed, self._mark = now != self._mark, now
        if not self._file or not (has_changed or self._is_unreadable):
            return []
        before = self._tokens
        try:
            self._tokens = (*self._extra, *tokens.load(self._file))
            self._is_unreadable = False
        except UsageError as error:
            if has_changed:  # so that not each request logs the error
                log.error(f"each token of the token file is refused until the file can be used: {error}")
            self._is_unreadable = True
            return [token for token in before if token not in self._extra]
        return [token for token in before if token not in self._tokens]


class Session:
    """A session of a handshake revision. `pending` has the ids of its open requests as text: the SDK compares text."""

    def __init__(self, id_: str, token: Token, mount: Mount, now: float) -> None:
        self.id = id_
        self.token = token
        self.mount = mount
        self.pending: set[str] = set()
        self.requests = 0
        self.began = self.used = now


class Request:
    """An open HTTP request. Setting `hang_up` ends it. `is_lasting`: it is open until the client or the server ends it.

    `mount` is the project of an admitted request, and `writer` writes the response to an admitted MCP request.
    `is_opening`: the request may open a session that `Callers` does not have yet.
    """

    def __init__(self, token: Token, *, is_stream: bool) -> None:
        self.token = token
        self.is_stream = is_stream
        self.is_lasting = is_stream
        self.is_opening = False
        self.hang_up = asyncio.Event()
        self.mount: Mount | None = None
        self.writer: Writer | None = None


class OpenRequests:
    """The open requests of all tokens, counted for each token."""

    def __init__(self) -> None:
        self._all: set[Request] = set()
        self._of: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Request]:
        return iter(self._all)

    def of(self, token: Token) -> int:
        """Return how many requests of the token are open."""
        return self._of[token.id]

    def add(self, request: Request) -> None:
        """Count a request that begins."""
        self._all.add(request)
        self._of[request.token.id] += 1

    def discard(self, request: Request) -> None:
        """Remove a request that has ended."""
        self._all.discard(request)
        self._of[request.token.id] -= 1
        if not self._of[request.token.id]:
            del self._of[request.token.id]


class Callers:
    """The open sessions and requests of all tokens."""

    def __init__(self, most_sessions: int, idle_s: float, now: Callable[[], float] = time.monotonic) -> None:
        self._most_sessions = most_sessions
        self._idle_s = idle_s
        self._now = now
        self._sessions: dict[str, Session] = {}
        self.requests = OpenRequests()

    def has_room(self, token: Token) -> bool:
        """Return whether the token may open a session: there is room, and it has not used up its share."""
        holders = [one.token.id for one in self._sessions.values()]
        holders += [one.token.id for one in self.requests if one.is_opening]
        return len(holders) < self._most_sessions and holders.count(token.id) < share(self._most_sessions)

    @property
    def sessions(self) -> list[Session]:
        """Return the open sessions."""
        return list(self._sessions.values())

    def add_session(self, id_: str, token: Token, mount: Mount) -> Session:
        """Keep a session that the SDK opened, and return it."""
        found = self._sessions[id_] = Session(id_, token, mount, self._now())
        return found

    def session(self, id_: str, token: Token, mount: Mount) -> Session | None:
        """Return the session with this id, None if this token has no such session in this project."""
        found = self._sessions.get(id_)
        return found if found is not None and found.token.id == token.id and found.mount is mount else None

    def begin(self, session: Session | None) -> None:
        """Count a request of the session."""
        if session is not None:
            session.requests += 1

    def end(self, session: Session | None) -> None:
        """Remove a request of the session. The idle time begins when the last one ends."""
        if session is not None:
            session.requests -= 1
            session.used = self._now()

    def take(self, session: Session) -> bool:
        """Forget a session; return False if it was forgotten already."""
        if self._sessions.pop(session.id, None) is None:
            return False
        session.mount.note_session(self._now() - session.began)
        return True

    def expired_sessions(self) -> list[Session]:
        """Return the sessions that had no request during the idle time."""
        oldest = self._now() - self._idle_s
        return [one for one in self._sessions.values() if not one.requests and one.used <= oldest]

    def of(self, gone: Iterable[Token], mounts: Iterable[Mount] = ()) -> list[Session]:
        """Return the sessions of any of these tokens or projects."""
        ids, places = {token.id for token in gone}, set(mounts)
        return [one for one in self._sessions.values() if one.token.id in ids or one.mount in places]

    def hang_up(self, gone: Iterable[Token]) -> None:
        """End the open requests of these tokens."""
        ids = {token.id for token in gone}
        for request in self.requests:
            if request.token.id in ids:
                request.hang_up.set()

    def hang_up_expired(self, now: float) -> None:
        """End the streams whose tokens have expired. Admitted calls still get their response."""
        for request in self.requests:
            if request.is_lasting and request.token.expires <= now:
                request.hang_up.set()

    def hang_up_streams(self) -> None:
        """End the GET streams, which otherwise stay open until their clients end them."""
        for request in self.requests:
            if request.is_stream:
                request.hang_up.set()


def _mark(file: str) -> object:
    try:
        info = os.lstat(file) if file else None
    except OSError:
        return None
    return info and (info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino, info.st_mode)
