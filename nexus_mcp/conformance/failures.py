"""Failures of a target beyond a wrong answer, and the reply to a call or an event, in one shape for every target."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_SHOWN = 60
_LOOKED_AT = 1 << 16


class TargetFailure(Exception):
    """The target did not answer, or broke a rule.

    `subject` begins a sentence, and the message of the exception is the rest of it. `stderr` is the end of the
    target's stderr, "" when it is unknown.
    """

    def __init__(self, did: str, subject: str = "the target", stderr: str = "") -> None:
        super().__init__(did)
        self.subject = subject
        self.stderr = stderr

    @property
    def sentence(self) -> str:
        """Return the whole sentence, such as "the target exited with code 3"."""
        return f"{self.subject} {self}"


class TargetTimeout(TargetFailure):
    """The target did not answer in time; it may still be at work."""


def describe_garbage(line: bytes) -> str:
    """Return the fault of a stdout line that is not a message, with its first 60 characters, if they are not blank."""
    if not line.strip():
        return "printed a blank line to stdout, where only JSON-RPC messages are allowed"
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
    """Return the first line that is not blank, cut after `limit` characters; "" if there is none.

    Unprintable characters are replaced.
    """
    text = text[:_LOOKED_AT]
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    shown = "".join(char if char.isprintable() else "·" for char in line[:limit])
    return shown + ("…" if len(line) > limit else "")


def last_line(text: str) -> str:
    """Return the last line that is not blank, in the form of `first_line`; "" if there is none."""
    return first_line("\n".join(reversed(text[-_LOOKED_AT:].splitlines())))


_ERROR = re.compile(
    r"\s*(?:(?:[Uu]ncaught|[Cc]aused by:?)\s+)?(?:[\w.$:]*(?:Error|Exception|Exit)\b(?!\s*$)"
    r"|(?:[Ee]rror|ERROR|[Ff]atal(?: error)?|FATAL|panic|Exception in thread .*)[:!\[]"
    r"|npm (?:ERR!|error)|thread '.*' panicked)"
    r"|.*(?:\bnot found$|[Cc]annot (?:find|open|load) )"
)
"""The beginning of a line that names an error, in the output of Python, Node.js, Go, Rust, Java, npm and a shell."""


def error_line(stderr: str) -> str:
    """Return the first line of a stderr that names an error, as `first_line` returns it; "" without one."""
    lines = stderr[-_LOOKED_AT:].splitlines()
    return first_line(next((line for line in lines if _ERROR.match(line[: _SHOWN * 5])), ""))


def last_lines(stderr: str, number: int = 10) -> list[str]:
    """Return the last lines of a stderr that are not blank, each cut as by `first_line`."""
    lines = [line for line in stderr[-_LOOKED_AT:].splitlines() if line.strip()]
    return [first_line(line) for line in lines[-number:]]


def quote_stderr(stderr: str) -> str:
    """Return ` (its stderr: "…")` with the line that names an error, else ` (the end of its stderr: "…")` with the last
    line; "" if there is no line.
    """
    named = error_line(stderr)
    if named:
        return f' (its stderr: "{named}")'
    words = last_line(stderr)
    return f' (the end of its stderr: "{words}")' if words else ""


_SDK_ERRORS = (
    (re.compile(r"(?:MCP error -32602: )?Input validation error: "), "an SDK checked the arguments before the tool"),
    (re.compile(r"(?:MCP error -32602: )?(?:Tool \S+ not found|Unknown tool: )"), "an SDK does not know the tool"),
    (re.compile(r"Error executing tool \S+: .*validation error"), "an SDK checked the arguments before the tool"),
    (re.compile(r"Error executing tool \S+"), "the tool raised an error, which its SDK caught"),
    (re.compile(r'(?:invalid params: )?validating "?arguments"?: '), "an SDK checked the arguments before the tool"),
    (re.compile(r"\[\s*\{\s*\"(?:code|expected)\": "), "a schema library's error is the message"),
)
"""(The beginning of an error text that an SDK wrote, and not the server; the reason, for a message.)"""


def explain_text(reply: Reply) -> str:
    """Return the fault of a result whose text is no JSON, as a clause; "" for any other reply."""
    if reply.result is None or reply.payload is not None or not reply.text:
        return ""
    if not reply.is_error:
        return "a success must have structuredContent, and its JSON as the text"
    happened = next((f"{what}: " for begins, what in _SDK_ERRORS if begins.match(reply.text[:_LOOKED_AT])), "")
    return f'{happened}an error must have {{"error": "<message>"}} in structuredContent and as the text'


@dataclass(frozen=True)
class Reply:
    """One answer to a call, an event, or a request for the list of tools.

    `payload` is structuredContent, else the first text block parsed as JSON, else None. `text` is the first text block
    ("" without one). `is_error`: the answer is marked as an error. `protocol_error`: the message of a JSON-RPC error,
    or "". `schema_fault` says where the payload breaks the target's own output schema, or is "". `text_differs`: the
    text block is not the JSON of structuredContent. `result` is the whole result of a call as JSON, with the fields
    that were sent: `content`, `structuredContent`, `isError`, …; None for a protocol error, an event and a list of
    tools. `seconds` is the time from the request to the answer. `described`: the payload was checked against an output
    schema. For an event, `payload` is the JSON of stdout, and `text` is stdout or, after a failure, the error message.
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
    def is_failure(self) -> bool:
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
