"""The advertised output schemas hold for failures too, because some clients check both."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from nexus_mcp.tools import TOOLS
from nexus_mcp.tools.definition import Tool
from tests.support import SMALLEST, Client


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_failure_fits_the_advertised_schema(tool: Tool, call: Client) -> None:
    """A client that checks failed answers too finds nothing wrong, so its model sees the error itself."""
    validator = Draft202012Validator(tool.definition()["outputSchema"])
    error = call.error(tool.name, no_such_parameter=1)
    validator.validate({"error": error})
    call("plan_start", **SMALLEST["plan_start"])
    call("task_add", **SMALLEST["task_add"])
    validator.validate(call(tool.name, **SMALLEST[tool.name]))


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_anything_else_does_not_fit(tool: Tool) -> None:
    """The advertised schema still refuses members that no answer has."""
    validator = Draft202012Validator(tool.definition()["outputSchema"])
    assert not validator.is_valid({"error": "x", "other": 1})
    assert not validator.is_valid({"error": 1})
