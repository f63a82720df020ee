"""`nexus-mcp hook --native HARNESS`: answer an event in the harness's own form.

Until its name is read, an event counts as pre_tool_use: a payload without a readable name gets the strictest answer.
"""

from __future__ import annotations

import os
import time

from nexus_mcp.cli.hook_event import PLUGIN, Event, Unusable, host_of, parse_params, write_line
from nexus_mcp.harness import dialect
from nexus_mcp.lifecycle.definition import CONTINUE, UNREADABLE, own_fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.options import Values

_NAME = 80
_OUTLINED = 24 << 20  # bytes
_HEAD = 1 << 16
"""The number of bytes at the beginning of a payload in which harnesses name the event: the large fields come later."""


class NativeEvent(Event):
    """An event of Claude Code or Codex; `native_name` is its name in the harness."""

    def __init__(self, values: Values) -> None:
        name, _ = dialect.EVENTS[dialect.DECIDING]
        super().__init__(name, host_of(values, **dialect.host_fields(values["--native"])))
        self.native_name = dialect.DECIDING
        self._harness = values["--native"]
        self._is_of_plugin = PLUGIN.name in values
        folder = os.environ.get("CLAUDE_PROJECT_DIR")
        if folder and values["--native"] == "claude-code" and os.path.isdir(folder):
            # The working directory follows the model's cd, which may lead into another project.
            values.setdefault("--project", _top(folder))

    def parse(self) -> dict[str, Any] | None:
        payload = parse_params(bytes(self.data))
        if not isinstance(payload, dict) or not isinstance(payload.get(dialect.EVENT_NAME), str):
            raise Unusable(f"The payload has no {dialect.EVENT_NAME}. {_NEXT_STEP}")
        self.native_name = payload[dialect.EVENT_NAME]
        row = dialect.EVENTS.get(self.native_name)
        if row is None:
            self._log_unknown()
            return self._nothing()
        if self._is_of_plugin and self._is_second():
            return self._nothing()
        self.name, translate = row
        self.params = translate(payload)
        return self._nothing() if self.params is None else None

    def print(self, answer: dict[str, Any]) -> None:
        try:
            form = dialect.render(self.native_name, answer)
        except Exception as error:  # noqa: BLE001 - a harness lets a tool run if its hook fails
            form = self._refuse(error)
        if form:
            write_line(form, self._refuse)

    def _refuse(self, error: Exception) -> dict[str, Any]:
        """Return the denial of a tool because our answer cannot be encoded; {} for every other event."""
        return dialect.denial(f"{UNREADABLE} {own_fault(error)}") if self.native_name == dialect.DECIDING else {}

    def outline(self) -> tuple[dict[str, object], bool]:
        from nexus_mcp.lifecycle.malformed_payload import outline

        found, is_whole = outline(bytes(self.data[:_OUTLINED]), (*dialect.NAMES, dialect.EVENT_NAME))
        self._take_name(found.get(dialect.EVENT_NAME))
        return {ours: found[theirs] for theirs, ours in dialect.NAMES.items() if theirs in found}, is_whole

    def fallback_answer(self) -> dict[str, Any]:
        from nexus_mcp.lifecycle.malformed_payload import outline

        # PreToolUse, or an event whose name is not known yet. Only PreToolUse has a tool to refuse.
        if self.native_name == dialect.DECIDING:
            self._take_name(outline(bytes(self.data[:_HEAD]), (dialect.EVENT_NAME,))[0].get(dialect.EVENT_NAME))
        return super().fallback_answer()

    def _take_name(self, name: object) -> None:
        """Set the name of the event if `name` is an event of the harness; otherwise the event counts as PreToolUse."""
        if isinstance(name, str) and name in (*dialect.EVENTS, *dialect.OTHERS):
            self.native_name = name
            self.name = dialect.EVENTS[name][0] if name in dialect.EVENTS else name

    def _is_second(self) -> bool:
        """Return whether an installed hook answers the event, so that this hook of a plugin stays silent."""
        from nexus_mcp.harness.second_hook import is_answered

        root = self.root or (os.getcwd() if self.workspace is None else self.workspace.root)
        return is_answered(self._harness, self.native_name, root, os.environ)

    def _nothing(self) -> dict[str, Any]:
        return {"event": self.name, "harness_id": "", "decision": CONTINUE, "warnings": []}

    def _log_unknown(self) -> None:
        if self.native_name in dialect.OTHERS or self.workspace is None:
            return
        from nexus_mcp.state.times import stamp
        from nexus_mcp.store import harness_files

        # Do not log any other text: it may be data of the user.
        is_name = self.native_name.isidentifier() and len(self.native_name) <= _NAME
        name = self.native_name if is_name else "unknown"
        fault = f"nexus-mcp does not know this event of the harness. {_NEXT_STEP}"
        harness_files.log_hook_error(self.workspace, stamp(time.time()), name, fault)


_NEXT_STEP = "Run nexus-mcp install again, so that the hooks fit this version."


def _top(folder: str) -> str:
    """Return the project root for the working directory `folder`, whatever the environment names."""
    from nexus_mcp.workspace import find_root

    return find_root(None, {}, folder)
