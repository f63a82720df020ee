"""JSON-RPC errors: the codes, and the exception Fault that carries an error to its response."""

from __future__ import annotations

from nexus_mcp.quoting import inert

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Id = str | int | None

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNSUPPORTED_PROTOCOL_VERSION = -32022
RESOURCE_NOT_FOUND = -32002
"""For revisions up to 2025-11-25. Since 2026-07-28 the code is INVALID_PARAMS, and this one is reserved."""

_NO_DATA = object()


class Fault(Exception):
    """One JSON-RPC error. `id` is the request's, or None if unknown.

    Clients show `message` to the model, so it is made inert (quoting.py); `data` is for the client. `head` is the
    beginning of a line that was too long to be read, b"" for other errors.
    """

    def __init__(self, code: int, message: str, id: Id = None, data: Any = _NO_DATA) -> None:
        super().__init__(message)
        self.code = code
        self.message = inert(message)
        self.id = id
        self.data = data
        self.head = b""

    def of(self, id: Id) -> Fault:
        """Return the same error with this request id, without `head`."""
        return Fault(self.code, self.message, id, self.data)

    def response(self) -> dict[str, Any]:
        """Return the JSON-RPC error response of this fault."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not _NO_DATA:
            error["data"] = self.data
        return {"jsonrpc": "2.0", "id": self.id, "error": error}


def invalid_params(id: Id) -> Fault:
    """Return the official SDK's error for params of the wrong shape and for requests before `initialize`."""
    return Fault(INVALID_PARAMS, "Invalid request parameters", id, "")


def method_not_found(id: Id, method: str) -> Fault:
    return Fault(METHOD_NOT_FOUND, "Method not found", id, method)


def id_in_use(id: Id) -> Fault:
    """Return the error for a subscriptions/listen request with the id of an open one."""
    return Fault(INVALID_REQUEST, "Invalid request: a subscription with this id is open; use another id", id)


def internal_error(id: Id) -> Fault:
    return Fault(INTERNAL_ERROR, "Internal server error", id)


def check_cursor(cursor: str | None, id: Id = None) -> None:
    """Raise Fault for a cursor into a list that has one page."""
    if cursor:
        raise Fault(INVALID_PARAMS, "Invalid cursor: this list has one page; ask for it without a cursor", id)
