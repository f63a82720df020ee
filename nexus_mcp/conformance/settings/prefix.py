"""What a target puts before the names of its tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection


def find_prefix(listed: Collection[str], tools: Collection[str]) -> str:
    """The text that stands before the most of `tools` in the names that a target lists; "" when none is there."""
    before = Counter(name.removesuffix(tool) for tool in tools for name in dict.fromkeys(listed) if name.endswith(tool))
    # plan_start ends with no other tool's name, but a target may have tools that do: the most frequent text counts.
    return min(before, key=lambda text: (-before[text], len(text), text), default="")
