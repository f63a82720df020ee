"""Compute the answers to the lines of a connection, and their order, by docs/wire.md."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from tests.reliability.suites.frames import reference_reader
from tests.reliability.suites.frames.corpus import META, TOOLS
from tests.reliability.suites.frames.reference_reader import INVALID_PARAMS, INVALID_REQUEST, Fault, Message, id_text

Json = Any

HELLO, PONG, LISTED, DISCOVERED, CALLED, UNKNOWN_TOOL = "hello", "pong", "tools", "discovered", "called", "unknown tool"
LOOKED = "looked"
NOT_FOUND, VERSION, NO_RESOURCE, NO_FILE = "-32601", "-32022", "-32002", "-32603"
_VERSION_KEY, _CAPABILITIES_KEY = META
# Methods of MCP that this server does not serve: it may check their params first or not.
_FOREIGN = frozenset(("logging/setLevel",))
# These are answered in turn with the calls. Other tests check their results and their params.
_LOOKING = frozenset(
    (
        *("completion/complete", "prompts/get", "prompts/list"),
        *(f"resources/{name}" for name in ("list", "read", "templates/list")),
    )
)
# These are answered at once, or refused. (A subscriptions/listen request is answered only at its end.)
_SUBSCRIBING = frozenset(("resources/subscribe", "resources/unsubscribe"))
_LISTEN = "subscriptions/listen"
# Fields of params whose shape the protocol fixes, although this server ignores them.
_FIXED = {"_meta", "task", "inputResponses", "requestState"}
GOOD, BAD, EITHER = frozenset({True}), frozenset({False}), frozenset({True, False})


@dataclass
class Expected:
    """The expected answer to a line: it has one of `ids` and one of `outcomes`.

    `at_once`: it comes in the order of the lines if True, in the order of the calls if False, and in either if None.
    `optional`: it may be missing, because its call was cancelled, perhaps in time.
    """

    line: bytes
    ids: frozenset[str]
    outcomes: frozenset[str]
    at_once: bool | None = True
    optional: bool = False


class Dialogue:
    """The state of one connection. `greeted` counts the answers with a handshake result, by id.

    For a handshake with malformed nested params only these answers show whether the server accepted it.
    """

    def __init__(self, greeted: Counter[str]) -> None:
        self._greeted = greeted
        self._modern: bool | None = None
        self._open = False
        self._calls: dict[Json, list[Expected]] = defaultdict(list)

    def hear(self, line: bytes) -> Expected | None:
        """Return the expected answer to this line; None when it gets none."""
        found = reference_reader.read(line)
        if found is None:
            return None
        if isinstance(found, Fault):
            return Expected(line, found.ids, found.codes)
        if found.id is None:
            self._note(found)
            return None
        if self._modern is None:
            self._modern = found.method != "initialize" and _VERSION_KEY in _meta(found.params)
        outcomes = self._modern_outcomes(found) if self._modern else self._legacy_outcomes(found)
        expected = Expected(line, frozenset({found.id}), outcomes)
        if calls := outcomes & {CALLED, UNKNOWN_TOOL, LOOKED}:
            expected.at_once = False if outcomes == calls else None
            expected.optional = found.method == _LISTEN
            self._calls[_correlation(found.id)].append(expected)
        return expected

    def _note(self, message: Message) -> None:
        params = message.params or {}
        if message.method == "notifications/initialized" and not self._modern:
            self._open = self._open or isinstance(params.get("_meta", {}), (dict, type(None)))
        if message.method == "notifications/cancelled":
            asked = id_text(params.get("requestId"))
            for call in reversed(self._calls.get(_correlation(asked), [])) if asked != reference_reader.NULL else ():
                call.optional = True
                if call.at_once is False:
                    break  # an id means the latest call with this id

    def _legacy_outcomes(self, message: Message) -> frozenset[str]:
        params, method = message.params or {}, message.method
        if method == "initialize":
            fit = _handshake_fits(params)
            if self._greeted[message.id or ""] and True in fit:
                self._greeted[message.id or ""] -= 1
                self._open = True
            return _either(fit, HELLO)
        if _VERSION_KEY in _meta(params):
            return frozenset({INVALID_REQUEST})
        if method == "ping":
            return _either(_plain(params), PONG)
        if method in ("tools/list", "tools/call"):
            return self._of_tools(message) if self._open else frozenset({INVALID_PARAMS})
        if method in _LOOKING | _SUBSCRIBING:
            return _beside(method) if self._open else frozenset({INVALID_PARAMS})
        return _unserved(method)

    def _modern_outcomes(self, message: Message) -> frozenset[str]:
        params, method = message.params or {}, message.method
        if method == "initialize":
            return frozenset({VERSION})
        meta = params.get("_meta")
        if not isinstance(meta, dict) or not meta.keys() >= META.keys() or not isinstance(meta[_VERSION_KEY], str):
            return frozenset({INVALID_PARAMS})
        if meta[_VERSION_KEY] != META[_VERSION_KEY]:
            return frozenset({VERSION})
        if method == "server/discover":
            return _either(_plain(params), DISCOVERED)
        if method in _LOOKING or method == _LISTEN:
            return _beside(method)
        return self._of_tools(message) if method in ("tools/list", "tools/call") else _unserved(method)

    def _of_tools(self, message: Message) -> frozenset[str]:
        params = message.params or {}
        if message.method == "tools/list":
            cursor = params.get("cursor")
            return frozenset({INVALID_PARAMS}) if cursor not in (None, "") else _either(_plain(params), LISTED)
        name = params.get("name")
        if not isinstance(name, str) or not isinstance(params.get("arguments"), (dict, type(None))):
            return frozenset({INVALID_PARAMS})
        return _either(_plain(params), CALLED if name in TOOLS else UNKNOWN_TOOL)


def _meta(params: dict[str, Json] | None) -> dict[str, Json]:
    meta = (params or {}).get("_meta")
    return meta if isinstance(meta, dict) else {}


def _plain(params: dict[str, Json]) -> frozenset[bool]:
    """Return whether the fields that the protocol fixes are valid, as far as that is known without its whole schema."""
    special = params.keys() & _FIXED
    if not special or (special == {"_meta"} and params["_meta"] in ({}, META)):
        return GOOD
    return EITHER


def _handshake_fits(params: dict[str, Json]) -> frozenset[bool]:
    client, capabilities = params.get("clientInfo"), params.get("capabilities")
    if not isinstance(client, dict) or not isinstance(capabilities, dict):
        return BAD
    if not all(
        isinstance(text, str) for text in (params.get("protocolVersion"), client.get("name"), client.get("version"))
    ):
        return BAD
    simple = params.keys() == {"protocolVersion", "capabilities", "clientInfo"} and not capabilities
    return GOOD if simple and client.keys() == {"name", "version"} else EITHER


def _either(fit: frozenset[bool], outcome: str) -> frozenset[str]:
    return frozenset(outcome if fits else INVALID_PARAMS for fits in fit)


def _beside(method: str) -> frozenset[str]:
    return frozenset({PONG if method in _SUBSCRIBING else LOOKED, INVALID_PARAMS, NO_RESOURCE, NO_FILE})


def _unserved(method: str) -> frozenset[str]:
    return frozenset({NOT_FOUND, INVALID_PARAMS} if method in _FOREIGN else {NOT_FOUND})


def _correlation(id: str) -> Json:
    """Return the key by which a cancellation finds an id, given as JSON text: "7" and 7 have the same key."""
    value = json.loads(id)
    try:
        return int(value)
    except ValueError:
        return value
