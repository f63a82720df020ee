"""Failures of a target beyond a wrong answer, and the reply to a call or an event, in one shape for every target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_SHOWN = 60
_LOOKED_AT = 1 << 16


class TargetFailure(Exception):
    """The target did not answer, or broke a rule.

    `subject` begins a sentence, and the message of the exception is the rest of it.
    """

    def __init__(self, did: str, subject: str = "the target") -> None:
        super().__init__(did)
        self.subject = subject

    @property
    def sentence(self) -> str:
        """Return the whole sentence, such as "the target exited with code 3"."""
        return f"{self.subject} {self}"


class TargetTimeout(TargetFailure):
    """The target did not answer in time; it may still be at work."""


def describe_garbage(line: bytes) -> str:
    """Return the fault of a stdout line that is not a message, with at most 60 of its printable characters."""
    if not line.strip():
        return "printed a blank line to stdout, where only JSON-RPC messages may stand"
    text = line[:_LOOKED_AT].decode("utf-8", "replace").strip()
    shown = "".join(char if char.isprintable() else "·" for char in text[:_SHOWN])
    cut = "…" if len(text) > _SHOWN else ""
    return f'printed a line to stdout that is not a JSON-RPC message: "{shown}{cut}"'


def unwrap_group(error: BaseException) -> BaseException:
    """Return the first error in nested exception groups that is not itself a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def first_line(text: str, limit: int = 300) -> str:
    """Return the first line that is not blank, cut after `limit` characters. Unprintable characters are replaced."""
    text = text[:_LOOKED_AT]
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    shown = "".join(char if char.isprintable() else "·" for char in line[:limit])
    return shown + ("…" if len(line) > limit else "")


def last_line(text: str) -> str:
    """Return the last line that is not blank, printable and cut as by `first_line`."""
    return first_line("\n".join(reversed(text[-_LOOKED_AT:].splitlines())))


@dataclass(frozen=True)
class Reply:
    """One answer to a call or an event.

    `payload` is structuredContent, else the first text block parsed as JSON, else None. `text` is the first text block
    ("" without one). `is_error`: the answer is marked as an error. `protocol_error`: the message of a JSON-RPC error,
    or "". `schema_fault` says where the payload breaks the target's own output schema, or is "". `text_differs`: the
    text block is not the JSON of structuredContent. `result` is the whole result of a call as JSON, with the fields
    that were sent: `content`, `structuredContent`, `isError`, …; None for a protocol error and for an event. `seconds`
    is the time from the request to the answer. `described`: the payload was checked against an output schema.
    """

    payload: Any = None
    text: str = ""
    is_error: bool = False
    protocol_error: str = ""
    schema_fault: str = ""
    seconds: float = 0.0
    text_differs: bool = False
    result: Any = None
    described: bool = False

    @property
    def failed(self) -> bool:
        """Return whether the reply is an error: marked as one, a protocol error, or a payload with `error`."""
        in_payload = isinstance(self.payload, dict) and "error" in self.payload
        return self.is_error or bool(self.protocol_error) or in_payload

    @property
    def message(self) -> str:
        """Return the error message: the payload's `error`, else the protocol error's or the first text block."""
        error = self.payload.get("error") if isinstance(self.payload, dict) else None
        if isinstance(error, str):
            return error
        return self.protocol_error or self.text
