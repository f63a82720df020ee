"""Run tools and answer read requests for every transport: the one place where errors of tools become results."""

from __future__ import annotations

import os

from nexus_mcp import __version__, log
from nexus_mcp.errors import BEGUN, UNCHANGED, NexusError, StorageError, UnknownTool
from nexus_mcp.quoting import inert
from nexus_mcp.state.oplog import By
from nexus_mcp.store.access import LockNeeded
from nexus_mcp.store.store import Store
from nexus_mcp.tools import TOOLS
from nexus_mcp.tools.arguments import check_arguments
from nexus_mcp.tools.definition import ToolContext, definitions
from nexus_mcp.workspace import run_denial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from nexus_mcp.store.close_receipt import Receipt
    from nexus_mcp.workspace import Workspace


# Codex shows a model the first line only, and repeats the whole text for each tool, so the call to action comes first.
# At most 500 characters, and fewer than 120 tokens (docs/tokens.md).
_INSTRUCTIONS = "\n".join(
    (
        "Call {p}context first: it shows where the work stands that the agents of this project share across sessions.",
        "Before you plan: {p}history_search. Questions: {p}plan_start, then {p}plan_decide each. Work: {p}task_add, "
        "then {p}task_update an id of summary.ready in {p}task_list to in_progress, to completed when its acceptance "
        "is met. All done: {p}task_close.",
        "An error changed nothing unless it says so, and names the next step.",
    )
)


_HOOK = "hook"
_KEY = "nexus-mcp/idempotencyKey"
_OF_A_PROJECT = ("resources/read", "prompts/get", "skills/get")
_NOTE_WAIT = 0.25
"""Maximum seconds for which counting a read of a note waits for the lock: the response waits, too."""


class Answer:
    """The result of a call, with the actions to run after the response was written or dropped."""

    __slots__ = ("_afterwards", "_rendered", "_result", "_unanswered")

    def __init__(
        self,
        value: dict[str, Any],
        *,
        is_error: bool,
        unanswered: Receipt | None = None,
        afterwards: Callable[[], object] = bool,
    ) -> None:
        from nexus_mcp.server.response_json import content  # not needed to answer initialize and tools/list

        block, structured = content(value)
        self._rendered: dict[str, Any] = {"content": block, "structuredContent": structured, "isError": is_error}
        self._result: dict[str, Any] | None = None
        self._unanswered = unanswered
        self._afterwards = afterwards

    @property
    def result(self) -> dict[str, Any]:
        """MCP's CallToolResult with exactly content, structuredContent and isError."""
        if self._result is None:
            from nexus_mcp.server.response_json import values

            rendered = self._rendered
            block, structured = values(rendered["content"], rendered["structuredContent"])
            self._result = {"content": block, "structuredContent": structured, "isError": rendered["isError"]}
        return self._result

    @result.setter
    def result(self, result: dict[str, Any]) -> None:
        self._result = result

    @property
    def rendered_result(self) -> dict[str, Any]:
        """Return the result for a transport that writes JSON: RenderedJson fields are JSON text already."""
        return self._rendered if self._result is None else self._result

    @property
    def holds_receipt(self) -> bool:
        """Return whether the answer has the receipt of a close, which the store drops after the delivery."""
        return self._unanswered is not None

    def confirm_delivery(self) -> None:
        """Run the actions due once the transport has written the response."""
        if self._unanswered is not None:
            self._unanswered.confirm_delivery()
            self._unanswered = None
        self._afterwards()

    def drop_delivery(self) -> None:
        """Run the actions due when the response will not be written: call cancelled or client gone."""
        if self._unanswered is not None:
            self._unanswered.release()
            self._unanswered = None
        self._afterwards()


