"""What a run says when it cannot delete its own folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.conformance.report.texts import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nexus_mcp.conformance.result import Left, RunResult

_ADVICE = (
    "Look at what stands there. Unmount what is mounted, or take the immutable mark away (chattr -i), as the user who "
    "may; then the folder can be deleted as any other."
)


def left_lines(run: RunResult) -> list[str]:
    """Return a line for each thing that a run left behind, and what to do about it; nothing when all is gone."""
    return told(run.left)


def told(left: Sequence[Left]) -> list[str]:
    """The same for what was left."""
    if not left:
        return []
    return ["Left behind, since it cannot be deleted:", *(f"  {_line(one)}" for one in left), _ADVICE]


def _line(left: Left) -> str:
    return f"{one_line(left.path, 500)}: {one_line(left.reason)}"
