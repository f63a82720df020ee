"""One call by the official client, and its answer in the suite's own shape."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Self

import mcp_types as types
from mcp import MCPError

from nexus_mcp.conformance.client.validation import schema_fault
from nexus_mcp.conformance.matchers import same
from nexus_mcp.conformance.reply import Reply
from nexus_mcp.conformance.trouble import TargetTrouble, first_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp import Client

# What the client itself reports as an answer when there was none.
_NO_ANSWERS = {"Connection closed", "Server returned an error response", "Session terminated"}


class _Whole(types.CallToolResult):
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
) -> tuple[Reply, types.CallToolResult | None]:
    """Calls the tool of this name: its answer, and the result itself when there is one.

    Raises TargetTrouble when no answer comes, or none of the protocol's shape. `ended` tells whether the
    connection may be over: a server may use the client's own words for that.
    """
    request = types.CallToolRequest(params=types.CallToolRequestParams(name=tool, arguments=arguments))
    started = time.perf_counter()
    try:
        # Not Client.call_tool: it drops an answer that breaks the output schema, and a report is to show it.
        result = await client.session.send_request(request, _Whole)
    except MCPError as error:
        if error.error.message in _NO_ANSWERS and ended():
            raise TargetTrouble(f"gave no answer to {tool}: {error.error.message}") from None
        return Reply(protocol_error=error.error.message, seconds=time.perf_counter() - started), None
    except ValueError as error:
        raise TargetTrouble(f"answered {tool} with what is no result of a call: {_place(error)}") from None
    seconds = time.perf_counter() - started
    text = next((block.text for block in result.content if isinstance(block, types.TextContent)), "")
    payload = result.structured_content if result.structured_content is not None else _parsed(text)
    differs = bool(text) and payload is not None and not same(_parsed(text), payload)
    return Reply(payload, text, bool(result.is_error), "", "", seconds, differs, result.sent), result


async def broken_schema(tool: str, schema: Any, result: types.CallToolResult) -> str:
    """Where a result that is no error breaks the tool's output schema, "" when it does not. Raises as schema_fault."""
    if result.structured_content is None and "structured_content" not in result.model_fields_set:
        return f"Tool {tool} has an output schema but did not return structured content"
    return await schema_fault(tool, schema, result.structured_content)


def _place(error: ValueError) -> str:
    """From pydantic's text for a first fault, which has the place in its second line and the words in its third."""
    lines = [line.strip() for line in str(error).splitlines()]
    return first_line(": ".join(lines[1:3]).partition(" [type=")[0] or str(error))


def _parsed(text: str) -> Any:
    """The value of a JSON text, None when it is none."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(word: str) -> None:
    raise ValueError(word)
