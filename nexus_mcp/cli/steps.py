"""What an inline action came to, or would come to, as lines for people."""

from __future__ import annotations

from nexus_mcp.log import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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


def lines(step: dict[str, Any]) -> list[str]:
    """The result in a line, then what belongs to it; `next_step` is not among them."""
    path = f".nexus/{step.get('path', '')}"
    told = [RESULTS[step["result"]].format(path=path, commit=step.get("commit", "")[:12])]
    told += [f"  also like it: .nexus/{other}" for other in step.get("similar", ())]
    told += [f"  gone: .nexus/{gone['path']}; back with: {gone['restore']}" for gone in step.get("deleted", ())]
    told += [_proposal(one) for one in step.get("deletes", ())]
    if (step.get("deleted") or step.get("deletes")) and step.get("proposals"):
        told.append("these could go, too")
    told += [_proposal(one) for one in step.get("proposals", ())]
    if step.get("more"):
        told.append(f"  and {step['more']} more")
    return [printable(line) for line in told]


def _proposal(one: dict[str, Any]) -> str:
    return f"  .nexus/{one['path']}: {', '.join(one['reasons'])}"
