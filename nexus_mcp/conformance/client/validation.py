"""Check within a time limit whether a value matches an output schema of a target."""

from __future__ import annotations

import json
import os
from typing import Any

from nexus_mcp.conformance.client import schema_worker
from nexus_mcp.conformance.failures import TargetFailure, first_line
from nexus_mcp.conformance.processes.helper import HelperEnded, Helpers, TooSlow
from nexus_mcp.conformance.threads import in_thread
from nexus_mcp.errors import HarnessFault

MOST = 10.0
"""Seconds of computing time for one answer, whatever --timeout is."""
LEAST = 1.0
"""Seconds that a check gets even with a short --timeout, so that no valid answer fails for it."""

_helpers = Helpers(os.path.abspath(schema_worker.__file__))


def _request(schema: Any, value: Any) -> dict[str, Any]:
    # The helper caches validators by the text of the schema.
    return {"schema": json.dumps(schema), "value": value}


async def schema_fault(tool: str, schema: Any, value: Any, seconds: float = MOST) -> str:
    """Return where an answer of `tool` breaks `schema`, or why the schema is invalid; "" when the answer matches.

    Raises TargetFailure when the answer or the schema takes too much to check, HarnessFault when the helper fails.
    """
    limit = min(MOST, max(LEAST, seconds))
    try:
        answer = await in_thread(lambda: _helpers.request(_request(schema, value), limit))
    except RecursionError:
        raise TargetFailure(f"sent a result for {tool} that is nested too deeply to check") from None
    except TooSlow:
        raise TargetFailure(
            f"has an output schema for {tool} that takes more than {limit:g} s to check one answer"
        ) from None
    except HelperEnded as ended:
        raise HarnessFault(
            [
                f"Whether an answer of {tool} matches its output schema could not be checked: the process that checks "
                f"it ended unexpectedly, with code {ended.code}."
            ],
            next_step="Run it again; if it happens again, please report it.",
        ) from None
    return first_line(str(answer))
