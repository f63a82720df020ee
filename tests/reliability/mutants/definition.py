"""Define a planted fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mutant:
    """A fault: `patch()` gives (the object, the name of its attribute, what stands there instead).

    `fault` says what a server that had it would do wrong.
    """

    name: str
    fault: str
    patch: Callable[[], tuple[Any, str, Any]]
