"""The tool table as MCP has it, whatever the transport: the one place where errors become results."""

from __future__ import annotations

from contextlib import suppress

from nexus_mcp import __version__, log
from nexus_mcp.errors import BEGUN, UNCHANGED, NexusError, UnknownTool
from nexus_mcp.quoting import inert
from nexus_mcp.state.oplog import By
from nexus_mcp.store.store import Store
from nexus_mcp.tools import TOOLS
from nexus_mcp.tools.arguments import checked
from nexus_mcp.tools.definition import ToolContext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.server.rendered import Rendered
    from nexus_mcp.store.unanswered import Unanswered
    from nexus_mcp.workspace import Workspace

    Content = tuple[Rendered, Rendered]

# One line for each point: clients show the text to the model as it is.
_INSTRUCTIONS = "\n".join(
    (
        "Nexus keeps a plan and a task list for this project, shared by all agents and kept across sessions.",
        "1. Start with {p}context; {p}history_search tells what was decided before.",
        "2. Something to decide? {p}plan_start with the open questions, then {p}plan_decide for each; "
        "{p}plan_update adds or reopens one.",
        "3. Turn decisions into tasks with {p}task_add: context, acceptance, deps.",
        "4. Take an id from summary.ready of {p}task_list, set it in_progress with {p}task_update, "
        "and completed when its acceptance is met.",
        "5. When all is done, {p}task_close archives plan and tasks into the history.",
        "Long texts for other agents go into {p}artifact_write. An error means that nothing was changed unless it "
        "says otherwise; it, or the tool's description, names the next step.",
    )
)


_NOTE_WAIT = 0.25
"""Seconds that what nobody waits for, such as the count of a read, waits for the lock: an answer is held up by it."""


class Answer:
    """The result of a call, and what has to happen once it was written out, or never will be."""

    __slots__ = ("_afterwards", "_rendered", "_result", "_unanswered")

    def __init__(
        self,
        value: dict[str, Any],
        *,
        is_error: bool,
        unanswered: Unanswered | None = None,
        afterwards: Callable[[], object] = bool,
        content: Content | None = None,
    ) -> None:
        """`content` is what rendered.content makes of `value`, where that was made before."""
        block, structured = content or _content(value)
        self._rendered: dict[str, Any] = {"content": block, "structuredContent": structured, "isError": is_error}
        self._result: dict[str, Any] | None = None
        self._unanswered = unanswered
        self._afterwards = afterwards

    @property
    def result(self) -> dict[str, Any]:
        """MCP's CallToolResult: content, structuredContent, isError. Nothing else has a part in it."""
        if self._result is None:
            made = self._rendered
            values = {name: made[name].value() for name in ("content", "structuredContent")}
            self._result = {**values, "isError": made["isError"]}
        return self._result

    @result.setter
    def result(self, result: dict[str, Any]) -> None:
        self._result = result

    @property
    def rendered(self) -> dict[str, Any]:
        """The same for a transport that writes JSON: members that are Rendered are text of that already."""
        return self._rendered if self._result is None else self._result

    def delivered(self) -> None:
        """The transport has written the answer out."""
        if self._unanswered is not None:
            self._unanswered.delivered()
            self._unanswered = None
        self._afterwards()

    def undelivered(self) -> None:
        """The answer will not be written: its call was cancelled, or the client is gone."""
        if self._unanswered is not None:
            self._unanswered.undelivered()
            self._unanswered = None
        self._afterwards()


