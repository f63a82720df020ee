"""What came back from a call or an event, told in one shape by every kind of target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reply:
    """One answer.

    `payload` is structuredContent, else the first text block parsed as JSON, else None. `text` is the first text block
    ("" without one). `is_error`: the answer is marked as an error. `protocol_error`: the message of a JSON-RPC error,
    "" when there was none. `schema_fault` says where the payload breaks the target's own output schema, "" when it
    keeps it or there is none. `text_differs`: there are both, and the text block is not the JSON of structuredContent.
    `result` is the whole result of a call as JSON, with the members that were sent: `content`, `structuredContent`,
    `isError`, …; None when there is none, as with a protocol error and an event.
    `seconds` from asking to the answer.
    """

    payload: Any = None
    text: str = ""
    is_error: bool = False
    protocol_error: str = ""
    schema_fault: str = ""
    seconds: float = 0.0
    text_differs: bool = False
    result: Any = None

    @property
    def failed(self) -> bool:
        """Whether it is an error in one of three ways: marked, a protocol error, a payload with `error`."""
        in_payload = isinstance(self.payload, dict) and "error" in self.payload
        return self.is_error or bool(self.protocol_error) or in_payload

    @property
    def message(self) -> str:
        """The error's message: the payload's `error`, else the protocol error's or the first text block."""
        error = self.payload.get("error") if isinstance(self.payload, dict) else None
        if isinstance(error, str):
            return error
        return self.protocol_error or self.text