class App:
    """The tools of one workspace.

    `prefix` goes before each tool name; `now` returns seconds since 1970, for tests. `outside` is the plugin folder in
    which the client started the server, "" if it started the server elsewhere: in a plugin folder every call fails,
    because the project is unknown. `has_hook_tool` offers the tool of hook_tool.py, too.
    """

    def __init__(
        self,
        workspace: Workspace,
        prefix: str = "",
        now: Callable[[], float] | None = None,
        *,
        outside: str = "",
        has_hook_tool: bool = False,
    ) -> None:
        self.workspace = workspace
        self._outside = outside
        self.hook_name = prefix + _HOOK if has_hook_tool else ""
        self.server_info = {"name": "nexus-mcp", "title": "Nexus", "version": __version__}
        self.instructions = _INSTRUCTIONS.format(p=prefix)
        self._store = Store(workspace, now)
        self._warming = self._store.warm_up()
        self._noting = Store(workspace, now, wait=_NOTE_WAIT)
        self._prefix = prefix
        self._table = {prefix + tool.name: tool for tool in TOOLS}
        self._definitions: list[dict[str, Any]] | None = None

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools' MCP definitions, in table order; that of the hook tool, if it is offered, comes last."""
        if self._definitions is None:
            self._definitions = definitions(TOOLS, self._prefix)
            if self.hook_name:
                from nexus_mcp.server import hook_tool

                self._definitions.append(hook_tool.definition(self._prefix))
        return self._definitions

    def large_hook_arguments(self, head: bytes) -> dict[str, Any] | None:
        """Return arguments that deny a tool, if `head` is the start of a too long call of our hook for pre_tool_use.

        Return None for any other call, and without a hook tool.
        """
        if not self.hook_name:
            return None
        from nexus_mcp.server import hook_tool

        return hook_tool.too_large(self.hook_name, head)

    @property
    def prefix(self) -> str:
        """Return the prefix of each tool name."""
        return self._prefix

    def observe_waits(self, waited: Callable[[float, bool], object]) -> None:
        """Call `waited` after each wait for the lock, with its seconds and whether the lock was taken."""
        self._store.observe_waits(waited)
        self._noting.observe_waits(waited)

    def stop(self) -> None:
        """Make calls that wait for the lock give up without writing. Callable from any thread."""
        self._store.stop()
        self._noting.stop()

    def check_disk(self) -> None:
        """Read plan and tasks. Raise StorageError if the disk refuses a read, or if the wait for the lock fails.

        A malformed file is only logged: calls that need the file report it, and the server serves other projects.
        """
        for read in (self._store.plan, self._store.tasks):
            try:
                read()
            except StorageError:
                raise
            except NexusError as error:
                log.info(f"{self.workspace.root}: {error}")

    def warm_up(self, is_called: Callable[[], bool] = bool) -> bool:
        """Prepare the first call in steps until `is_called()` is true; the next warm_up continues there.

        Return whether preparation is finished or impossible. Change no file and never raise.
        """
        try:
            from nexus_mcp.server import response_json  # noqa: F401

            for _ in self._warming:
                if is_called():
                    return False
        except Exception as error:  # noqa: BLE001 - the call itself reports a lasting error
            log.debug(f"warm-up failed: {type(error).__name__}: {error}")
        return True

    def read(self, method: str, params: dict[str, Any], client_name: str = "", *, modern: bool) -> ReadResult:
        """Answer a read request (handlers.METHODS). Raise Fault without an id for every error."""
        from nexus_mcp.server import handlers  # rarely a client's first request
        from nexus_mcp.server.resources.definition import ReadContext

        if self._outside and method in _OF_A_PROJECT:
            from nexus_mcp.server.faults import INTERNAL_ERROR, Fault

            raise Fault(INTERNAL_ERROR, str(self._no_project()))
        ctx = ReadContext(self.workspace, self._store, self._prefix, client_name, is_modern=modern, noting=self._noting)
        return ReadResult(handlers.answer(ctx, method, params))

    def call(
        self,
        name: str,
        arguments: dict[str, Any] | None,
        client_name: str = "",
        *,
        actor: str = "",
        meta: Mapping[str, Any] | None = None,
        holder: str = "",
    ) -> Answer:
        """Run one tool call. Raise UnknownTool, and LockNeeded (see `call_without_lock`); every other error becomes an
        Answer with `isError`.

        `actor` is the name of the client's token, "" if the transport has no tokens. `meta` is the call's `_meta`,
        which may have an idempotency key; the key belongs to `holder`.
        """
        if name == self.hook_name != "":
            return self._call_hook(arguments or {})
        tool = self._table.get(name)
        if tool is None:
            raise UnknownTool(name)
        caller: dict[str, Any] = {"tool": tool.name, "client": client_name, "project": self.workspace.root}
        if actor:
            caller["token_name"] = actor
        log.debug(f"{name} called by {client_name or 'a client without a name'}", **caller)
        by = By(tool.name, self.workspace.harness_id, client_name, actor)
        context = ToolContext(self.workspace, self._store, by)
        ran = False
        try:
            if self._outside:
                raise self._no_project()
            if denial := run_denial(tool.name, {tool.name: tool.classes}, os.environ):
                raise NexusError(denial)
            checked = check_arguments(tool, arguments or {})
            if meta and _KEY in meta and not tool.read_only:
                from nexus_mcp.state.idempotency import keyed_call

                by.keyed = keyed_call(meta[_KEY], holder, tool.name, checked)
            value = tool.run(context, checked)
            ran = not tool.read_only
            return Answer(value, is_error=False, unanswered=context.unanswered, afterwards=self._store.tidy)
        except LockNeeded:
            raise
        except NexusError as error:
            log.info(f"{name}: {error}", **caller)
            return Answer({"error": inert(str(error))}, is_error=True, afterwards=self._store.tidy)
        except Exception as error:  # noqa: BLE001 - a defect must not leave a request without a response
            log.error(f"{name} failed: {_trace(error)}", **caller)
            reason = isinstance(error, OSError) and error.strerror
            message = f"Internal error in {name} ({type(error).__name__}{f': {reason}' if reason else ''}); "
            is_open = ran or BEGUN in getattr(error, "__notes__", ())
            message += "check the present state before you repeat the call." if is_open else UNCHANGED
            message = f"{message} The server's log on stderr has more."
            return Answer({"error": message}, is_error=True, afterwards=self._store.tidy)

    def call_without_lock(self, name: str, arguments: dict[str, Any] | None, **caller: Any) -> Answer:
        """Run one call of a tool that only reads, as `call` does. Raise LockNeeded if it has to wait."""
        with self._store.without_lock():
            return self.call(name, arguments, **caller)

    def _call_hook(self, arguments: dict[str, Any]) -> Answer:
        from nexus_mcp.server import hook_tool

        try:
            if self._outside:
                raise self._no_project()
            return Answer(hook_tool.answer(self.workspace, arguments), is_error=False)
        except NexusError as error:
            return Answer({"error": inert(str(error))}, is_error=True)
        except Exception as error:  # noqa: BLE001 - a defect must not leave a request without a response
            log.error(f"{_HOOK} failed: {_trace(error)}")
            return Answer({"error": f"Internal error in {_HOOK} ({type(error).__name__})"}, is_error=True)

    def _no_project(self) -> NexusError:
        from nexus_mcp.quoting import quote
        from nexus_mcp.workspace import PROJECT_VARIABLE, ROOT_VARIABLE

        return NexusError(
            f"The client started this server in {quote(self._outside, 400)}, where it keeps plugins, and not in a "
            "project; nothing was read or written.",
            next_step=f"Start it in the project, with --project DIR, or with {ROOT_VARIABLE} or {PROJECT_VARIABLE} set "
            "to the project.",
        )


class ReadResult:
    """The result of a read request; delivery needs no follow-up."""

    __slots__ = ("rendered_result", "result")

    def __init__(self, result: dict[str, Any]) -> None:
        self.result = self.rendered_result = result

    def confirm_delivery(self) -> None:
        """Do nothing, unlike Answer.confirm_delivery."""

    drop_delivery = confirm_delivery


def _trace(error: Exception) -> str:
    try:
        import traceback
    except Exception:  # noqa: BLE001 - without free descriptors the import fails
        return f"{type(error).__name__}: {error}"
    return "".join(traceback.format_exception(error))
