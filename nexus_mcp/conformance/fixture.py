"""Build a `Fixture` from its JSON. A fixture with a single call or event, and no list of steps, gets one step."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from nexus_mcp.conformance.document import encode_file

CORE = "core"
ROBUSTNESS = "robustness"
EXECUTOR = "executor"
RUN = "command run"
"""The entry in `Fixture.tools` for a step `run`, which starts a command and calls no tool."""
BASIC, FULL, ROBUST = "basic", "full", "robust"
LEVELS = (BASIC, FULL, ROBUST)
"""The levels of a run; each includes the fixtures of the levels before it."""
WHOLE_TEXT = "text"
"""The key, instead of a JSONPath, for an assertion on the whole text of a file."""
StateFiles = dict[str, dict[str, Any] | None]
"""Path of a file -> None (the file is absent), {} (it exists), or a dict: JSONPath or "text" -> expected value."""


@dataclass(frozen=True)
class Action:
    """A call of a tool, by its name in the contract."""

    tool: str
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Event:
    """A lifecycle event and its payload. `description` tells people when the event happens, or why it is sent."""

    type: str
    params: dict[str, Any] = field(default_factory=dict)
    description: str = ""


@dataclass(frozen=True)
class ListTools:
    """A request for the server's list of tools. `tools`: the names, in the contract, of the tools to look up."""

    tools: tuple[str, ...]


@dataclass(frozen=True)
class WriteFile:
    """A file that the runner writes (`content`, bytes), replaces by a link (`symlink`), or deletes (both are None)."""

    path: str
    content: bytes | None = None
    symlink: str | None = None


@dataclass(frozen=True)
class Kill:
    """A kill of the server during a call, at a random point chosen by `seed`, at most `within_ms` after the request.

    With `retry` the call is repeated if it got no answer.
    """

    action: Action
    seed: int
    within_ms: float = 20.0
    retry: bool = False


@dataclass(frozen=True)
class Restart:
    """A restart of the server: the runner closes its stdin, waits for its end and starts it again."""


@dataclass(frozen=True)
class Run:
    """A run of the executor on the task list, to its end. `words` are the arguments after its command."""

    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parallel:
    """Several server processes at once, one for each lane of steps."""

    lanes: tuple[tuple[Step, ...], ...]


Do: TypeAlias = "Action | Event | ListTools | WriteFile | Kill | Restart | Run | Parallel"
"""What a step does."""


@dataclass(frozen=True)
class Asserts:
    """The assertions after a step. None means: no assertion of this kind.

    `return_value` asserts the payload of the answer, `result` the whole result of the call, as it was sent. `error`: if
    True, the answer must be an error; if False, it must not be one. `unchanged`: a tuple of paths, or True for the
    whole project. In the postcondition, the state is compared with that before the first step; in a step, with that
    before the step.
    """

    return_value: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    state_files: StateFiles = field(default_factory=dict)
    error: bool | None = None
    error_contains: str | None = None
    unchanged: tuple[str, ...] | Literal[True] | None = None


@dataclass(frozen=True)
class Step:
    """One action of a fixture and its assertions. `times` is how often a call is made."""

    do: Do
    asserts: Asserts = Asserts()
    times: int = 1
    description: str = ""


@dataclass(frozen=True)
class Special:
    """A file that exists before the start and is not written as JSON: bytes, a link, or an empty folder (both are
    None).
    """

    content: bytes | None = None
    symlink: str | None = None


@dataclass(frozen=True)
class Fixture:
    """One fixture. `source` is its file, `pointer` its place there ("" when it is the whole file). `level` is the first
    of LEVELS that has it.

    `state_files`, `files` and `git` (whether the project is a repository) are the precondition. `single`: the fixture
    has one action or event and no list of steps. `executor` has the scripts of the agents and the settings of the runs.
    """

    test_id: str
    description: str
    steps: tuple[Step, ...]
    single: bool
    postcondition: Asserts
    state_files: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Special] = field(default_factory=dict)
    git: bool = True
    executor: dict[str, Any] = field(default_factory=dict)
    covers: dict[str, Any] = field(default_factory=dict)
    uncovered_params: tuple[str, ...] = ()
    group: str = CORE
    level: str = FULL
    repeat: int = 1
    source: str = ""
    pointer: str = ""

    @property
    def requests(self) -> tuple[Action | Event, ...]:
        """Return every call and event of its steps in order, those in lanes and kills included."""
        return tuple(request for step in self.steps for request in _requests_of(step))

    @property
    def tools(self) -> tuple[str, ...]:
        """Return the tools and events ("event agent_spawn") that it uses, and RUN for a step `run`, each once."""
        names = [one.tool if isinstance(one, Action) else f"event {one.type}" for one in self.requests]
        listed = [tool for step in self.steps if isinstance(step.do, ListTools) for tool in step.do.tools]
        return tuple(dict.fromkeys((*names, *listed, *((RUN,) if self.needs_run else ()))))

    @property
    def called_tools(self) -> tuple[str, ...]:
        """Return the tools that the target must have to run it, by their names in the contract."""
        return tuple(name for name in self.tools if " " not in name)

    @property
    def needs_server(self) -> bool:
        """Return whether it has a step that uses the server of the target."""
        return any(not isinstance(step.do, (Event, Run, WriteFile)) for step in self.steps)

    @property
    def needs_run(self) -> bool:
        """Return whether it needs a command that works through the task list."""
        return any(isinstance(step.do, Run) for step in self.steps)

    @property
    def needs_events(self) -> bool:
        """Return whether it needs a target that accepts lifecycle events."""
        return any(isinstance(one, Event) for one in self.requests)

    @property
    def needs_process(self) -> bool:
        """Return whether it needs a target that the runner starts as a process."""
        return any(isinstance(step.do, (Restart, Kill, Parallel)) for step in self.steps)

    @property
    def harness_id(self) -> str | None:
        """Return the harness id that its events name, None if no event names one."""
        for one in self.requests:
            value = one.params.get("harness_id") if isinstance(one, Event) else None
            if isinstance(value, str):
                return value
        return None


