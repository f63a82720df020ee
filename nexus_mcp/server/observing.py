"""Define the events of a server that /metrics and OpenTelemetry observe."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Observer(Protocol):
        """Counts or traces the events of one project. Any thread may call the methods; they neither block nor raise."""

        def operation_ended(self, operation: Operation) -> None:
            """Observe a request that was answered, failed or was cancelled."""

        def turn_waited(self, seconds: float) -> None:
            """Observe the wait of a request for earlier requests of the same project."""

        def lock_waited(self, seconds: float, *, is_taken: bool) -> None:
            """Observe the wait of a request for the lock of the project, which another process held."""

        def hook_answered(self, event: str, seconds: float) -> None:
            """Observe a hook event, one of lifecycle.EVENTS, and the seconds until its answer."""

        def session_ended(self, seconds: float) -> None:
            """Observe the end of a session and its duration."""


OK = "ok"
TOOL_ERROR = "tool_error"
PROTOCOL_ERROR = "protocol_error"
CANCELLED = "cancelled"
OUTCOMES = (OK, TOOL_ERROR, PROTOCOL_ERROR, CANCELLED)
UNKNOWN = "unknown"
"""The common name of all unknown tools and methods: clients can send any number of names."""


class Operation:
    """A request of a client, from its arrival to its result.

    `tool` and `prompt` are "" for requests without one. `method` and `tool` are UNKNOWN for names that the server does
    not have; `prompt` is the name that the client sent. `code` and `message` are those of the JSON-RPC error, None and
    "" without such an error. `parent` has the trace context of the client: traceparent and tracestate. `begun_ns` is
    the time of the arrival in nanoseconds since 1970.
    """

    __slots__ = (
        "begun_ns",
        "code",
        "is_closing",
        "is_starting",
        "message",
        "method",
        "outcome",
        "parent",
        "prompt",
        "request_id",
        "seconds",
        "session",
        "tool",
        "uri",
        "version",
    )

    def __init__(
        self,
        method: str,
        *,
        tool: str = "",
        prompt: str = "",
        uri: str = "",
        version: str = "",
        session: str = "",
        request_id: str = "",
        parent: dict[str, str] | None = None,
        begun_ns: int = 0,
    ) -> None:
        self.method = method
        self.tool = tool
        self.prompt = prompt
        self.uri = uri
        self.version = version
        self.session = session
        self.request_id = request_id
        self.parent = parent
        self.begun_ns = begun_ns
        self.seconds = 0.0
        self.outcome = OK
        self.code: int | None = None
        self.message = ""
        self.is_starting = self.is_closing = False

    def fail(self, code: int, message: str) -> None:
        """Record the JSON-RPC error of the response."""
        self.outcome, self.code, self.message = PROTOCOL_ERROR, code, message


class Cycles:
    """Recognize calls that start or close a cycle by their results."""

    def __init__(self) -> None:
        self._started: object = None
        self._closed: object = None

    def judge(self, operation: Operation, result: dict[str, Any]) -> None:
        """Set `is_starting` and `is_closing` of a call with this structured result.

        A retry gets the stored answer of the earlier call: it starts or closes no second cycle.
        """
        if operation.tool == "plan_start" and (plan := result.get("plan_id")) != self._started:
            self._started = plan
            operation.is_starting = True
            operation.is_closing = result.get("previousArchived") is True
        elif operation.tool == "task_close" and (cycle := result.get("cycle")) != self._closed:
            self._closed = cycle
            operation.is_closing = True
