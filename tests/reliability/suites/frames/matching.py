"""Compare the answers of a connection with those that its lines require."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.reliability.suites.frames.dialogue import (
    CALLED,
    DISCOVERED,
    HELLO,
    LISTED,
    LOOKED,
    PONG,
    UNKNOWN_TOOL,
    Dialogue,
    Expected,
)

_RESULTS = {
    **{"protocolVersion": HELLO, "tools": LISTED, "supportedVersions": DISCOVERED, "content": CALLED},
    **dict.fromkeys(("contents", "resources", "resourceTemplates", "prompts", "messages", "completion"), LOOKED),
}
_SHOWN = 300


@dataclass(frozen=True)
class Answer:
    """One line from the server: the JSON text of its id, and its kind."""

    id: str
    outcome: str


def faults(sent: Iterable[bytes], received: list[bytes]) -> list[str]:
    """Return the faults of the answers `received` to the lines `sent`, in the order of the answers."""
    answers, wrong = [], []
    for line in received:
        try:
            answers.append(_answer(line))
        except (ValueError, KeyError, TypeError, AssertionError) as error:
            wrong.append(f"an answer is malformed ({error!r}): {_shown(line)}")
    dialogue = Dialogue(Counter(answer.id for answer in answers if answer.outcome == HELLO))
    expected = [owed for line in sent if (owed := dialogue.hear(line)) is not None]
    return wrong or _unlike(expected, answers)


def _answer(line: bytes) -> Answer:
    """Parse a response. Raise an error if the line is no JSON-RPC response, or reports a defect of the server."""
    value: Any = json.loads(line.decode(), object_pairs_hook=_once)
    assert value["jsonrpc"] == "2.0", "jsonrpc"
    id = json.dumps(value["id"])
    if "result" in value:
        assert value.keys() == {"jsonrpc", "id", "result"}, "members"
        return Answer(id, _outcome(value["result"]))
    assert value.keys() == {"jsonrpc", "id", "error"}, "members"
    code, message = value["error"]["code"], value["error"]["message"]
    assert isinstance(code, int), "code"
    of_a_file = "uri" in (value["error"].get("data") or ())  # a resource that cannot be read
    assert code != -32603 or of_a_file, "an internal error"
    return Answer(id, UNKNOWN_TOOL if message.startswith("Unknown tool: ") else str(code))


def _outcome(result: dict[str, Any]) -> str:
    found = [outcome for name, outcome in _RESULTS.items() if name in result]
    if CALLED in found:
        told = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == told, "the text differs from the content"
        assert not str(told.get("error", "")).startswith("Internal error"), told["error"]
    return found[0] if found else PONG


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({name for name, _ in pairs}) == len(pairs), "a member twice"
    return dict(pairs)


def _unlike(expected: list[Expected], answers: list[Answer]) -> list[str]:
    """Return the response at which every assignment of responses to lines has failed, or the requests without a
    response.
    """
    search = _Search(expected)
    at = furthest = 0
    told = ""
    while True:
        if at == len(answers):
            missing = search.missing()
            if not missing:
                return []
            ended = f"{len(missing)} answers never came, the first to {_told(missing[0])}"
        elif search.take(at, answers[at]):
            at += 1
            continue
        else:
            ended = f"{answers[at]} matches no line; the next are {search.next()}"
        if at >= furthest:
            furthest, told = at, ended
        back = search.step_back()
        if back is None:
            return [told]
        at = back


class _Search:
    """An assignment of answers to lines. There are choices only if a call was cancelled and others have its id."""

    def __init__(self, expected: list[Expected]) -> None:
        self._at_once = [owed for owed in expected if owed.at_once is not False]
        self._in_turn = [owed for owed in expected if owed.at_once is not True]
        self._places = (0, 0)
        self._done: list[int] = []  # in the order of assignment; step_back removes from the end
        self._found: set[int] = set()
        self._open: list[tuple[int, tuple[int, int], int, list[tuple[int, int]]]] = []

    def take(self, number: int, answer: Answer) -> bool:
        """Assign the response to the first line that it may belong to, and remember the other possible lines."""
        return self._go(number, self._places, [*self._fitting(answer)])

    def step_back(self) -> int | None:
        """Assign the last answer with a choice to its next line; return the number of the answer after it, or None."""
        while self._open:
            number, places, done, ways = self._open.pop()
            while len(self._done) > done:
                self._found.discard(self._done.pop())
            if self._go(number, places, ways):
                return number + 1
        return None

    def missing(self) -> list[Expected]:
        owed = {id(owed): owed for owed in (*self._at_once, *self._in_turn) if not owed.optional}
        return [owed[key] for key in owed if key not in self._found]

    def next(self) -> str:
        queues = zip((self._at_once, self._in_turn), self._places, strict=True)
        return "; ".join(_told(queue[place]) for queue, place in queues if place < len(queue)) or "none"

    def _go(self, number: int, places: tuple[int, int], ways: list[tuple[int, int]]) -> bool:
        if not ways:
            return False
        (queue, place), *others = ways
        if others:
            self._open.append((number, places, len(self._done), others))
        found = id((self._at_once, self._in_turn)[queue][place])
        self._done.append(found)
        self._found.add(found)
        self._places = (place + 1, places[1]) if queue == 0 else (places[0], place + 1)
        return True

    def _fitting(self, answer: Answer) -> Iterator[tuple[int, int]]:
        """(queue, place) of each line that the answer may be for.

        That is the next line in the queue of immediate answers, or in that of calls. Lines before it are skipped only
        if their answer is optional, or may be in the other queue. A line in both queues is yielded once.
        """
        tried = set()
        for place in range(self._places[0], len(self._at_once)):
            owed = self._at_once[place]
            if id(owed) not in self._found:
                if _fits(owed, answer):
                    tried.add(id(owed))
                    yield 0, place
                    if owed.at_once is True:
                        return
                if owed.at_once is True:
                    break
        for place in range(self._places[1], len(self._in_turn)):
            owed = self._in_turn[place]
            if id(owed) not in self._found:
                if id(owed) not in tried and _fits(owed, answer):
                    yield 1, place
                if owed.at_once is False and not owed.optional:
                    return


def _fits(owed: Expected, answer: Answer) -> bool:
    return answer.id in owed.ids and answer.outcome in owed.outcomes


def _told(owed: Expected) -> str:
    return f"{sorted(owed.outcomes)} for {sorted(owed.ids)}: {_shown(owed.line)}"


def _shown(line: bytes) -> str:
    return repr(line if len(line) <= _SHOWN else line[:_SHOWN] + b"..." + line[-_SHOWN:])
