"""The answers of a connection held against what its lines are owed."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tests.reliability.suites.frames.dialogue import (
    CALLED,
    DISCOVERED,
    HELLO,
    LISTED,
    PONG,
    UNKNOWN_TOOL,
    Dialogue,
    Expected,
)

_RESULTS = {"protocolVersion": HELLO, "tools": LISTED, "supportedVersions": DISCOVERED, "content": CALLED}
_SHOWN = 300


@dataclass(frozen=True)
class Answer:
    """One line of the server's: the JSON text of its id, and what it comes to."""

    id: str
    outcome: str


def faults(sent: Iterable[bytes], received: list[bytes]) -> list[str]:
    """Everything that is wrong with the answers to these lines, in the order in which they came."""
    answers, wrong = [], []
    for line in received:
        try:
            answers.append(_answer(line))
        except (ValueError, KeyError, TypeError, AssertionError) as error:
            wrong.append(f"an answer is none ({error!r}): {_shown(line)}")
    dialogue = Dialogue(Counter(answer.id for answer in answers if answer.outcome == HELLO))
    expected = [owed for line in sent if (owed := dialogue.hear(line)) is not None]
    return wrong or _unlike(expected, answers)


def _answer(line: bytes) -> Answer:
    """Raises when the line is no JSON-RPC response, or tells of a defect of the server."""
    value: Any = json.loads(line.decode(), object_pairs_hook=_once)
    assert value["jsonrpc"] == "2.0", "jsonrpc"
    id = json.dumps(value["id"])
    if "result" in value:
        assert value.keys() == {"jsonrpc", "id", "result"}, "members"
        return Answer(id, _outcome(value["result"]))
    assert value.keys() == {"jsonrpc", "id", "error"}, "members"
    code, message = value["error"]["code"], value["error"]["message"]
    assert isinstance(code, int), "code"
    assert code != -32603, "an internal error"
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
    """The first answer that nothing is owed, or what was owed and never came."""
    at_once = deque(owed for owed in expected if owed.at_once is not False)
    in_turn = deque(owed for owed in expected if owed.at_once is not True)
    to_come = Counter(answers)
    done: set[int] = set()
    for answer in answers:
        owed = _next_at_once(at_once, answer, done) or _next_in_turn(in_turn, answer, done, to_come[answer])
        to_come[answer] -= 1
        if owed is None:
            waiting = [queue[0] for queue in (at_once, in_turn) if queue]
            return [f"{answer} is owed to no line; the next are {'; '.join(map(_told, waiting)) or 'none'}"]
        done.add(id(owed))
    missing = [owed for owed in expected if id(owed) not in done and not owed.optional]
    return [f"{len(missing)} answers never came, the first to {_told(missing[0])}"] if missing else []


def _next_at_once(queue: deque[Expected], answer: Answer, done: set[int]) -> Expected | None:
    """The next of the queue, when the answer fits it, taken out; what may come in turn instead is passed over."""
    for index, owed in enumerate(queue):
        if id(owed) not in done and _fits(owed, answer):
            _drop(queue, index + 1)
            return owed
        if id(owed) not in done and owed.at_once is True:
            return None
    return None


def _next_in_turn(queue: deque[Expected], answer: Answer, done: set[int], to_come: int) -> Expected | None:
    """The same in the order of the calls; what was cancelled is passed over, or what came at once.

    `to_come` answers are alike: while more than that many calls would fit them, one that was cancelled got none.
    """
    fitting = 0
    for index, owed in enumerate(queue):
        if id(owed) in done:
            continue
        if _fits(owed, answer):
            if owed.optional:
                fitting = fitting or sum(id(other) not in done and _fits(other, answer) for other in queue)
            if fitting <= to_come:
                _drop(queue, index + 1)
                return owed
            fitting -= 1
        elif owed.at_once is False and not owed.optional:
            return None
    return None


def _drop(queue: deque[Expected], count: int) -> None:
    for _ in range(count):
        queue.popleft()


def _fits(owed: Expected, answer: Answer) -> bool:
    return answer.id in owed.ids and answer.outcome in owed.outcomes


def _told(owed: Expected) -> str:
    return f"{sorted(owed.outcomes)} for {sorted(owed.ids)}: {_shown(owed.line)}"


def _shown(line: bytes) -> str:
    return repr(line if len(line) <= _SHOWN else line[:_SHOWN] + b"..." + line[-_SHOWN:])
