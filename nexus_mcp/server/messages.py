"""Parse one line of input, or one HTTP body, as a JSON-RPC message, or raise the Fault that explains why it is none."""

from __future__ import annotations

import json

from nexus_mcp.server.faults import INVALID_REQUEST, PARSE_ERROR, Fault, invalid_params
from nexus_mcp.store.codec import STRICT, is_too_deep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.server.faults import Id

MAX_DEPTH = 64  # arrays and objects within each other, the message itself included


class Message:
    """A request (`is_request`, with its `id`) or a notification. `params` is an object or None."""

    __slots__ = ("id", "is_request", "method", "params")

    def __init__(self, id: Id, method: str, params: dict[str, Any] | None, *, is_request: bool) -> None:
        self.id = id
        self.method = method
        self.params = params
        self.is_request = is_request


def parse(line: bytes) -> Message | None:
    """Read one line. Return None for a blank line, a response, or a notification whose params are no object: none of
    these gets a response.

    Raise Fault: -32700 for a line that is not JSON, -32600 for JSON that is no request, -32602 for params
    that are no object.
    """
    if not line.strip(b" \t\r\n"):
        return None
    value = _load(line)
    if not isinstance(value, dict):
        what = "batches are not accepted" if isinstance(value, list) else "a message is a JSON object"
        raise Fault(INVALID_REQUEST, f"Invalid Request: {what}; send one request object a line")
    id = value.get("id")
    known = id if _is_id(id) else None
    if "method" not in value and ("result" in value or "error" in value):
        return None  # a response: this server sends no requests, and responses to responses could go on forever
    if value.get("jsonrpc") != "2.0":
        raise Fault(INVALID_REQUEST, 'Invalid Request: "jsonrpc" must be "2.0"', known)
    method, params = value.get("method"), value.get("params")
    if not isinstance(method, str):
        raise Fault(INVALID_REQUEST, 'Invalid Request: "method" must be a string', known)
    if "id" not in value:
        if params is not None and not isinstance(params, dict):
            return None
        return Message(None, method, params, is_request=False)
    if known is None:
        raise Fault(INVALID_REQUEST, 'Invalid Request: "id" must be a string or an integer')
    if params is not None and not isinstance(params, dict):
        raise invalid_params(known)
    return Message(known, method, params, is_request=True)


def _is_id(value: Any) -> bool:
    """Return whether a value is a string that can be sent back, or an integer. A boolean is neither."""
    if isinstance(value, str):
        return value.isascii() or not _has_lone_surrogate(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _has_lone_surrogate(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


def _load(line: bytes) -> Any:
    """Return the JSON value of a line, strictly: no NaN, no repeated field, no byte order mark, bounded depth."""
    text = ""
    try:
        text = line.decode()
        value = STRICT.decode(text)
    except (ValueError, RecursionError):
        text = ""
    if not text:
        # Outside the except block, because its exception would keep the whole line in memory.
        return _load_with_diagnosis(line)
    _check_depth(line, text, value)
    return value


def _check_depth(line: bytes, text: str, value: Any) -> None:
    """Raise Fault beyond MAX_DEPTH. Counting brackets first avoids walking most values."""
    if text.count("{") + text.count("[") > MAX_DEPTH and is_too_deep(value, MAX_DEPTH):
        raise _refuse(line, f"more than {MAX_DEPTH} levels of nesting")


def _load_with_diagnosis(line: bytes) -> Any:
    """Load a line that the fast path refused, more slowly. Raise Fault with the reason."""
    reader = _Reader()
    try:
        text = line.decode()
        value = reader.read(text)
    except UnicodeDecodeError as error:
        raise _unreadable(line, f"the line is not UTF-8 (byte {error.start + 1})") from None
    except json.JSONDecodeError as error:
        raise _unreadable(line, f"the line is not JSON (character {error.pos + 1})") from None
    except _NotJson as error:
        raise _unreadable(line, str(error)) from None
    except RecursionError:
        raise _refuse(line, f"more than {MAX_DEPTH} levels of nesting") from None
    if reader.repeated:
        raise _refuse(line, "a field of an object appears twice")
    _check_depth(line, text, value)
    return value


class _NotJson(Exception):
    """A text that Python's reader accepts, although it is not JSON."""


class _Reader:
    def __init__(self) -> None:
        self.repeated = False

    def read(self, text: str) -> Any:
        try:
            return json.loads(text, object_pairs_hook=self._object, parse_constant=self._constant)
        except json.JSONDecodeError:
            raise
        except ValueError:
            # An integer beyond the interpreter's digit limit. As infinity it reaches the check of the tool's arguments,
            # which reports its place.
            return json.loads(
                text, object_pairs_hook=self._object, parse_constant=self._constant, parse_int=self._integer
            )

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            self.repeated = True
        return value

    @staticmethod
    def _integer(digits: str) -> int | float:
        try:
            return int(digits)
        except ValueError:
            return float(digits)

    @staticmethod
    def _constant(name: str) -> Any:
        raise _NotJson(f"{name} is not JSON")


def _unreadable(line: bytes, what: str) -> Fault:
    return Fault(PARSE_ERROR, f"Parse error: {what}", recover_id(line))


def _refuse(line: bytes, what: str) -> Fault:
    return Fault(INVALID_REQUEST, f"Invalid Request: {what}", recover_id(line))


def recover_id(line: bytes) -> Id:
    """Return the id of an unreadable line; None if it is uncertain, or if the module `recover` cannot be loaded."""
    try:
        from nexus_mcp.server import recover

        return recover.id_in_line(line)
    except (ImportError, OSError, MemoryError):
        return None
