"""What an inline action came to, or would come to, as lines to be read."""

from __future__ import annotations

from nexus_mcp.quoting import inert, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_LONGEST = 400
RESULTS = {
    "creates": "would begin {path}",
    "extends": "would add to {path}",
    "unchanged": "{path} has it already",
    "would_extend": "belongs to {path}",
    "created": "began {path}",
    "extended": "added to {path}",
    "proposed": "these notes could go",
    "deletes": "would delete these notes at once",
    "deleted": "deleted, as commit {commit}",
    "nothing": "no note could go",
    "for_the_agent": "left to the agent",
    "failed": "not done",
}


def lines(step: dict[str, Any], *, quoting: bool = False) -> list[str]:
    """The result in a line, then what belongs to it; `next_step` is not among them.

    With `quoting` names of notes, which anybody may have given, stand between quotation marks: for a model.
    """
    shown = (lambda text: quoted(text, _LONGEST)) if quoting else str
    path = shown(f".nexus/{step.get('path', '')}")
    told = [RESULTS[step["result"]].format(path=path, commit=step.get("commit", "")[:12])]
    told += [f"  also like it: {shown('.nexus/' + other)}" for other in step.get("similar", ())]
    told += [
        f"  gone: {shown('.nexus/' + gone['path'])}; back with: {shown(gone['restore'])}"
        for gone in step.get("deleted", ())
    ]
    told += [_proposal(one, shown) for one in step.get("deletes", ())]
    if (step.get("deleted") or step.get("deletes")) and step.get("proposals"):
        told.append("these could go, too")
    told += [_proposal(one, shown) for one in step.get("proposals", ())]
    if step.get("more"):
        told.append(f"  and {step['more']} more")
    return [inert(line) for line in told]


def _proposal(one: dict[str, Any], shown: Callable[[str], str]) -> str:
    return f"  {shown('.nexus/' + one['path'])}: {', '.join(one['reasons'])}"
