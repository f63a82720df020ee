"""What a suite can be run against: a server in memory, a command on stdio, a URL."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from nexus_mcp.conformance.processes.surroundings import environment
from nexus_mcp.conformance.session import Session, open_session
from nexus_mcp.conformance.trouble import TargetTrouble, TimeRanOut

if TYPE_CHECKING:
    from nexus_mcp.conformance.client.connection import Manner
    from nexus_mcp.conformance.processes.allowance import Allowance

_SLOW_STARTS = 2
"""So many starts in a row that took all their time are enough: the others would not tell more, only take as long."""


@dataclass(frozen=True)
class TargetOptions:
    """How to treat a target; times in seconds.

    `prefix` goes before each tool name, but for those that `names` gives (abstract to real). `environment` is added to
    the user's own, `project_env` is the variable that holds the project's path. `event_command` are the words of a
    command; {type} in them is the event's type. `timeout` bounds a call or an event, `start_timeout` a server's start
    until it has listed its tools, `end_timeout` its end after its stdin was closed.
    """

    prefix: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    project_env: str = "NEXUS_PROJECT_ROOT"
    harness_id: str = "nexus-mcp"
    event_command: tuple[str, ...] | None = None
    timeout: float = 10.0
    start_timeout: float = 30.0
    end_timeout: float = 5.0

    def actual(self, tool: str) -> str:
        """The name that the target has for a tool."""
        return self.names.get(tool, self.prefix + tool)


class Place(NamedTuple):
    """Where a session works: in this project, its processes named by this mark, printing at most this much."""

    project: str
    mark: str
    allowance: Allowance


class Target(ABC):
    """Opens sessions with one implementation. `server` and `protocol` are "" until the first one told them."""

    is_process = False
    """Whether a session has a process of its own, which can be killed and started again."""
    kind = ""
    """In a few words, for the reason why something cannot be asked of it."""
    command: tuple[str, ...] = ("",)
    """The words that start it, when it is a process."""
    project: str | None = None
    """The one folder that it serves, None when it serves whichever it is told to."""

    def __init__(self, label: str, options: TargetOptions) -> None:
        self.label = label
        self.options = options
        self.server = ""
        self.protocol = ""
        self._slow_starts = 0
        self._first: Manner | None = None
        self.manner: Manner | None = None
        """How the first session was talked to; the others then need not find out."""

    async def open(self, place: Place) -> Session:
        """Connects. Raises TargetTrouble; OSError when a command cannot be started."""
        from nexus_mcp.conformance.client.connection import Manner

        if self._slow_starts >= _SLOW_STARTS:
            raise TargetTrouble("did not get ready twice in a row, so it is not started again")
        try:
            session = await open_session(self.source(place), self.manner or self._first or Manner(), self.options)
        except TimeRanOut:
            self._slow_starts += 1
            raise
        self._slow_starts = 0
        self.server, self.protocol = session.connection.server, session.connection.protocol
        self.manner = self.manner or session.connection.manner
        return session

    def start_plainly(self) -> bool:
        """From now on begins with the handshake every server knows. False when that is so already."""
        from nexus_mcp.conformance.client.connection import PLAIN

        self._first, before = PLAIN, self._first
        return before is None

    @abstractmethod
    def source(self, place: Place) -> Any:
        """What the client connects to. Raises OSError when a command cannot be started."""


class _Memory(Target):
    kind = "a server in memory"

    def __init__(self, make: Callable[[str], Any], label: str, options: TargetOptions) -> None:
        super().__init__(label, options)
        self._make = make

    def source(self, place: Place) -> Any:
        return self._make(place.project)


class _Command(Target):
    is_process = True
    kind = "a process"

    def __init__(self, command: Sequence[str], label: str, options: TargetOptions) -> None:
        super().__init__(label, options)
        self.command = tuple(command)

    def source(self, place: Place) -> Any:
        from nexus_mcp.conformance.client.transport import PipeTransport
        from nexus_mcp.conformance.processes.process import ServerProcess

        return PipeTransport(
            lambda on_line, on_end: ServerProcess(
                self.command,
                place.project,
                environment(self.options, place.project, place.mark),
                allowance=place.allowance,
                on_line=on_line,
                on_end=on_end,
            )
        )


class _Url(Target):
    kind = "a server over HTTP"

    def __init__(self, url: str, project: str, options: TargetOptions) -> None:
        super().__init__(url, options)
        self.project = os.path.realpath(project)

    def source(self, place: Place) -> Any:
        from nexus_mcp.conformance.client.http_transport import HttpTransport

        return HttpTransport(self.label, place.allowance)


def in_memory(make: Callable[[str], Any], options: TargetOptions | None = None, label: str = "in memory") -> Target:
    """A server in this process. `make` gives a low-level server of the official SDK for the root of a project."""
    return _Memory(make, label, options or TargetOptions())


def stdio(command: Sequence[str], options: TargetOptions | None = None) -> Target:
    """A command that speaks MCP on stdin and stdout, with the project as its working directory."""
    import shlex

    return _Command(command, shlex.join(command), options or TargetOptions())


def over_http(url: str, project: str, options: TargetOptions | None = None) -> Target:
    """A server at `url` that serves the folder `project`, which must be empty when a run begins; one fixture a time."""
    return _Url(url, project, options or TargetOptions())
