"""plan_decide: record the text after `[d]` as a decision, if it is certain which issue the text answers.

`[d] text` answers the only pending issue of the plan, `[d:2] text` the issue with that id. With several pending issues
and no id the agent calls the tool plan_decide, because only the agent knows which issue was discussed. The agent also
calls it if `.nexus/config.yml` has `tags: {decide: model}` or cannot be read. The action writes the same to the files
and the operation log as the tool does, but names the client `tag [d]` in the log.
"""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.program import command
from nexus_mcp.quoting import quote, quoted_name
from nexus_mcp.state import plan as plans
from nexus_mcp.state import shapes
from nexus_mcp.state.oplog import By
from nexus_mcp.store.paths import PLAN
from nexus_mcp.tags import config
from nexus_mcp.tags.actions.definition import Action, error_text, finished_text
from nexus_mcp.wording import join_first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.store import Store
    from nexus_mcp.store.transaction import Transaction
    from nexus_mcp.tags.actions.definition import ActionContext

NAME = "plan_decide"
FOR_THE_AGENT, FAILED, UNCHANGED = "for_the_agent", "failed", "unchanged"
BY_MODEL = "model"
PATH = "state/plan.json"
MAX_BYTES = 1 << 20
"""Maximum bytes of a decision."""
_CLIENT = "tag [d]"
_MOST_SHOWN, _LONGEST = 20, 160
_CALL = "Call plan_decide with the text behind the tag, for the question that this text answers."
_NO_PLAN = "No plan is open, so there is no question to decide. Start one first: [plan] and the topic."
_NO_QUESTION = "The plan has no question to decide. Add one with plan_update first."
_ALL_DECIDED = "Every question of the plan is decided. Reopen one or add one with plan_update first."
_NO_TEXT = "Nothing is written behind [d]. Write the decision there: [d] what was decided."
_NEXT = "All issues are decided. Turn the decisions into tasks with task_add, then carry them out."


class Target:
    """The target of a decision: `issue`, which is None if only the agent knows it, or `problem`, the reason why nothing
    can be decided, else "". `pending` has the pending issues of the plan.
    """

    __slots__ = ("issue", "pending", "problem")

    def __init__(self, pending: list[dict[str, Any]], issue: dict[str, Any] | None = None, problem: str = "") -> None:
        self.pending = pending
        self.issue = issue
        self.problem = problem


def find_target(plan: dict[str, Any] | None, variant: str, text: str) -> Target:
    """Return the target of a decision: the issue with the id in `variant` or, without an id, the only pending issue."""
    if variant and not (variant.isascii() and variant.isdecimal()):
        shown = quoted_name(variant)
        advice = "Write [d], or [d:2] with the id of the question, and the decision behind it."
        return Target([], problem=f"There is no [d:{shown}]. {advice}")
    if plan is None:
        return Target([], problem=_NO_PLAN)
    pending = plans.pending(plan)
    if not plan["issues"]:
        return Target(pending, problem=_NO_QUESTION)
    issue = pending[0] if len(pending) == 1 else None
    if variant:
        issue = next((one for one in plan["issues"] if str(one["id"]) == (variant.lstrip("0") or "0")), None)
        if issue is None:
            return Target(pending, problem=_no_issue(variant, plan["issues"]))
    elif not pending:
        return Target(pending, problem=_ALL_DECIDED)
    if not text.strip():
        return Target(pending, problem=_NO_TEXT)
    return Target(pending, issue, _text_fault(text))


def find_switch(store: Store) -> tuple[bool, str]:
    """Return (whether `[d]` records decisions in this project, the fault of its settings or "")."""
    try:
        with store.nexus() as nexus:
            mode = config.read(nexus).get("tags", {}).get("decide", "")
    except NexusError as error:  # the file, which cannot be read, may set `decide: model`
        return False, f"{error_text(error)} Until then no tag records a decision by itself."
    return mode != BY_MODEL, ""


def preview(ctx: ActionContext, variant: str, text: str) -> dict[str, Any]:
    return preview_target(ctx.store, find_target(ctx.store.plan(), variant, text), text, ctx.store.tasks())


