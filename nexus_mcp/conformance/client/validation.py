"""Whether a value keeps a schema that a target gave, found out in a limited time."""

from __future__ import annotations

import json
import os
from typing import Any

from nexus_mcp.conformance.client import schema_worker
from nexus_mcp.conformance.in_thread import in_thread
from nexus_mcp.conformance.processes.helper import HelperEnded, Helpers, TooSlow
from nexus_mcp.conformance.trouble import TargetTrouble, first_line
from nexus_mcp.errors import HarnessFault

MOST = 10.0
"""Seconds of computing for one answer, whatever the user gives a call."""
LEAST = 1.0
"""Seconds that the check of one answer gets however short --timeout is, so that no honest answer fails for it."""

_helpers = Helpers(os.path.abspath(schema_worker.__file__))


def _request(schema: Any, value: Any) -> dict[str, Any]:
    # As a text, the schema is what the helper remembers its validator by.
    return {"schema": json.dumps(schema), "value": value}


async def schema_fault(tool: str, schema: Any, value: Any, seconds: float = MOST) -> str:
    """Where an answer of `tool` breaks `schema`, or why that is none; "" when all is well.

    Raises TargetTrouble when the answer or the schema is such that nobody could tell, HarnessFault when we cannot.
    """
    limit = min(MOST, max(LEAST, seconds))
    try:
        answer = await in_thread(lambda: _helpers.ask(_request(schema, value), limit))
    except RecursionError:
        raise TargetTrouble(f"answered {tool} with what is nested too deep to be checked") from None
    except TooSlow:
        raise TargetTrouble(
            f"has an output schema for {tool} that takes more than {limit:g} s to check one answer"
        ) from None
    except HelperEnded as ended:
        raise HarnessFault(
            [
                f"Whether an answer of {tool} keeps its output schema could not be found out: the process that checks "
                f"it ended by itself, with code {ended.code}."
            ],
            next_step="Run it again; if it stays so, please report it.",
        ) from None
    return first_line(str(answer))
