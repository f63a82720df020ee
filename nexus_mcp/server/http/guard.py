"""Check each request before the SDK sees it: Host, Origin, token, limits, project, session, body, right."""

from __future__ import annotations

import math
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from starlette.datastructures import Headers

from nexus_mcp.server.faults import INVALID_REQUEST, PARSE_ERROR, Fault
from nexus_mcp.server.http.address import MCP, project_in, project_of
from nexus_mcp.server.http.body import MOST_MARKS, parse_body
from nexus_mcp.server.http.callers import Unreadable
from nexus_mcp.server.http.limits import share
from nexus_mcp.server.http.oauth.access import Challenges, check_access, is_access_token
from nexus_mcp.server.http.refusal import Refusal, of_fault, request_ended
from nexus_mcp.server.messages import parse
from nexus_mcp.server.methods import HANDSHAKE_VERSIONS

if TYPE_CHECKING:
    from starlette.types import Scope

    from nexus_mcp.server.http.body import Body
    from nexus_mcp.server.http.callers import Request, Session
    from nexus_mcp.server.http.mounts import Mount
    from nexus_mcp.server.http.service import Service
    from nexus_mcp.server.http.tokens import Token
    from nexus_mcp.server.messages import Message

_BEARER = "bearer "
_LONGEST_TOKEN = 200
SESSION = "mcp-session-id"
_VERSION = "mcp-protocol-version"
_STANDALONE_ID = "_GET_stream"
"""The id under which the SDK keeps the GET stream of a session: a request with this id would replace the stream."""


class AdmittedRequest(NamedTuple):
    """A request that passed the checks of its head. `session` is None for a request without a session."""

    token: Token
    mount: Mount
    session: Session | None
    headers: Headers
    is_modern: bool


