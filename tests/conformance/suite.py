"""The packaged fixtures, read once in each process: reading checks every one of them, which takes half a second."""

from __future__ import annotations

from functools import cache

from nexus_mcp.conformance import loading
from nexus_mcp.conformance.fixture import Fixture


@cache
def packaged() -> tuple[Fixture, ...]:
    """Return the fixtures in the order of their files. Raise HarnessFault."""
    return tuple(loading.load())
