"""Define a lifecycle event, its context, and the fields of its params, which are the same for all harnesses."""

from __future__ import annotations

from nexus_mcp import schemas
from nexus_mcp.errors import InvalidArguments
from nexus_mcp.lifecycle.budget import OUTCOME, SKILL, Part, fit
from nexus_mcp.lifecycle.host import NEUTRAL
from nexus_mcp.quoting import inert, inert_lines

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.lifecycle.host import Host
    from nexus_mcp.store.agents import Agents
    from nexus_mcp.store.session import SessionSnapshot
    from nexus_mcp.store.store import Store
    from nexus_mcp.workspace import Workspace

HARNESS_ID = "harness_id"
TEXT = {"type": "string"}
WORD = {"type": "string", "minLength": 1}
FIELDS: dict[str, dict[str, Any]] = {
    HARNESS_ID: TEXT,
    "session_id": TEXT,
    # Not an enum: a session that starts in an unknown way keeps its agents.
    "source": TEXT,
    "prompt": TEXT,
    "agent_id": WORD,
    "agent_name": TEXT,
    "tool": WORD,
    # Any type: a tool can be denied by its name, whatever its input is.
    "tool_input": {},
    "file": TEXT,
    "status": TEXT,
    "last_message": TEXT,
    "files_touched": {"type": "array", "items": TEXT},
    # Not an enum: only the user's own words can have tags, so tags are ignored in a message of unknown origin.
    "origin": TEXT,
    "stop_hook_active": {"type": "boolean"},
}
LONGEST = 256
"""Maximum characters of agent_id, agent_name and session_id, which go into files that every event reads."""
_NAMING = ("agent_id", "agent_name", "session_id")
_UNSTORED = ("prompt", "tool_input")
ALLOW = "allow"
DENY = "deny"
BLOCK = "block"
CONTINUE = "continue"
DECISIONS = (ALLOW, DENY, BLOCK, CONTINUE)
DECIDING = "pre_tool_use"
"""The event whose answer can stop a tool."""
MEND = "Fix the hook that sends the event."
AGAIN = "Use the tool again; if this repeats, tell the lead."
UNREADABLE = f"The restrictions of the agents cannot be read now. {AGAIN}"
"""The reason of a denial when the restrictions are unknown."""
MAIN = "main"
"""The name of the main session in logs and records."""


class EventContext:
    """The context of one event: workspace, store, and the parts of the answer collected so far.

    `warnings` are for the model, `context` has a text for each part of its working context, `decision` and `reason`
    control the tool or the end of the turn, `members` are more fields. All of them are in the answer even if the event
    fails later, except for pre_tool_use.

    Warnings, reason and context are made inert (quoting.py) a second time here, so that unquoted data cannot start a
    tag. Only the text of a skill is added unchanged, by `instruct`.
    """

    def __init__(self, workspace: Workspace, store: Store, host: Host = NEUTRAL) -> None:
        self.workspace = workspace
        self.store = store
        self.host = host
        self.limit = host.limit
        self.harness_id = workspace.harness_id
        self.settings: dict[str, Any] | None = None  # read at most once: lifecycle/settings.py
        self.catalog: Catalog | None = None  # read at most once, as is the snapshot: lifecycle/sources.py
        self.snapshot: SessionSnapshot | None = None
        self.agents: Agents | None = None  # the agents of this harness, None until the event's agent is identified
        self.decision = CONTINUE
        self.reason = ""
        self.context: list[Part] = []
        self.members: dict[str, Any] = {}
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(inert(text))

    def give(self, *texts: str, kind: int = OUTCOME) -> None:
        """Add texts, whose data is quoted, to the context; `kind` as in budget.py."""
        self.context += [Part(inert_lines(text), kind) for text in texts]

    def instruct(self, skill: str, text: str) -> None:
        """Add the text of a skill to the context unchanged."""
        self.context.append(Part(text, SKILL, skill))

    def decide(self, decision: str, reason: str = "") -> None:
        self.decision, self.reason = decision, reason and inert(reason)

    def answer(self, name: str, members: dict[str, Any]) -> dict[str, Any]:
        """Return the complete answer to the event `name`, as in schemas/lifecycle/answer.schema.json."""
        answer: dict[str, Any] = {"event": name, "harness_id": self.harness_id, "decision": self.decision}
        if self.reason:
            answer["reason"] = self.reason
        if self.context:
            beside = min(sum(len(text) + 12 for text in self.warnings), self.limit // 4)
            answer["context"] = fit(self.context, self.limit - beside)
        return {**answer, **self.members, **members, "warnings": self.warnings}


class Event:
    """One kind of event.

    `required` and `optional` name its params; their types are in FIELDS, with exceptions in `types`. `run(ctx, params)`
    gets valid params and returns the event's own fields of the answer.
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
    """A row of the table of events: a summary in a few words, and a function that loads the event."""

    __slots__ = ("load", "summary")

    def __init__(self, summary: str, load: Callable[[], Event]) -> None:
        self.summary = summary
        self.load = load


def check_params(event: Event, params: object) -> dict[str, Any]:
    """Return the params that `event` takes, without nulls. Raise InvalidArguments, which quotes no values.

    Other params are ignored. An agent_id, agent_name or session_id of more than LONGEST characters is refused if the
    event requires it, else truncated.
    """
    if not isinstance(params, dict):
        raise InvalidArguments(["the params must be an object"])
    taken = (HARNESS_ID, *event.required, *event.optional)
    values = {name: params[name] for name in taken if params.get(name) is not None}
    missing = [f"{name} is required" for name in event.required if name not in values]
    if missing:
        raise InvalidArguments(missing)
    types = {name: event.types.get(name, FIELDS[name]) for name in values}
    found = schemas.faults({"type": "object", "properties": types}, values)
    faults = [f"{fault.pointer[1:]} {fault.message}" for fault in found]
    for name, value in values.items():
        texts = value if isinstance(value, list) else [value]
        if name not in _UNSTORED and any(isinstance(text, str) and not _is_storable(text) for text in texts):
            faults.append(f"{name} must not have NUL or lone surrogates")
        elif types[name].get("minLength") and isinstance(value, str) and value.isspace():
            faults.append(f"{name} must not be blank")
    for name in _NAMING:
        if isinstance(text := values.get(name), str) and len(text) > LONGEST:
            # An agent is identified by the end of its name: the name of a plugin may precede it.
            values[name] = text[-LONGEST:] if name == "agent_name" else text[:LONGEST]
            if name in event.required:
                faults.append(f"{name} must not be longer than {LONGEST} characters")
    if faults:
        raise InvalidArguments(faults)
    return values


_FAILED = "The event {} could not be handled: "


def failure_text(name: str, fault: str) -> str:
    """Return the warning about an event that failed."""
    return f"{_FAILED.format(name)}{fault}"


def is_failure(warning: str) -> bool:
    """Return whether a warning is the text of an event that failed. The user should see it, too."""
    return warning.startswith(_FAILED.partition("{}")[0]) and _FAILED.partition("{}")[2] in warning


def own_fault(error: Exception, where: str = "") -> str:
    """Return the text of an error in nexus-mcp. The error's own text may quote a value, so it is left out."""
    return f"nexus-mcp has a fault of its own: {type(error).__name__}{where}. Please report it."


def _is_storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
