"""Predict the effect of a message's tags: start a skill, run an action, or nothing, with the reason.

Nothing is changed. An error that concerns one tag does not affect the others.
"""

from __future__ import annotations

from nexus_mcp.catalog.placeholders import near
from nexus_mcp.errors import NexusError
from nexus_mcp.quoting import quoted_name
from nexus_mcp.state import plan as plans
from nexus_mcp.tags.actions import ACTIONS
from nexus_mcp.tags.actions.decide import NAME as PLAN_DECIDE
from nexus_mcp.tags.actions.decide import find_target, preview_target
from nexus_mcp.tags.actions.definition import ActionContext, error_text, finished_text
from nexus_mcp.tags.parse import Message

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.store.session import SessionSnapshot
    from nexus_mcp.store.store import Store

SKILL, ACTION, NOTHING = "skill", "action", "nothing"
_CLOSE = (
    "Close the cycle: check the whole result once more, and update the notes with [sync]. Closing drops the goal and "
    "the decisions of tasks.json: keep them in a note or with plan_decide. Then call task_close."
)
"""A short form of the last step of nx-run."""
_RUN, _PLAN = "nx-run", "nx-plan"


def variant_of(spec: dict[str, Any], tag: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return (the vocabulary entry of the tag and its variant, "" or why there is no such variant)."""
    variant = tag["variant"]
    if not variant or spec.get("any_variant"):
        return spec, ""
    known = spec["variants"]
    if variant in known:
        return {**spec, **known[variant]}, ""
    name, shown = tag["tag"], quoted_name(variant)
    names = [f"[{name}:{one}]" for one in near(variant, known) or known]
    instead = f"Did you mean {' or '.join(names)}?" if names else f"Write [{name}] and the text behind it."
    return spec, f"There is no [{name}:{shown}]. {instead}"


def route(text: str, catalog: Catalog, store: Store, harness_id: str = "") -> dict[str, Any]:
    """Return {"tags": […], "left_out": number of tags after the first MOST (tags/parse.py)}, as in
    schemas/catalog/route.schema.json.

    Each tag has its own fields and those of its outcome (Outcomes.of).
    """
    message = Message(text, catalog.vocabulary["tags"])
    outcomes = Outcomes(catalog, store, harness_id)
    tags = [{**tag, **outcomes.with_warning(message, tag)} for tag in message.tags]
    return {"tags": tags, "left_out": message.left_out}


def selectable(catalog: Catalog) -> list[dict[str, str]]:
    """Return the skills that an agent may select by itself: [{"id", "name", "description"}], by id.

    A skill that only an explicit tag or slash command starts (`manual_only`, docs/agents.md) is not included.
    """
    return [
        {field: skill[field] for field in ("id", "name", "description")}
        for _, skill in sorted(catalog.skills.items())
        if not skill["manual_only"]
    ]


class Outcomes:
    """The outcomes of the tags of one message. Plan and tasks are read once, and only for a tag that needs them."""

    __slots__ = ("_both", "_catalog", "_context", "_harness_id", "_store")

    def __init__(self, catalog: Catalog, store: Store, harness_id: str, both: SessionSnapshot | None = None) -> None:
        self._catalog = catalog
        self._store = store
        self._harness_id = harness_id
        self._context = ActionContext(catalog, store)
        self._both = both

    def of(self, tag: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of the outcome of a tag. Raise NexusError, for example for an unreadable file or a blank
        text.

        The fields are `outcome` (SKILL, ACTION, NOTHING) and `advice` (what to do first or instead, or ""). SKILL adds
        `skill`, `mode` (the variant), `body` with its placeholders and `harness_notes`; ACTION adds `action` and
        `would`, its preview.
        """
        spec, unknown = variant_of(self._catalog.vocabulary["tags"][tag["tag"]], tag)
        if unknown:
            return _nothing(unknown)
        if spec["kind"] == SKILL:
            return self._skill(spec["skill"], tag["variant"])
        action = spec["action"]
        if action == PLAN_DECIDE:
            return self._decision(tag["variant"], tag["text"])
        would = ACTIONS[action]().preview(self._context, tag["variant"], tag["text"])
        return {"outcome": ACTION, "action": action, "would": would, "advice": would["next_step"]}

    def with_warning(self, message: Message, tag: dict[str, Any]) -> dict[str, Any]:
        """Return the outcome of a tag of a message; the outcome of a tag with an error is NOTHING.

        An outcome with the `path` of a file has a warning if the text of the tag is truncated.
        """
        try:
            found = self.of(tag)
        except NexusError as error:
            return _nothing(error_text(error))
        if "path" in found.get("would", ()):
            found["advice"] = " ".join(filter(None, [found["advice"], message.truncation_warning(tag)]))
        return found

    def _skill(self, name: str, mode: str) -> dict[str, Any]:
        advice = ""
        if name == _RUN:
            stops = self._nothing_to_run()
            if stops:
                return _nothing(stops)
        elif name == _PLAN:
            finished = self._finished_sentence()
            advice = f"{finished} Call task_close first; then plan." if finished else ""
        skill = self._catalog.skill(name)
        return {
            "outcome": SKILL,
            "skill": name,
            "mode": mode,
            "body": self._catalog.body("skills", name),
            "harness_notes": self._catalog.notes(self._harness_id) if skill["harness_notes"] else "",
            "advice": advice,
        }

    def _decision(self, variant: str, text: str) -> dict[str, Any]:
        target = find_target(self._plan(), variant, text)
        if target.problem:
            return _nothing(target.problem)
        would = preview_target(self._store, target, text, self._tasks())
        return {"outcome": ACTION, "action": PLAN_DECIDE, "would": would, "advice": would["next_step"]}

    def _nothing_to_run(self) -> str:
        """Return why [run] has nothing to run; "" if there is a task to run."""
        tasks = self._tasks()
        if tasks is None or not tasks["tasks"]:
            plan = self._plan()
            if plan is None:
                return "There are no tasks to run, and no plan. Begin with [plan] and the topic."
            pending = len(plans.pending(plan))
            if pending:
                what = "a question" if pending == 1 else f"{pending} questions"
                return (
                    f"There are no tasks to run, and {what} of the plan {'is' if pending == 1 else 'are'} open. Decide "
                    "first: [d] and the decision; then call task_add for each decision."
                )
            if not plan["issues"]:
                return "There are no tasks to run, and the plan has no question. Add one with plan_update first."
            return "There are no tasks to run. Derive them from the plan first: call task_add for each decision."
        finished = self._finished_sentence()
        return f"{finished} {_CLOSE}" if finished else ""

    def _finished_sentence(self) -> str:
        return finished_text(self._tasks())

    def _plan(self) -> dict[str, Any] | None:
        return self._session().plan()

    def _tasks(self) -> dict[str, Any] | None:
        return self._session().tasks()

    def _session(self) -> SessionSnapshot:
        if self._both is None:
            self._both = self._store.snapshot()
        return self._both


def _nothing(advice: str) -> dict[str, Any]:
    return {"outcome": NOTHING, "advice": advice}
