"""A tool table for tests of the wire: its tools block, fail, or record the delivery of their responses."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast

from nexus_mcp.errors import UnknownTool
from nexus_mcp.server.faults import Fault
from nexus_mcp.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.server.app import App

DEFINITION = {
    "name": "echo",
    "title": "Echo",
    "description": "Answers with its arguments.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": False},
    "outputSchema": {"type": "object"},
    "annotations": {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    },
}

LOOKS: dict[str, dict[str, Any]] = {
    "completion/complete": {"completion": {"values": ["a"]}},
    "prompts/get": {"messages": []},
    "prompts/list": {"prompts": []},
    "resources/list": {"resources": []},
    "resources/read": {"contents": []},
    "resources/templates/list": {"resourceTemplates": []},
}


class FakeAnswer:
    def __init__(self, note: Callable[[str], None], content: dict[str, Any]) -> None:
        self._note = note
        self.result = {
            "content": [{"type": "text", "text": "text"}],
            "structuredContent": content,
            "isError": "error" in content,
        }
        self.rendered_result = self.result

    def confirm_delivery(self) -> None:
        self._note("delivered")

    def drop_delivery(self) -> None:
        self._note("undelivered")


class FakeApp:
    """Tools: echo (its arguments), hold (blocks until `release`), raise (a defect), large (`size` characters)."""

    instructions = "Say it in order."
    prefix = ""

    def __init__(self) -> None:
        self.server_info = {"name": "nexus-mcp", "title": "Nexus", "version": "0.0.0"}
        self.workspace = Workspace("/nowhere")
        self.events: list[str] = []
        self.began = threading.Semaphore(0)
        self.gate = threading.Semaphore(0)
        self.clients: list[str] = []
        self.stopped = threading.Event()

    def as_app(self) -> App:
        return cast("App", self)

    def tools(self) -> list[dict[str, Any]]:
        return [DEFINITION]

    def large_hook_arguments(self, _: bytes) -> None:
        """Return None: there is no hook tool."""

    def warm_up(self, _: Callable[[], bool]) -> bool:
        self.events.append("warm up")
        return True

    def stop(self) -> None:
        self.stopped.set()

    def release(self) -> None:
        self.gate.release()

    def call(self, name: str, arguments: dict[str, Any] | None, client_name: str = "", **_about: Any) -> FakeAnswer:
        given = arguments or {}
        label = f"{name} {given['n']}" if "n" in given else name
        self.events.append(f"run {label}")
        self.clients.append(client_name)
        content = self.run(name, given)
        return FakeAnswer(lambda what: self.events.append(f"{what} {label}"), content)

    def read(self, method: str, params: dict[str, Any], client_name: str = "", *, modern: bool) -> FakeAnswer:
        label = f"look {method}{' modern' * modern}"
        self.events.append(label)
        self.clients.append(client_name)
        if params.get("uri") == "fault":
            raise Fault(-32002, "no such thing", data={"uri": "fault"})
        if params.get("uri") == "raise":
            raise RuntimeError("a defect of the look")
        answer = FakeAnswer(lambda _: None, {})
        answer.result = answer.rendered_result = LOOKS[method]
        return answer

    def run(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if name == "hold":
            self.began.release()
            assert self.gate.acquire(timeout=60)
            return {"held": True}
        if name == "echo":
            return arguments
        if name == "large":
            return {"text": "x" * int(arguments["size"])}
        if name == "raise":
            raise RuntimeError("a defect of the tool")
        raise UnknownTool(name)
