"""The plainer messages about a fixture's shape agree with the schema."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

from hypothesis import given, settings
from jsonschema import Draft202012Validator

from nexus_mcp import schemas
from nexus_mcp.conformance.authoring.shape import shape_faults
from tests.conformance.test_faults import CASES
from tests.conformance.test_loading import OLDER
from tests.test_schemas import instances

SCHEMA = schemas.load("conformance/fixture")
# In JSON Schema `$` is the end of the text. The reference uses Python's `$`, which also matches before a last newline.
STRICT = json.loads(re.sub(r'\$"', r'\\\\Z"', json.dumps(SCHEMA)))


def test_verdict_equals_that_of_the_reference() -> None:
    """On the fixtures of these tests, good and bad, the verdict is that of the reference implementation."""
    reference = Draft202012Validator(STRICT)
    documents: list[Any] = [*OLDER, *(document for document, _ in CASES)]
    verdicts = [(bool(shape_faults(document)), not reference.is_valid(document)) for document in documents]
    assert [one for one, _ in verdicts] == [other for _, other in verdicts]
    assert {True, False} == {one for one, _ in verdicts}


@settings(max_examples=200, deadline=None)
@given(instances(SCHEMA))
def test_verdict_equals_that_of_the_schema(value: Any) -> None:
    """On generated values there is a fault exactly when the schema has one, and each points into the value."""
    kept = copy.deepcopy(value)
    found = shape_faults(value)
    assert bool(found) is bool(schemas.faults(SCHEMA, value))
    assert value == kept
    for fault in found:
        assert fault.pointer == "" or fault.pointer.startswith("/")
        assert fault.message
        assert "allowed shapes" not in fault.message
