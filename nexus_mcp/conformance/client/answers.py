"""Make one call with the official client, and turn its result into a Reply."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Self

import mcp_types as types
from mcp import MCPError

from nexus_mcp.conformance.client.validation import schema_fault
from nexus_mcp.conformance.document import count_values
from nexus_mcp.conformance.failures import Reply, TargetFailure, first_line
from nexus_mcp.conformance.limits import VALUES
from nexus_mcp.conformance.matchers import same

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp import Client

# Messages of the client itself when there was no response.
_NO_ANSWERS = {"Connection closed", "Server returned an error response", "Session terminated"}

_PLACE = 2000
"""Characters of a pydantic error that are searched for its place."""


class Whole(types.CallToolResult):
    """A result that keeps the JSON as sent: without the defaults of the client's classes, with the fields they drop."""

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
    """Call a tool. Return its result, or the message of a protocol error, and the seconds it took.

    Raises TargetFailure for a missing response or one without the protocol's shape. `ended` returns whether the
    connection may be over: a server may send the client's own words for that as an error message.
    """
    request = types.CallToolRequest(params=types.CallToolRequestParams(name=tool, arguments=arguments))
    started = time.perf_counter()
    try:
        # Not Client.call_tool: it drops an answer that breaks the output schema, but a report has to show it.
        result = await client.session.send_request(request, Whole)
    except MCPError as error:
        if error.error.message in _NO_ANSWERS and ended():
            raise TargetFailure(f"did not answer {tool}: {error.error.message}") from None
        return error.error.message, time.perf_counter() - started
    except ValueError as error:
        raise TargetFailure(f"sent an invalid result for {tool}: {_place(error)}") from None
    return result, time.perf_counter() - started


def reply(result: Whole | str, seconds: float) -> Reply:
    """Return the Reply for a result of `ask`. Raises TargetFailure when it is too large to check."""
    if isinstance(result, str):
        return Reply(protocol_error=result, seconds=seconds)
    text = next((block.text for block in result.content if isinstance(block, types.TextContent)), "")
    if count_values(text.encode("utf-8", "surrogatepass"), VALUES) > VALUES:
        raise TargetFailure(f"answered with a text block of more than {VALUES:,} JSON values")
    if result.structured_content is None:
        return Reply(_parsed(text), text, bool(result.is_error), seconds=seconds, result=result.sent)
    differs = bool(text) and not same(_parsed(text), result.structured_content)
    return Reply(result.structured_content, text, bool(result.is_error), "", "", seconds, differs, result.sent)


async def broken_schema(tool: str, schema: Any, result: Whole, limit: float) -> str:
    """Return where a result breaks the tool's output schema, "" when it does not. Raises as schema_fault.

    `limit` is the time limit of a call in seconds.
    """
    if result.structured_content is None and "structured_content" not in result.model_fields_set:
        return f"Tool {tool} has an output schema but did not return structured content"
    return await schema_fault(tool, schema, result.structured_content, limit)


def _place(error: ValueError) -> str:
    """Return place and message of the first fault in pydantic's text, which has them in its second and third line."""
    lines = [line.strip() for line in str(error)[:_PLACE].splitlines()]
    return first_line(": ".join(lines[1:3]).partition(" [type=")[0] or str(error))


def _parsed(text: str) -> Any:
    """Return the value of a JSON text, None when it is not JSON."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(word: str) -> None:
    raise ValueError(word)
