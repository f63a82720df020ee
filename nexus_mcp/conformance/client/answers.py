"""One call by the official client, and its answer in the suite's own shape."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Self

import mcp_types as types
from mcp import MCPError

from nexus_mcp.conformance.client.validation import schema_fault
from nexus_mcp.conformance.limits import VALUES
from nexus_mcp.conformance.matchers import same
from nexus_mcp.conformance.reply import Reply
from nexus_mcp.conformance.trouble import TargetTrouble, first_line
from nexus_mcp.conformance.weight import values

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp import Client

# What the client itself reports as an answer when there was none.
_NO_ANSWERS = {"Connection closed", "Server returned an error response", "Session terminated"}

_PLACE = 2000


class Whole(types.CallToolResult):
    """A result that remembers what was sent: without the defaults of the client's classes, with what they drop."""

    _sent: Any = None

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        whole = super().model_validate(obj, **options)
        whole._sent = obj
        return whole

    @property
    def sent(self) -> Any:
        return self._sent


async def ask(
    client: Client, tool: str, arguments: dict[str, Any], ended: Callable[[], bool]
) -> tuple[Whole | str, float]:
    """Calls the tool of this name: its result, or the message of a protocol error, and the seconds that took.

    Raises TargetTrouble when no answer comes, or none of the protocol's shape. `ended` tells whether the
    connection may be over: a server may use the client's own words for that.
    """
    request = types.CallToolRequest(params=types.CallToolRequestParams(name=tool, arguments=arguments))
    started = time.perf_counter()
    try:
        # Not Client.call_tool: it drops an answer that breaks the output schema, and a report is to show it.
        result = await client.session.send_request(request, Whole)
    except MCPError as error:
        if error.error.message in _NO_ANSWERS and ended():
            raise TargetTrouble(f"gave no answer to {tool}: {error.error.message}") from None
        return error.error.message, time.perf_counter() - started
    except ValueError as error:
        raise TargetTrouble(f"answered {tool} with what is no result of a call: {_place(error)}") from None
    return result, time.perf_counter() - started


def reply(result: Whole | str, seconds: float) -> Reply:
    """What `ask` gave, in the suite's own shape. Raises TargetTrouble for what is too large to be looked into."""
    if isinstance(result, str):
        return Reply(protocol_error=result, seconds=seconds)
    text = next((block.text for block in result.content if isinstance(block, types.TextContent)), "")
    if values(text.encode("utf-8", "surrogatepass"), VALUES) > VALUES:
        raise TargetTrouble(f"answered with a text block of more than {VALUES:,} JSON values")
    if result.structured_content is None:
        return Reply(_parsed(text), text, bool(result.is_error), seconds=seconds, result=result.sent)
    differs = bool(text) and not same(_parsed(text), result.structured_content)
    return Reply(result.structured_content, text, bool(result.is_error), "", "", seconds, differs, result.sent)


async def broken_schema(tool: str, schema: Any, result: Whole, limit: float) -> str:
    """Where a result that is no error breaks the tool's output schema, "" when it does not. Raises as schema_fault.

    `limit` are the seconds that a call may take.
    """
    if result.structured_content is None and "structured_content" not in result.model_fields_set:
        return f"Tool {tool} has an output schema but did not return structured content"
    return await schema_fault(tool, schema, result.structured_content, limit)


def _place(error: ValueError) -> str:
    """From pydantic's text for a first fault, which has the place in its second line and the words in its third."""
    lines = [line.strip() for line in str(error)[:_PLACE].splitlines()]
    return first_line(": ".join(lines[1:3]).partition(" [type=")[0] or str(error))


def _parsed(text: str) -> Any:
    """The value of a JSON text, None when it is none."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(word: str) -> None:
    raise ValueError(word)
