"""A connected target, with the process behind it if there is one: what it did counts more than what the client saw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nexus_mcp.conformance.trouble import TargetTrouble, TimeRanOut, garbage, last_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nexus_mcp.conformance.client.connection import Connection, Manner
    from nexus_mcp.conformance.client.http_transport import HttpTransport
    from nexus_mcp.conformance.client.transport import PipeTransport
    from nexus_mcp.conformance.processes.process import ServerProcess
    from nexus_mcp.conformance.reply import Reply
    from nexus_mcp.conformance.target import TargetOptions


async def open_session(source: Any, manner: Manner, options: TargetOptions) -> Session:
    """Connects to what a target gives. Raises TargetTrouble, with the last line of stderr."""
    from nexus_mcp.conformance.client.connection import Connection
    from nexus_mcp.conformance.client.http_transport import HttpTransport
    from nexus_mcp.conformance.client.transport import PipeTransport

    transport = source if isinstance(source, PipeTransport) else None
    remote = source if isinstance(source, HttpTransport) else None
    try:
        connection = await Connection.open(source, manner, options.start_timeout)
    except BaseException as error:
        if remote is not None and remote.fault:
            raise TargetTrouble(remote.fault) from None
        if transport is None:
            raise
        transport.process.kill()
        if not isinstance(error, TargetTrouble) or isinstance(error, TimeRanOut):
            raise
        words = last_line(transport.process.stderr)
        said = f' (the end of its stderr: "{words}")' if words else ""
        raise TargetTrouble((transport.process.fault or str(error)) + said) from None
    return Session(connection, options, transport, remote)


class Session:
    """A target that answers calls, until `end` or `kill`."""

    def __init__(
        self,
        connection: Connection,
        options: TargetOptions,
        transport: PipeTransport | None,
        remote: HttpTransport | None = None,
    ) -> None:
        self.connection = connection
        self.transport = transport
        self._remote = remote
        self._options = options
        self._over = False

    @property
    def process(self) -> ServerProcess | None:
        """The process of this session, None when it has none of its own."""
        return self.transport.process if self.transport else None

    @property
    def stderr(self) -> str:
        """The end of what its process printed to stderr."""
        return self.process.stderr if self.process else ""

    async def call(self, tool: str, params: Mapping[str, Any]) -> Reply:
        """Calls a tool by its abstract name. Raises TargetTrouble when there is no answer, or no such tool."""
        name = self._options.actual(tool)
        if name not in self.connection.tools:
            raise TargetTrouble(f"has no tool {name}")
        try:
            return await self.connection.call(name, params, self._options.timeout)
        except TargetTrouble as trouble:
            raise TargetTrouble(self.fault or str(trouble)) from None

    def describes(self, tool: str) -> bool:
        """Whether the target gave an output schema for a tool."""
        return self._options.actual(tool) in self.connection.described

    @property
    def fault(self) -> str:
        """What its process or the server at its URL did wrong so far, else ""."""
        if self._remote is not None:
            return self._remote.fault
        return self.process.fault if self.process else ""

    async def end(self) -> str:
        """Ends it as a client does that has no more to ask. Says what its process did wrong up to its end, else ""."""
        if self._over:
            return ""
        self._over = True
        complaint = ""
        try:
            await self.connection.close()
            if self.process is not None:
                complaint = await self.process.end(self._options.end_timeout) or _last_words(self.process)
        finally:
            self._cut()
        return self.fault or complaint

    def kill(self) -> None:
        """Ends it at once, with everything that it started."""
        self._over = True
        self._cut()

    def _cut(self) -> None:
        self.connection.abandon()
        if self.process is not None:
            self.process.kill()


def _last_words(process: ServerProcess) -> str:
    """What was wrong with an end that came in time, else ""."""
    if process.unfinished:
        return garbage(process.unfinished)
    return f"{process.death.description} after its stdin was closed" if process.death.code else ""
