"""The message of a user that a command is about, and its answer as JSON."""

from __future__ import annotations

import os
import sys

from nexus_mcp.cli.options import Argument, Option
from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.options import Values

LIMIT = 4 << 20
MESSAGE = Argument("[MESSAGE]", "what a user typed; without it, stdin", least=0)
JSON = Option("--json", "", "print one line of JSON")
_CHUNK = 1 << 16


def message_of(values: Values) -> str:
    """The message. Raises UsageError when it is nowhere, or too long."""
    if MESSAGE.name in values:
        return values[MESSAGE.name]
    if sys.stdin is None or os.isatty(0):
        raise UsageError("There is no message.", next_step="Write it in quotation marks, or send it to stdin.")
    data = bytearray()
    try:
        while len(data) <= LIMIT and (chunk := os.read(0, _CHUNK)):
            data += chunk
    except OSError as error:
        raise UsageError(f"The message could not be read from stdin: {error.strerror}.") from error
    if len(data) > LIMIT:
        raise UsageError(f"The message on stdin is larger than the {LIMIT >> 20} MiB that are read.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"The message on stdin is not UTF-8: byte {error.start}.") from error


def print_json(value: dict[str, Any]) -> None:
    from nexus_mcp.store.codec import compact, without_surrogates

    # Bytes, because the encoding of the terminal is not that of JSON.
    sys.stdout.buffer.write(without_surrogates(compact(value)).encode() + b"\n")
    sys.stdout.buffer.flush()
