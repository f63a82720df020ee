"""Define a planted fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mutant:
    """A fault: `patch()` returns (the object, the name of its attribute, the replacement).

    `fault` describes the wrong behaviour of a server with this fault. `also` is a second patch, for a fault that two
    lines of defence would prevent.
    """

    name: str
    fault: str
    patch: Callable[[], tuple[Any, str, Any]]
    also: Callable[[], tuple[Any, str, Any]] | None = None