class App:
    """The tools over one workspace. `prefix` goes before each name; `now` gives seconds since 1970, for tests."""

    def __init__(self, workspace: Workspace, prefix: str = "", now: Callable[[], float] | None = None) -> None:
        self.workspace = workspace
        self.server_info = {"name": "nexus-mcp", "title": "Nexus", "version": __version__}
        self.instructions = _INSTRUCTIONS.format(p=prefix)
        self._made: tuple[dict[str, Any], Content] | None = None
        self._store = Store(workspace, now, meanwhile=self._render)
        self._warming = self._store.warm_up()
        self._noting = Store(workspace, now, wait=_NOTE_WAIT)
        self._prefix = prefix
        self._table = {prefix + tool.name: tool for tool in TOOLS}
        self._definitions: list[dict[str, Any]] | None = None

    def tools(self) -> list[dict[str, Any]]:
        """The tools' MCP definitions, in the order of the table."""
        if self._definitions is None:
            self._definitions = [tool.definition(self._prefix) for tool in TOOLS]
        return self._definitions

    def stop(self) -> None:
        """The server is to stop: calls that wait for the lock give up, nothing written. From any thread."""
        self._store.stop()
        self._noting.stop()

    def warm_up(self, is_called: Callable[[], bool] = bool) -> bool:
        """Do what the first call would do before anything else, until it comes, and go on there the next time.

        Returns whether all is done, or cannot be. Changes nothing, and never raises.
        """
        try:
            from nexus_mcp.server import rendered  # noqa: F401

            for _ in self._warming:
                if is_called():
                    return False
        except Exception as error:  # noqa: BLE001 - whoever calls is told, if it still is so
            log.debug(f"not ready beforehand: {type(error).__name__}: {error}")
        return True

    def look(self, method: str, params: dict[str, Any], client_name: str = "", *, modern: bool) -> Shown:
        """Answer a request that only looks (lookups.METHODS). Raises Fault, without an id, for all that goes wrong."""
        from nexus_mcp.server import lookups  # hardly any client begins with it
        from nexus_mcp.server.resources.definition import Look

        look = Look(self.workspace, self._store, self._prefix, client_name, is_modern=modern, noting=self._noting)
        return Shown(lookups.answer(look, method, params))

    def call(self, name: str, arguments: dict[str, Any] | None, client_name: str = "") -> Answer:
        """Carry out one call. Raises UnknownTool; everything else that goes wrong is an answer with `isError`."""
        tool = self._table.get(name)
        if tool is None:
            raise UnknownTool(name)
        log.debug(f"{name} called by {client_name or 'a client without a name'}")
        by = By(tool.name, self.workspace.harness_id, client_name)
        context = ToolContext(self.workspace, self._store, by)
        ran = False
        try:
            value = tool.run(context, checked(tool, arguments or {}))
            ran = not tool.read_only
            content = self._rendered(value)
            return Answer(
                value, is_error=False, unanswered=context.unanswered, afterwards=self._store.tidy, content=content
            )
        except NexusError as error:
            log.info(f"{name}: {error}")
            return Answer({"error": inert(str(error))}, is_error=True, afterwards=self._store.tidy)
        except Exception as error:  # noqa: BLE001 - a fault of ours must not leave a caller without an answer
            log.error(f"{name} failed: {_told(error)}")
            reason = isinstance(error, OSError) and error.strerror
            told = f"Internal error in {name} ({type(error).__name__}{f': {reason}' if reason else ''}); "
            is_open = ran or BEGUN in getattr(error, "__notes__", ())
            told += "look at what is there before you repeat it." if is_open else UNCHANGED
            told = f"{told} The server's log on stderr has more."
            return Answer({"error": told}, is_error=True, afterwards=self._store.tidy)

    def _render(self, value: dict[str, Any]) -> None:
        with suppress(Exception):  # whoever answers tries again
            self._made = value, _content(value)

    def _rendered(self, value: dict[str, Any]) -> Content | None:
        made, self._made = self._made, None
        return made[1] if made is not None and made[0] is value else None


class Shown:
    """The result of a look: it is the same whether or not it is delivered."""

    __slots__ = ("rendered", "result")

    def __init__(self, result: dict[str, Any]) -> None:
        self.result = self.rendered = result

    def delivered(self) -> None:
        """Nothing is to be done then."""

    undelivered = delivered


def _content(value: dict[str, Any]) -> Content:
    from nexus_mcp.server.rendered import content  # not needed to answer initialize and tools/list

    return content(value)


def _told(error: Exception) -> str:
    try:
        import traceback
    except Exception:  # noqa: BLE001 - with no descriptor left nothing can be imported, and that is what is to be told
        return f"{type(error).__name__}: {error}"
    return "".join(traceback.format_exception(error))