def preview_target(store: Store, target: Target, text: str, tasks: dict[str, Any] | None) -> dict[str, Any]:
    """Return the fields of a preview for a target without a problem.

    The field `issue` is the issue that the text certainly answers; it is absent if only the agent knows the issue.
    """
    would: dict[str, Any] = {"pending": [_line(issue) for issue in target.pending]}
    if target.issue is None:
        return {**would, "next_step": _warning(tasks)}
    would["issue"] = _line(target.issue)
    is_on, fault = find_switch(store)
    if not is_on:
        return {**would, "next_step": " ".join(filter(None, (fault, _warning(tasks))))}
    result = {"recorded": "records", "replaced": "replaces"}.get(_result(target.issue, text), UNCHANGED)
    return {**would, "result": result, "path": PATH, "next_step": _advice(target.issue, text, tasks)}


def run(ctx: ActionContext, variant: str, text: str) -> dict[str, Any]:
    """Record the decision if it is certain which issue the text answers, and if no setting leaves the decision to the
    agent; return the fields of a step. Raise NexusError.
    """
    target = find_target(ctx.store.plan(), variant, text)  # first without the lock: perhaps nothing is written
    if target.problem:
        return {"result": FAILED, "next_step": target.problem}
    is_on, fault = (False, "") if target.issue is None else find_switch(ctx.store)
    if not is_on:
        return {"result": FOR_THE_AGENT, "next_step": f"{fault} {_CALL}".strip()}

    def change(now: Transaction) -> dict[str, Any]:
        found = find_target(now.plan, variant, text)  # another process may have recorded a decision meanwhile
        if found.problem:
            return {"result": FAILED, "next_step": found.problem}
        if found.issue is None or now.plan is None:
            return {"result": FOR_THE_AGENT, "next_step": _CALL}
        result = _result(found.issue, text)
        step = {"result": result, "path": PATH, "issue": _line(found.issue)}
        if result == UNCHANGED:
            return {**step, "next_step": ""}
        changed, issue = plans.decide(now.plan, found.issue["id"], {"decision": text})
        now.put(PLAN, changed, shapes.ISSUE, {"status": issue["status"], "decision": text})
        now.what = f"decides issue {issue['id']}"
        return {**step, "next_step": f"{_advice(found.issue, text, _tasks(now))} {_rest(changed)}".strip()}

    return ctx.store.change(change, By(NAME, ctx.harness_id, _CLIENT, ctx.actor))


def _tasks(now: Transaction) -> dict[str, Any] | None:
    """Return the tasks, None if there are none or they cannot be read: a decision does not need them."""
    try:
        return now.tasks
    except NexusError:
        return None


def _result(issue: dict[str, Any], text: str) -> str:
    """Return the result of recording the text; UNCHANGED if the issue has this decision already, for example because a
    harness sent the message twice.
    """
    if issue["status"] != plans.DECIDED:
        return "recorded"
    return UNCHANGED if issue.get("decision") == text else "replaced"


def _advice(issue: dict[str, Any], text: str, tasks: dict[str, Any] | None) -> str:
    """Return the warnings about recording the text: a replaced decision, a finished cycle."""
    old = quote(str(issue.get("decision", "")), _LONGEST)
    is_new = _result(issue, text) == "replaced"
    replaced = f"It replaces the decision {old}; {command('undo')} restores the old one." if is_new else ""
    return " ".join(filter(None, (replaced, _warning(tasks))))


def _warning(tasks: dict[str, Any] | None) -> str:
    finished = finished_text(tasks)
    return f"{finished} If the decision is about new work, call task_close first." if finished else ""


def _rest(plan: dict[str, Any]) -> str:
    """Return a sentence about the pending issues, or the next step when no issue is pending."""
    pending = plans.pending(plan)
    if not pending:
        return _NEXT
    shown = join_first(pending, _MOST_SHOWN, lambda one: f"issue {one['id']} {quote(one['title'], _LONGEST)}")
    return f"Pending: {shown}."


def _line(issue: dict[str, Any]) -> dict[str, Any]:
    return {"id": issue["id"], "title": issue["title"]}


def _no_issue(variant: str, issues: list[dict[str, Any]]) -> str:
    shown = join_first(issues, _MOST_SHOWN, lambda one: str(one["id"]))
    return f"The plan has no issue {variant}; it has {shown}."


def _text_fault(text: str) -> str:
    """Return why a text cannot be a decision, with the next step; "" if it can."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return "The text behind [d] has a lone surrogate, which no file can hold. Take it out, then send it again."
    if size > MAX_BYTES:
        return (
            f"The text behind [d] has {size} bytes, more than the {MAX_BYTES >> 20} MiB that a decision may have. Say "
            "it in a few sentences; an artifact can hold the whole text."
        )
    return ""


ACTION = Action(preview, run)