def build_fixture(raw: dict[str, Any], source: str, pointer: str) -> Fixture:
    """Return the fixture at `pointer` in the file `source`; its JSON must have no faults."""
    single = "steps" not in raw
    precondition = raw.get("precondition", {})
    return Fixture(
        test_id=raw["test_id"],
        description=raw["description"],
        steps=(_step(raw),) if single else tuple(_step(step) for step in raw["steps"]),
        single=single,
        postcondition=_asserts(raw.get("postcondition", {})),
        state_files=precondition.get("state_files", {}),
        files={path: _special(what) for path, what in precondition.get("files", {}).items()},
        git=precondition.get("git", True),
        executor=precondition.get("executor", {}),
        covers=raw.get("covers", {}),
        uncovered_params=tuple(raw.get("uncovered_params", ())),
        group=raw.get("group", CORE),
        level=raw.get("level", ROBUST if raw.get("group") == ROBUSTNESS else FULL),
        repeat=int(raw.get("repeat", 1)),
        source=source,
        pointer=pointer,
    )


def _requests_of(step: Step) -> tuple[Action | Event, ...]:
    do = step.do
    if isinstance(do, (Action, Event)):
        return (do,)
    if isinstance(do, Kill):
        return (do.action,)
    if isinstance(do, Parallel):
        return tuple(request for lane in do.lanes for inner in lane for request in _requests_of(inner))
    return ()


def _step(raw: dict[str, Any]) -> Step:
    """Return a step; the only action or event of a fixture becomes a step without assertions of its own."""
    inner = "test_id" not in raw
    wanted = raw.get("assert_error")
    asserts = {
        "return_value": raw.get("assert_return"),
        "result": raw.get("assert_result"),
        "state_files": raw.get("assert_state", {}),
        "error": True if wanted is not None else None,
        "error_contains": wanted if isinstance(wanted, str) else None,
        "unchanged": raw.get("assert_unchanged"),
    }
    return Step(
        do=_do(raw),
        asserts=_asserts(asserts) if inner else Asserts(),
        times=int(raw.get("times", 1)),
        description=raw.get("description", "") if inner else "",
    )


def _asserts(raw: dict[str, Any]) -> Asserts:
    unchanged = raw.get("unchanged")
    return Asserts(**{**raw, "unchanged": tuple(unchanged) if isinstance(unchanged, list) else unchanged})


def _do(raw: dict[str, Any]) -> Do:
    if "action" in raw:
        return Action(**raw["action"])
    if "list_tools" in raw:
        return ListTools(tuple(raw["list_tools"]))
    if "event" in raw:
        return Event(**raw["event"])
    if "write_file" in raw:
        return _write_file(raw["write_file"])
    if "kill" in raw:
        kill = raw["kill"]
        return Kill(**{**kill, "action": Action(**kill["action"]), "seed": int(kill["seed"])})
    if "parallel" in raw:
        return Parallel(tuple(tuple(_step(step) for step in lane) for lane in raw["parallel"]))
    if "run" in raw:
        return Run(tuple(raw["run"].get("words", ())))
    return Restart()


def _write_file(raw: dict[str, Any]) -> WriteFile:
    path = raw["path"]
    if "text" in raw:
        return WriteFile(path, raw["text"].encode())
    if "json" in raw:
        return WriteFile(path, encode_file(path, raw["json"]))
    if "base64" in raw:
        return WriteFile(path, base64.b64decode(raw["base64"]))
    return WriteFile(path, symlink=raw.get("symlink"))


def _special(raw: Any) -> Special:
    if isinstance(raw, str):
        return Special(raw.encode())
    if "base64" in raw:
        return Special(base64.b64decode(raw["base64"]))
    return Special(symlink=raw.get("symlink"))
