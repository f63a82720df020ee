"""Refusals: the exception with status, text and headers, and its response; and the errors of access tokens."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nexus_mcp.server.faults import Fault

HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
"""Default headers of every response; a response may have other values."""


class Refusal(Exception):
    """A response of our own, in place of one of the SDK. `body` is text, or an object that is sent as JSON."""

    def __init__(self, status: int, body: str | dict[str, Any], headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{int(status)} {body if isinstance(body, str) else body['error']['message']}")
        self.status = status
        self.body = body
        self.headers = dict(headers or {})

    def response(self) -> Response:
        """Return the response."""
        if isinstance(self.body, str):
            return Response(f"{self.body}\n", self.status, self.headers, "text/plain")
        text = json.dumps(self.body, ensure_ascii=False, separators=(",", ":"))
        return Response(text.encode("utf-8", "replace"), self.status, self.headers, "application/json")


class TokenDenied(Exception):
    """An access token that is refused. `text` says why; `kind` is a word for the check that failed.

    It is "scope" if the token has none of our scopes, "clock" if a wrong clock can be the reason, and "" if no
    signature was verified.
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text


class Unavailable(Exception):
    """The keys of the issuer are not available now, so none of its tokens is accepted."""


def request_ended() -> Refusal:
    """Return the refusal of a request that the server ends itself, for example because its token was revoked."""
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "The server has ended this request.")


def of_fault(status: int, fault: Fault, headers: Mapping[str, str] | None = None) -> Refusal:
    """Return the refusal whose body is the JSON-RPC error of the fault."""
    return Refusal(status, fault.response(), headers)
