"""The targets of a run: a server in memory, a command that uses stdio, a command that serves HTTP, a URL."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from nexus_mcp.conformance.failures import TargetFailure, TargetTimeout
from nexus_mcp.conformance.processes.process import Allowance
from nexus_mcp.conformance.processes.starting import NAME_PROGRAM_HINT, make_environment
from nexus_mcp.conformance.settings import TargetOptions
from nexus_mcp.errors import NexusError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from nexus_mcp.conformance.client.connection import Manner, Session

_SLOW_STARTS = 2
"""Start timeouts in a row after which the target is not started again: further starts would only take as long."""

PORT, PROJECTS_FILE, PROJECT = "{port}", "{projects_file}", "{project}"
"""The placeholders in the command and the URL of a server that the run starts over HTTP."""


class Place(NamedTuple):
    """The setting of a session: its project, the mark on its processes, and the bound on their output."""

    project: str
    mark: str
    allowance: Allowance


class Target(ABC):
    """Open sessions with one implementation of a server.

    `server` and `protocol` are "" until the first session reports them.
    """

    is_process = False
    """Whether a session has a process of its own, which can be killed and started again."""
    command: tuple[str, ...] = ("",)
    """The command that starts the target, as a list of words, if it is a process."""
    has_url = False
    """Whether a session has a URL."""
    project: str | None = None
    """The only folder that it serves, None when it serves any folder."""

    def __init__(self, label: str, options: TargetOptions) -> None:
        self.label = label
        self.options = options
        self.server = ""
        self.protocol = ""
        self.tools: tuple[str, ...] | None = None
        """The names of the tools that the first session listed; None before that session."""
        self._slow_starts = 0
        self._first: Manner | None = None
        self.manner: Manner | None = None
        """How the first session made its handshake (see Manner); later sessions start in the same way."""

    async def open(self, place: Place) -> Session:
        """Connect and return the session.

        Raise TargetFailure when it does not become ready, OSError when a command cannot be started, HarnessFault when
        this system has no process, file or memory left.
        """
        from nexus_mcp.conformance.client.connection import Manner, open_session

        if self._slow_starts >= _SLOW_STARTS:
            raise TargetFailure("did not become ready in two starts in a row; it is not started again")
        try:
            session = await open_session(self.source(place), self.manner or self._first or Manner(), self.options)
        except TargetTimeout:
            self._slow_starts += 1
            raise
        self._slow_starts = 0
        self.server, self.protocol = session.connection.server, session.connection.protocol
        if self.manner is None:
            self.tools, self.manner = session.connection.tools, session.connection.manner
        return session

    def start_plainly(self) -> bool:
        """Begin later sessions with the handshake that every server knows. Return False if this was called before."""
        from nexus_mcp.conformance.client.connection import PLAIN

        self._first, before = PLAIN, self._first
        return before is None

    @abstractmethod
    def source(self, place: Place) -> Any:
        """Return the transport or server for the client. Raise OSError and HarnessFault like `open`."""


def in_memory(make: Callable[[str], Any], options: TargetOptions | None = None, label: str = "in memory") -> Target:
    """Return a server in this process as a target. `make` returns a low-level SDK server for the root of a project."""
    return _Memory(make, label, options or TargetOptions())


def stdio(command: Sequence[str], options: TargetOptions | None = None) -> Target:
    """Return a command that speaks MCP on stdin and stdout as a target; its working directory is the project."""
    import shlex

    return _Command(command, shlex.join(command), options or TargetOptions())


def over_http(url: str, project: str, options: TargetOptions | None = None) -> Target:
    """Return a server at `url` as a target.

    It serves the folder `project`, which must be empty, one fixture at a time.
    """
    return _Url(url, project, options or TargetOptions())


def started_over_http(command: Sequence[str], url: str, options: TargetOptions | None = None) -> Target:
    """Return the target for a command that serves HTTP at `url`. The command is started for each session.

    In the command and the URL, {port} is a free port of loopback, {projects_file} is a file with the path of the
    project, and {project} is the name of the project's folder, percent-encoded.
    """
    import shlex

    return _HttpTarget(command, url, shlex.join(command), options or TargetOptions())


@asynccontextmanager
async def one_session(
    command: Sequence[str], project: str, options: TargetOptions | None = None
) -> AsyncIterator[Session]:
    """Start `command` in the folder `project`, yield a session, and end the process afterwards with its children.

    This is for showing or measuring a server instead of judging it. Raise NexusError when the command cannot be
    started, does not answer the handshake, or does not answer a call in the block.
    """
    place = Place(project, f"single.{os.getpid()}.{id(command)}", Allowance())
    session = None
    try:
        try:
            session = await stdio(command, options).open(place)
        except OSError as error:
            problem = f"{command[0]} could not be started: {error.strerror}."
            raise NexusError(problem, next_step=NAME_PROGRAM_HINT) from error
        yield session
        await session.end()
    except TargetFailure as failure:
        raise NexusError(f"{command[0]} does not work as an MCP server: it {failure}.") from failure
    finally:
        if session is not None:
            session.kill()


class _Memory(Target):
    def __init__(self, make: Callable[[str], Any], label: str, options: TargetOptions) -> None:
        super().__init__(label, options)
        self._make = make

    def source(self, place: Place) -> Any:
        return self._make(place.project)


class _Command(Target):
    is_process = True

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
                make_environment(self.options, place.project, place.mark),
                allowance=place.allowance,
                on_line=on_line,
                on_end=on_end,
            )
        )


class _HttpTarget(Target):
    is_process = has_url = True

    def __init__(self, command: Sequence[str], url: str, label: str, options: TargetOptions) -> None:
        super().__init__(label, options)
        self.command = tuple(command)
        self._url = url
        self._folder = tempfile.mkdtemp(prefix="nexus-conformance-projects-")
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._count = itertools.count()

    def source(self, place: Place) -> Any:
        from nexus_mcp.conformance.client.served import ServedTransport, free_port
        from nexus_mcp.conformance.processes.process import ServerProcess

        file = os.path.join(self._folder, f"{next(self._count)}.txt")
        with open(file, "w", encoding="utf-8") as written:
            written.write(f"{place.project}\n")
        values = {PORT: str(free_port()), PROJECTS_FILE: file, PROJECT: quote(os.path.basename(place.project))}
        return ServedTransport(
            lambda on_line, on_end: ServerProcess(
                [_fill(word, values) for word in self.command],
                place.project,
                make_environment(self.options, place.project, place.mark),
                allowance=place.allowance,
                on_line=on_line,
                on_end=on_end,
                end_signal=signal.SIGTERM,
            ),
            _fill(self._url, values),
            place.allowance,
        )


def _fill(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(name, value)
    return text


class _Url(Target):
    has_url = True

    def __init__(self, url: str, project: str, options: TargetOptions) -> None:
        super().__init__(url, options)
        self.project = os.path.realpath(project)

    def source(self, place: Place) -> Any:
        from nexus_mcp.conformance.client.transport import HttpTransport

        return HttpTransport(self.label, place.allowance)
