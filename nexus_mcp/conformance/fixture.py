"""A fixture as a value: what its JSON says, with one shape for a single call and for many steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

CORE = "core"
ROBUSTNESS = "robustness"

WHOLE_TEXT = "text"
"""The name that stands for the whole text of a file, in place of a JSONPath."""

StateFiles = dict[str, dict[str, Any] | None]
"""Path -> None: absent; {}: there; else JSONPath, or "text", -> expected value."""


@dataclass(frozen=True)
class Action:
    """A call of a tool, by its abstract name."""

    tool: str
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Event:
    """A lifecycle event and its payload. `description` is for people: when it happens, or why it is sent."""

    type: str
    params: dict[str, Any] = field(default_factory=dict)
    description: str = ""


@dataclass(frozen=True)
class WriteFile:
    """Somebody else changes a file: to `content` (bytes), to a link, or it goes (both None)."""

    path: str
    content: bytes | None = None
    symlink: str | None = None


@dataclass(frozen=True)
class Kill:
    """The server is killed at a random point, chosen by `seed`, at most `within_ms` after the call was sent."""

    action: Action
    seed: int
    within_ms: float = 20.0
    retry: bool = False


@dataclass(frozen=True)
class Restart:
    """The server is ended by closing its stdin, and started again."""


@dataclass(frozen=True)
class Parallel:
    """A server process for each lane, all at once."""

    lanes: tuple[tuple[Step, ...], ...]


@dataclass(frozen=True)
class Asserts:
    """What has to hold after a step. None: nothing is said about it.

    `return_value` is about the payload of the answer, `result` about the whole result of the call, as it was sent.
    `error`: True, the answer is an error; False, it is none. `unchanged`: a tuple of paths, or True for the whole
    project; for the postcondition since before the first step, for a step since before it.
    """

    return_value: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    state_files: StateFiles = field(default_factory=dict)
    error: bool | None = None
    error_contains: str | None = None
    unchanged: tuple[str, ...] | Literal[True] | None = None


@dataclass(frozen=True)
class Step:
    """One thing done, and what has to hold right after it. `times` counts repetitions of an action."""

    do: Action | Event | WriteFile | Kill | Restart | Parallel
    asserts: Asserts = Asserts()
    times: int = 1
    description: str = ""


@dataclass(frozen=True)
class Special:
    """What stands at a path before the start, other than JSON: bytes, a link or an empty folder (both None)."""

    content: bytes | None = None
    symlink: str | None = None


@dataclass(frozen=True)
class Fixture:
    """One fixture. `source` is the file it comes from, `pointer` its place there ("" when it is the whole file).

    `state_files`, `files` and `git` (whether the project is a repository) are the precondition.
    `single` tells one action or event from a list of steps.
    """

    test_id: str
    description: str
    steps: tuple[Step, ...]
    single: bool
    postcondition: Asserts
    state_files: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Special] = field(default_factory=dict)
    git: bool = True
    covers: dict[str, Any] = field(default_factory=dict)
    uncovered_params: tuple[str, ...] = ()
    group: str = CORE
    repeat: int = 1
    source: str = ""
    pointer: str = ""

    @property
    def asked(self) -> tuple[Action | Event, ...]:
        """Every call and event of its steps, those in lanes and kills included, in order."""
        return tuple(asked for step in self.steps for asked in _asked(step))

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools and the events ("event agent_spawn") that it asks, each once, in order."""
        names = (one.tool if isinstance(one, Action) else f"event {one.type}" for one in self.asked)
        return tuple(dict.fromkeys(names))

    @property
    def needs_events(self) -> bool:
        """Whether it can be asked only of a target that takes lifecycle events."""
        return any(isinstance(one, Event) for one in self.asked)

    @property
    def needs_process(self) -> bool:
        """Whether it can be asked only of a target that is a process of the runner's."""
        return any(isinstance(step.do, (Restart, Kill, Parallel)) for step in self.steps)

    @property
    def harness_id(self) -> str | None:
        """The harness id that its events name, None when none does."""
        for one in self.asked:
            value = one.params.get("harness_id") if isinstance(one, Event) else None
            if isinstance(value, str):
                return value
        return None


def _asked(step: Step) -> tuple[Action | Event, ...]:
    do = step.do
    if isinstance(do, (Action, Event)):
        return (do,)
    if isinstance(do, Kill):
        return (do.action,)
    if isinstance(do, Parallel):
        return tuple(asked for lane in do.lanes for inner in lane for asked in _asked(inner))
    return ()
