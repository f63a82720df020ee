"""Define a miniature, and its server: the correct tools behind a deviation that gets each call first."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nexus_mcp.server.app import Answer, App
from nexus_mcp.store.codec import compact, encode
from nexus_mcp.workspace import DEFAULT_HARNESS_ID, Workspace

Json = Any

MEMORY = "memory"
PROCESS = "process"
EVENTS = "events"
NEEDS = (MEMORY, PROCESS, EVENTS)


@dataclass
class Call:
    """One call: what was asked, where, and the correct server to pass it on to. `memory` lives with the server."""

    name: str
    arguments: dict[str, Json]
    root: Path
    memory: dict[str, Json]
    pass_on: Callable[[str, dict[str, Json]], Answer]
    answer: Answer | None = None

    @property
    def nexus(self) -> Path:
        return self.root / ".nexus"

    @property
    def plan(self) -> Path:
        return self.nexus / "state" / "plan.json"

    @property
    def tasks(self) -> Path:
        return self.nexus / "state" / "tasks.json"

    @property
    def history(self) -> Path:
        return self.nexus / "history.json"

    def right(self, arguments: dict[str, Json] | None = None) -> Answer:
        """What the correct server does and answers, to other arguments when some are given."""
        self.answer = self.pass_on(self.name, self.arguments if arguments is None else arguments)
        return self.answer


Deviation = Callable[[Call], Answer]


@dataclass
class Told:
    """One lifecycle event: what was told, where, and the correct handling to pass it on to."""

    type: str
    params: dict[str, Json]
    root: Path
    pass_on: Callable[[dict[str, Json]], Json]

    @property
    def state(self) -> Path:
        return self.root / ".nexus" / "state"

    @property
    def own(self) -> Path:
        """The folder of the harness."""
        return self.state / str(self.params.get("harness_id", DEFAULT_HARNESS_ID))

    @property
    def tracker(self) -> Path:
        return self.own / "agent-tracker.json"

    @property
    def log(self) -> Path:
        return self.own / "memory-access.jsonl"

    def right(self, params: dict[str, Json] | None = None) -> Json:
        """What the correct handling does and answers, to other params when some are given."""
        return self.pass_on(self.params if params is None else params)


EventDeviation = Callable[[Told], Json]


@dataclass(frozen=True)
class Miniature:
    """`wrong` says in a sentence what is wrong. `tools`: those that deviate, () for every one; of an events miniature,
    the events. `needs` is what a target must be to show it; `at_start` is what it does to the project when it starts.
    caught_by.json names the fixtures that fail because of it.
    """

    name: str
    wrong: str
    tools: tuple[str, ...]
    deviation: Deviation | None
    needs: str = MEMORY
    event: EventDeviation | None = None
    keeps_schemas: bool = False
    at_start: Callable[[Path], None] | None = None

    def app(self, root: str) -> App:
        """The wrong server over the project at `root`."""
        return WrongApp(self, root)


class WrongApp(App):
    """A server that advertises no output schemas, so that only the fixtures can find the fault in an answer."""

    def __init__(self, miniature: Miniature, root: str) -> None:
        super().__init__(Workspace(root))
        self._miniature = miniature
        self._memory: dict[str, Json] = {}
        if miniature.at_start is not None:
            miniature.at_start(Path(root))

    def tools(self) -> list[dict[str, Any]]:
        """The correct definitions, without output schemas."""
        if self._miniature.keeps_schemas:
            return super().tools()
        return [{key: value for key, value in tool.items() if key != "outputSchema"} for tool in super().tools()]

    def call(self, name: str, arguments: dict[str, Any] | None, client_name: str = "") -> Answer:
        """Carry out one call, wrongly where the miniature is about its tool."""
        right = super().call
        miniature = self._miniature
        concerned = name in self._table and (not miniature.tools or name in miniature.tools)
        if miniature.deviation is None or not concerned:
            return right(name, arguments, client_name)
        call = Call(
            name, dict(arguments or {}), Path(self.workspace.root), self._memory, lambda n, a: right(n, a, client_name)
        )
        try:
            return miniature.deviation(call)
        except (AttributeError, KeyError, TypeError, ValueError, OSError):
            # A broken file, or arguments of odd types: a miniature is wrong in one thing, and this is another.
            return call.answer or call.right()


def failed(answer: Answer) -> bool:
    return bool(answer.result["isError"])


def shown(answer: Answer, value: Json) -> Answer:
    """Replace the value in both places of the answer. The answer is changed in place, because its delivery actions
    belong to it.
    """
    answer.result["structuredContent"] = value
    answer.result["content"] = [{"type": "text", "text": compact(value)}]
    return answer


def success(value: Json) -> Answer:
    return Answer(value, is_error=False)


def error(message: str) -> Answer:
    return Answer({"error": message}, is_error=True)


def load(path: Path) -> Json:
    """The JSON value of a file, None when there is no such file. Raise ValueError."""
    return json.loads(path.read_bytes()) if path.exists() else None


def save(path: Path, value: Json) -> None:
    """The file in the contract's layout, however it was before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode(value))


def asking(edit: Callable[[dict[str, Json]], dict[str, Json]]) -> Deviation:
    """Return the correct server, called with other arguments."""
    return lambda call: call.right(edit(call.arguments))


def answering(edit: Callable[[Json, Call], Json]) -> Deviation:
    """Return the correct server, whose successes are reported wrongly."""

    def deviation(call: Call) -> Answer:
        answer = call.right()
        return answer if failed(answer) else shown(answer, edit(deepcopy(answer.result["structuredContent"]), call))

    return deviation


def saving(path: Callable[[Call], Path], edit: Callable[[Json, Call], Json]) -> Deviation:
    """Return the correct server, which writes another content to a file after each success."""

    def deviation(call: Call) -> Answer:
        answer = call.right()
        if not failed(answer) and path(call).exists():
            save(path(call), edit(load(path(call)), call))
        return answer

    return deviation


def without(value: dict[str, Json], *names: str) -> dict[str, Json]:
    return {name: member for name, member in value.items() if name not in names}