class Guard:
    """The checks of a request. Each raises Refusal."""

    def __init__(self, service: Service) -> None:
        self._names = service.names
        self._tokens = service.tokens
        self._oauth = service.oauth
        self._challenges = Challenges(service.oauth.resources if service.oauth else None)
        self._rates = service.rates
        self._mounts = service.mounts
        self._callers = service.callers
        self._rights = service.rights
        self._limits = service.limits
        self._has_sessions = not service.is_stateless

    def check_names(self, headers: Headers) -> None:
        """Check Host and Origin, against web pages whose host name resolves to this server (DNS rebinding)."""
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._names.hosts:
            raise Refusal(HTTPStatus.MISDIRECTED_REQUEST, "This server does not answer to this Host.")
        if origins and (len(origins) != 1 or origins[0].lower() not in self._names.origins):
            raise Refusal(HTTPStatus.FORBIDDEN, "Pages of this Origin may not call this server.")

    async def check_token(self, path: str, headers: Headers) -> Token:
        """Return the token of the request: a token of the file, the generated token, or an access token of the issuer.

        Check also the rate of the token and the numbers of open requests.
        """
        values, project = headers.getlist("authorization"), project_of(path)
        text = values[0] if len(values) == 1 else ""
        is_bearer, text = text.lower().startswith(_BEARER), text[len(_BEARER) :].strip(" ")
        if is_bearer and self._oauth is not None and is_access_token(text):
            found = await check_access(self._oauth, self._challenges, text, project)
        elif not is_bearer or len(text) > _LONGEST_TOKEN:
            challenge = self._challenges.challenge(project)
            raise Refusal(HTTPStatus.UNAUTHORIZED, "Send your token: Authorization: Bearer TOKEN", challenge)
        else:
            found = self._find(text, project)
        if wait := self._rates.wait_s(found.id):
            seconds = str(math.ceil(wait))
            raise Refusal(HTTPStatus.TOO_MANY_REQUESTS, "Too many requests.", {"retry-after": seconds})
        if len(self._callers.requests) >= self._limits.requests:
            raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "Too many requests are open.", {"retry-after": "1"})
        if self._callers.requests.of(found) >= share(self._limits.requests):
            raise Refusal(HTTPStatus.TOO_MANY_REQUESTS, "This token has too many open requests.", {"retry-after": "1"})
        return found

    def _find(self, text: str, project: str | None) -> Token:
        try:
            found = self._tokens.find(text)
        except Unreadable:
            raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "The server cannot read its tokens now.") from None
        if found is None:
            challenge = self._challenges.challenge(project, "invalid_token")
            raise Refusal(HTTPStatus.UNAUTHORIZED, "This token is not valid.", challenge)
        return found

    async def check_place(self, scope: Scope, headers: Headers, token: Token) -> AdmittedRequest:
        """Return the project and the session that the request is for. Unknown and forbidden projects get the
        same response.
        """
        mount = await self.find_mount(scope["path"], token)
        versions = headers.getlist(_VERSION)
        is_modern = bool(versions) and versions[0] not in HANDSHAKE_VERSIONS
        ids = headers.getlist(SESSION)
        if is_modern or not self._has_sessions:
            return AdmittedRequest(token, mount, None, headers, is_modern)
        session = self._callers.session(ids[0], token, mount) if len(ids) == 1 else None
        if ids and session is None:
            raise of_fault(HTTPStatus.NOT_FOUND, Fault(INVALID_REQUEST, "Session not found"))
        return AdmittedRequest(token, mount, session, headers, is_modern)

    async def find_mount(self, path: str, token: Token, ending: str = MCP) -> Mount:
        """Return the project in a path with this ending, if the token is for it."""
        name = project_in(path, ending)
        mount = await self._mounts.find(name) if name is not None and token.may_enter(name) else None
        if mount is None:
            raise _no_project()
        return mount

    def check_right(self, token: Token, right: str, project: str | None = None) -> None:
        """Check that the token has a right."""
        if right not in token.rights:
            raise self._refuse(right, project)

    def check_still(self, request: Request, mount: Mount) -> None:
        """Check that the server has ended neither the request nor `mount` since the request was admitted."""
        if request.hang_up.is_set():
            raise request_ended()
        if mount.has_ended:
            raise _no_project()

    def check_without_body(self, admitted: AdmittedRequest, method: str) -> None:
        """Check a request other than POST: a stream, the end of a session, or a wrong method."""
        if admitted.is_modern:
            return
        if not self._has_sessions:
            raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "This server keeps no sessions.", {"allow": "POST"})
        if admitted.session is None:
            raise _no_session()
        if method == "GET" and "read" not in admitted.token.rights:
            raise self._refuse("read", admitted.mount.name)

    async def check_body(self, admitted: AdmittedRequest, body: Body) -> Message | None:
        """Return the message of a POST; None for a response or a malformed notification, which the SDK judges."""
        if body.marks > MOST_MARKS:
            text = f"Invalid Request: more than {MOST_MARKS} opening brackets, commas and colons"
            raise of_fault(HTTPStatus.BAD_REQUEST, Fault(INVALID_REQUEST, text))
        try:
            message = await parse_body(parse, bytes(body.data))
        except Fault as fault:
            raise of_fault(HTTPStatus.BAD_REQUEST, fault) from None
        if message is None and not body.data.strip():
            raise of_fault(HTTPStatus.BAD_REQUEST, Fault(PARSE_ERROR, "Parse error: the body is empty"))
        needed = "" if message is None else self._rights.needed_right(message)
        if needed and needed not in admitted.token.rights:
            raise self._refuse(needed, admitted.mount.name, message)
        if self._has_sessions and not admitted.is_modern:
            self._check_session(admitted, message)
        return message

    def _refuse(self, right: str, project: str | None, message: Message | None = None) -> Refusal:
        fault = Fault(INVALID_REQUEST, f"This token lacks the right to {right}", message.id if message else None)
        return of_fault(HTTPStatus.FORBIDDEN, fault, self._challenges.refuse(project, right))

    def _check_session(self, admitted: AdmittedRequest, message: Message | None) -> None:
        """Check that a POST of a handshake revision may begin a session, or is in a session that has no open request
        with the same id.
        """
        session, is_request = admitted.session, message is not None and message.is_request
        if session is None:
            if not (is_request and message is not None and message.method == "initialize"):
                raise _no_session()  # the SDK would open a session first
            if not self._callers.has_room(admitted.token):
                raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "Too many sessions are open.", {"retry-after": "60"})
        elif message is not None and is_request and str(message.id) in (*session.pending, _STANDALONE_ID):
            # The SDK would send both responses to the later request, and the earlier one would wait forever.
            text = "Invalid request: a request with this id is open; use another id"
            raise of_fault(HTTPStatus.BAD_REQUEST, Fault(INVALID_REQUEST, text, message.id))


def _no_project() -> Refusal:
    return Refusal(HTTPStatus.NOT_FOUND, "There is no such project here.")


def _no_session() -> Refusal:
    return of_fault(HTTPStatus.BAD_REQUEST, Fault(INVALID_REQUEST, "Bad Request: Missing session ID"))
