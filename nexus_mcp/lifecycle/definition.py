"""What a lifecycle event is: plain data about its params, and the function that carries out what it means."""

from __future__ import annotations

from nexus_mcp.quoting import inert, inert_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.store.store import Store
    from nexus_mcp.workspace import Workspace

ALLOW = "allow"
DENY = "deny"
BLOCK = "block"
CONTINUE = "continue"
MAIN = "main"
"""Who is at work where no agent is named: the session itself."""


class EventContext:
    """What `run` gets beside the params: the workspace of the harness that tells of the event, and its store.

    What the model should hear of, though nothing failed, goes into `warnings`; what it is given to work with into
    `context`, a text for each part; what may happen next, and why not, into `decision` and `reason`. What is put there,
    and into `members`, is in the answer also when the event fails after that.

    Warnings, reason and context are made inert here once more (quoting.py), so that what a caller forgot to quote
    begins no tag either. Only a skill goes in as it is, by `instruct`.
    """

    __slots__ = ("catalog", "context", "decision", "harness_id", "members", "reason", "store", "warnings", "workspace")

    def __init__(self, workspace: Workspace, store: Store) -> None:
        self.workspace = workspace
        self.store = store
        self.harness_id = workspace.harness_id
        self.catalog: Catalog | None = None  # read once for an event: lifecycle/known.py
        self.decision = CONTINUE
        self.reason = ""
        self.context: list[str] = []
        self.members: dict[str, Any] = {}
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(inert(text))

    def give(self, *texts: str) -> None:
        """Put texts with quoted data in them into the context."""
        self.context += map(inert_lines, texts)

    def instruct(self, text: str) -> None:
        """Put a text that is an instruction, a skill, into the context as it is."""
        self.context.append(text)

    def decide(self, decision: str, reason: str = "") -> None:
        self.decision, self.reason = decision, inert(reason)

    def answer(self, name: str, members: dict[str, Any]) -> dict[str, Any]:
        """The whole answer to the event that was told as `name`: schemas/lifecycle/answer.schema.json."""
        answer: dict[str, Any] = {"event": name, "harness_id": self.harness_id, "decision": self.decision}
        if self.reason:
            answer["reason"] = self.reason
        if self.context:
            answer["context"] = "\n\n".join(self.context)
        return {**answer, **self.members, **members, "warnings": self.warnings}


class Event:
    """One event of a session.

    `required` and `optional` name the params it takes (lifecycle/params.py has their types, `types` those that are
    other ones here). `run(ctx, params)` gets params that keep them and returns the members of the answer that are the
    event's own.
    """

    __slots__ = ("optional", "required", "run", "types")

    def __init__(
        self,
        *,
        required: tuple[str, ...] = (),
        optional: tuple[str, ...] = (),
        types: Mapping[str, dict[str, Any]] | None = None,
        run: Callable[[EventContext, dict[str, Any]], dict[str, Any]],
    ) -> None:
        self.required = required
        self.optional = optional
        self.types: Mapping[str, dict[str, Any]] = types or {}
        self.run = run


class Row:
    """A line of the table of events: what it is, in a few words, and how it is loaded when it happens."""

    __slots__ = ("load", "summary")

    def __init__(self, summary: str, load: Callable[[], Event]) -> None:
        self.summary = summary
        self.load = load
