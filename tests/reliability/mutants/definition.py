"""Define a planted fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mutant:
    """A fault: `patch()` returns (the object, the name of its attribute, the replacement).

    `fault` describes the wrong behaviour of a server with this fault.
    """

    name: str
    fault: str
    patch: Callable[[], tuple[Any, str, Any]]
