"""Define a miniature and its server: the correct tools, and a deviation that handles each call before them."""

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
EXECUTOR = "executor"
NEEDS = (MEMORY, PROCESS, EVENTS, EXECUTOR)


@dataclass
class Call:
    """One call: its request, its project, and the correct server to forward it to. `memory` lives with the server."""

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
        """Forward the call to the correct server, with other arguments if present; return its answer."""
        self.answer = self.pass_on(self.name, self.arguments if arguments is None else arguments)
        return self.answer


Deviation = Callable[[Call], Answer]


@dataclass
class Told:
    """One lifecycle event: its params, its project, and the correct handler to forward it to."""

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
        """Forward the event to the correct handler, with other params if present; return its answer."""
        return self.pass_on(self.params if params is None else params)


EventDeviation = Callable[[Told], Json]


@dataclass(frozen=True)
class Miniature:
    """A wrong server. `wrong` describes the fault in a sentence.

    `tools` are the tools that deviate, () for all; for a miniature of events these are the events. `needs` is the kind
    of target that can show the fault; `at_start` changes the project when the server starts, `listed` the definition of
    each tool. caught_by.json names fixtures that fail because of the fault, causes.json the cause in the report.
    """

    name: str
    wrong: str
    tools: tuple[str, ...]
    deviation: Deviation | None
    needs: str = MEMORY
    event: EventDeviation | None = None
    keeps_schemas: bool = False
    at_start: Callable[[Path], None] | None = None
    listed: Callable[[dict[str, Any]], dict[str, Any]] | None = None

    def app(self, root: str) -> App:
        """Return the wrong server for the project at `root`."""
        return WrongApp(self, root)


class WrongApp(App):
    """The wrong server. It advertises no output schemas, so that only the fixtures can find the fault in an answer."""

    def __init__(self, miniature: Miniature, root: str) -> None:
        super().__init__(Workspace(root))
        self._miniature = miniature
        self._memory: dict[str, Json] = {}
        if miniature.at_start is not None:
            miniature.at_start(Path(root))

    def tools(self) -> list[dict[str, Any]]:
        """The correct definitions, without output schemas, as the miniature lists them."""
        if self._miniature.keeps_schemas:
            return super().tools()
        if self._miniature.listed is not None:
            return [self._miniature.listed(deepcopy(tool)) for tool in super().tools()]
        return [{key: value for key, value in tool.items() if key != "outputSchema"} for tool in super().tools()]

    def call(self, name: str, arguments: dict[str, Any] | None, client_name: str = "", **about: Any) -> Answer:
        """Carry out one call, with the deviation if the miniature is about its tool."""
        right = super().call
        miniature = self._miniature
        concerned = name in self._table and (not miniature.tools or name in miniature.tools)
        if miniature.deviation is None or not concerned:
            return right(name, arguments, client_name, **about)
        call = Call(
            name,
            dict(arguments or {}),
            Path(self.workspace.root),
            self._memory,
            lambda n, a: right(n, a, client_name, **about),
        )
        try:
            return miniature.deviation(call)
        except (AttributeError, KeyError, TypeError, ValueError, OSError):
            # The deviation met a broken file or odd arguments: then the answer is the correct one.
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
    """Return the JSON value of a file; None when it is absent. Raise ValueError."""
    return json.loads(path.read_bytes()) if path.exists() else None


def save(path: Path, value: Json) -> None:
    """Write the file in the layout of the contract."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode(value))


def asking(edit: Callable[[dict[str, Json]], dict[str, Json]]) -> Deviation:
    """Return a deviation: call the correct server with the arguments that `edit` returns."""
    return lambda call: call.right(edit(call.arguments))


def answering(edit: Callable[[Json, Call], Json]) -> Deviation:
    """Return a deviation: answer each success with the value that `edit` returns."""

    def deviation(call: Call) -> Answer:
        answer = call.right()
        return answer if failed(answer) else shown(answer, edit(deepcopy(answer.result["structuredContent"]), call))

    return deviation


def saving(path: Callable[[Call], Path], edit: Callable[[Json, Call], Json]) -> Deviation:
    """Return a deviation: after each success write the content that `edit` returns to a file."""

    def deviation(call: Call) -> Answer:
        answer = call.right()
        if not failed(answer) and path(call).exists():
            save(path(call), edit(load(path(call)), call))
        return answer

    return deviation


def without(value: dict[str, Json], *names: str) -> dict[str, Json]:
    return {name: member for name, member in value.items() if name not in names}
