"""The guard before every page: check each request, and set the headers of each response, refusals included.

Any web page in the same browser, and any user of the machine, can send requests to a port on loopback. So each request
needs the right Host header, and each request except for OPEN_PATHS needs a cookie, which a browser gets only with the
token. The Host is checked first: a site whose name resolves to loopback (DNS rebinding) is refused.
"""

from __future__ import annotations

import hmac
import secrets
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
_HTTP_PORT = 80
EXCHANGE = "/session"
"""The path to which the entry page sends the token. It is the only path that accepts a POST."""
OPEN_PATHS = frozenset(("/", EXCHANGE, "/assets/enter.js", "/assets/board.css", "/assets/icon.svg"))
"""Paths that need no cookie. Without the cookie, `/` shows the entry page, and no path shows data of a project."""
TOKEN_LIMIT = 200
"""The maximum size in bytes of the body of an exchange."""
MOST_REQUESTS = 200
"""The maximum number of requests with the cookie at a time, streams included. The guard has this limit because
uvicorn's limit would count connections, which any user of the machine can open, and its refusals lack our headers.
"""

POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types htmx"
)
SANDBOX = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
"""The policy of a raw artifact: it may load nothing and run nothing."""
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


def secure_headers(nonce: str) -> dict[str, str]:
    """Return the headers of a response. Its scripts with this nonce may run.

    A response with a raw artifact has the policy SANDBOX instead.
    """
    return {**HEADERS, "content-security-policy": POLICY.format(nonce=nonce)}


class Session:
    """The secrets of one run of the board: the token in the printed address, and the cookie that is set in exchange for
    it.

    The name of the cookie has the port, because a browser sends a cookie of loopback to every port.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.token = secrets.token_urlsafe(32)
        self.cookie = f"nexus-board-{port}"
        self._value = secrets.token_urlsafe(32)
        names = (HOST, "localhost")
        self.hosts = frozenset(names if port == _HTTP_PORT else (f"{name}:{port}" for name in names))
        """The allowed values of the header Host. A browser leaves out the default port of http."""

    @property
    def address(self) -> str:
        """Return the address to open. The browser does not send the part after `#`."""
        return f"http://{HOST}:{self.port}/#{self.token}"

    def accepts(self, token: str) -> bool:
        """Return whether this is the token, in constant time."""
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())

    def set_cookie(self) -> str:
        """Return the value of the header Set-Cookie of a successful exchange."""
        return f"{self.cookie}={self._value}; Path=/; HttpOnly; SameSite=Strict"

    def knows(self, cookies: list[str]) -> bool:
        """Return whether the Cookie headers have the cookie of this run exactly once, with the right value."""
        # SimpleCookie would drop all cookies if one is malformed, and the malformed one may belong to another port.
        pairs = (pair.partition("=") for header in cookies for pair in header.split(";"))
        found = [value.strip() for name, _, value in pairs if name.strip() == self.cookie]
        same = [hmac.compare_digest(one.encode("utf-8", "replace"), self._value.encode()) for one in found]
        return same == [True]


class Guard:
    """Refuse the requests that `_refusal` does not accept, and set the headers of every response.

    For handlers, `scope["state"]["nonce"]` is the nonce of the response, and `scope["state"]["known"]` is whether the
    cookie was right; it can be False only for OPEN_PATHS.
    """

    def __init__(self, app: ASGIApp, session: Session) -> None:
        self._app = app
        self._session = session
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no page uses a WebSocket
            await send({"type": "websocket.close", "code": 1008})
            return
        nonce = secrets.token_urlsafe(16)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("content-security-policy", POLICY.format(nonce=nonce))
            await send(message)

        headers = Headers(scope=scope)
        known = self._session.knows(headers.getlist("cookie"))
        refused = self._refusal(scope["method"], scope["path"], headers, known=known)
        if refused is not None:
            status, text = refused
            more = {"allow": "GET, HEAD"} if status == HTTPStatus.METHOD_NOT_ALLOWED else None
            await PlainTextResponse(f"{text}\n", status, more)(scope, receive, with_headers)
            return
        scope.setdefault("state", {}).update(nonce=nonce, known=known)
        self._open += known
        try:
            await self._app(scope, receive, with_headers)
        finally:
            self._open -= known

    def _refusal(self, method: str, path: str, headers: Headers, *, known: bool) -> tuple[int, str] | None:
        """Return (status, text) if the request must be refused, else None."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._session.hosts:
            return HTTPStatus.MISDIRECTED_REQUEST, "This server answers on its own address only."
        origins = headers.getlist("origin")
        if origins and origins != [f"http://{hosts[0].lower()}"]:
            return HTTPStatus.FORBIDDEN, "A page of another site sent this request."
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and path != "/":
            return HTTPStatus.FORBIDDEN, "A page of another site sent this request."
        if method not in ("GET", "HEAD") and (method, path) != ("POST", EXCHANGE):
            return HTTPStatus.METHOD_NOT_ALLOWED, "The board is read-only: it accepts only GET and HEAD."
        if method == "POST" and not origins:
            return HTTPStatus.FORBIDDEN, "This request lacks the header Origin."
        if not known and path not in OPEN_PATHS:
            return HTTPStatus.FORBIDDEN, "Open the address that nexus-mcp board printed."
        if known and self._open >= MOST_REQUESTS:
            return HTTPStatus.SERVICE_UNAVAILABLE, "Too many pages of this board are open. Close some of them."
        return None
