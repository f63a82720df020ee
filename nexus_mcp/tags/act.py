"""Carry out the inline actions of a message, and describe their results in lines of text.

[m] and [rule] write notes, and [m:gc] proposes notes for deletion or deletes them. [d] records a decision if it is
certain which issue the decision answers; otherwise, or with `decide: model` in config.yml, the agent records it.
"""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.quoting import inert, quote
from nexus_mcp.tags.actions.decide import FAILED
from nexus_mcp.tags.parse import Message
from nexus_mcp.wording import rest_line
from nexus_mcp.workspace import DEFAULT_HARNESS_ID

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.store.store import Store
    from nexus_mcp.tags.actions.definition import ActionContext

_LONGEST = 400
RESULTS = {
    "creates": "would create {path}",
    "extends": "would add to {path}",
    "unchanged": "{path} has it already",
    "would_extend": "belongs to {path}",
    "created": "created {path}",
    "extended": "added to {path}",
    "proposed": "these notes could go",
    "deletes": "would delete these notes at once",
    "deleted": "deleted, as commit {commit}",
    "nothing": "no note could go",
    "for_the_agent": "left to the agent",
    "failed": "not done",
    "records": "would record the decision on {issue}",
    "replaces": "would replace the decision on {issue}",
    "recorded": "recorded the decision on {issue}",
    "replaced": "replaced the decision on {issue}",
}


def act(text: str, catalog: Catalog, store: Store, harness_id: str = DEFAULT_HARNESS_ID) -> dict[str, Any]:
    """Carry out the actions of a message; return {"steps": […], "left_out": …} as in schemas/catalog/act.schema.json.

    There is one step for each tag with an action among the first MOST tags (tags/parse.py), in order; `left_out` counts
    the tags after them. The result of a step that cannot be done is FAILED, with the reason as `next_step`; the other
    steps are still done.
    """
    message = Message(text, catalog.vocabulary["tags"])
    return {"steps": run_steps(message, catalog, store, harness_id), "left_out": message.left_out}


def run_steps(
    message: Message, catalog: Catalog, store: Store, harness_id: str = DEFAULT_HARNESS_ID, actor: str = ""
) -> list[dict[str, Any]]:
    """Carry out the actions of a message; return its steps. `harness_id` and `actor` are for the operation log."""
    if not message.tags:
        return []
    from nexus_mcp.tags.actions.definition import ActionContext
    from nexus_mcp.tags.route import SKILL

    ctx, table = ActionContext(catalog, store, harness_id, actor), catalog.vocabulary["tags"]
    return [
        _with_warning(message, tag, _run_step(tag, ctx)) for tag in message.tags if table[tag["tag"]]["kind"] != SKILL
    ]


def lines(step: dict[str, Any], *, quoting: bool = False) -> list[str]:
    """Return the result of a step, or of a preview with a `result`, in one line, then its details, without `next_step`.

    With `quoting`, the paths of notes and the commands that restore them are quoted: they are untrusted, and a model
    reads the lines.
    """
    shown = (lambda text: quote(text, _LONGEST)) if quoting else str
    path = shown(f".nexus/{step.get('path', '')}")
    issue = f"issue {step['issue']['id']} {quote(step['issue']['title'], _LONGEST)}" if "issue" in step else ""
    found = [RESULTS[step["result"]].format(path=path, commit=step.get("commit", "")[:12], issue=issue)]
    found += [f"  also similar: {shown('.nexus/' + other)}" for other in step.get("similar", ())]
    found += [
        f"  deleted: {shown('.nexus/' + note['path'])}; restore with: {shown(note['restore'])}"
        for note in step.get("deleted", ())
    ]
    found += [_proposal(one, shown) for one in step.get("deletes", ())]
    if (step.get("deleted") or step.get("deletes")) and step.get("proposals"):
        found.append("these could go, too")
    found += [_proposal(one, shown) for one in step.get("proposals", ())]
    found += [f"  {text}" for text in rest_line(step.get("more", 0))]
    return [inert(line) for line in found]


def _with_warning(message: Message, tag: dict[str, Any], step: dict[str, Any]) -> dict[str, Any]:
    """Return the step; if it has the `path` of a file and the text of the tag is truncated, with a warning."""
    if "path" not in step:
        return step
    return {**step, "next_step": " ".join(filter(None, [step["next_step"], message.truncation_warning(tag)]))}


def _run_step(tag: dict[str, Any], ctx: ActionContext) -> dict[str, Any]:
    from nexus_mcp.tags.actions import ACTIONS
    from nexus_mcp.tags.actions.definition import error_text
    from nexus_mcp.tags.route import variant_of

    spec, unknown = variant_of(ctx.catalog.vocabulary["tags"][tag["tag"]], tag)
    step = {field: tag[field] for field in ("tag", "variant", "start", "end")} | {"action": spec["action"]}
    if unknown:
        return {**step, "result": FAILED, "next_step": unknown}
    try:
        return {**step, **ACTIONS[spec["action"]]().run(ctx, tag["variant"], tag["text"])}
    except NexusError as error:
        return {**step, "result": FAILED, "next_step": error_text(error)}


def _proposal(one: dict[str, Any], shown: Callable[[str], str]) -> str:
    return f"  {shown('.nexus/' + one['path'])}: {', '.join(one['reasons'])}"
