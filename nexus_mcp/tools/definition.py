"""The class Tool (plain data and a `run` function), its capability classes, and the output schemas that tools share.

Files of other harnesses may hold unknown fields, and optional ones of odd types. Answers return them unchanged, so the
shared schemas restrict only required fields: a client that validates answers must not fail.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.state.oplog import By
    from nexus_mcp.store.close_receipt import Receipt
    from nexus_mcp.store.store import Store
    from nexus_mcp.workspace import Workspace

    Schema = dict[str, Any]


READING = "reading"
PLAN_CHANGE = "nexus_plan_change"
TASK_CREATION = "nexus_task_creation"
TASK_STATE = "nexus_task_state_transition"
TASK_METADATA = "nexus_task_metadata_modification"
CYCLE_CLOSE = "nexus_cycle_close"
ARTIFACT_WRITE = "nexus_artifact_write"
CLASSES = {
    READING: "changes nothing; capability maps never refuse it",
    PLAN_CHANGE: "changes the plan",
    TASK_CREATION: "adds tasks",
    TASK_STATE: "changes the status of a task",
    TASK_METADATA: "changes other fields of a task",
    CYCLE_CLOSE: "archives plan and tasks",
    ARTIFACT_WRITE: "writes a file below .nexus/",
}
"""Capability class → effect of its tools. assets/vocabulary/capabilities.yml maps each capability to classes."""


class ToolContext:
    """The context that `run` gets beside the arguments: the workspace, its store and the caller.

    `unanswered` is the receipt of a close whose response was not written yet, None for any other call.
    """

    __slots__ = ("by", "store", "unanswered", "workspace")

    def __init__(self, workspace: Workspace, store: Store, by: By) -> None:
        self.workspace = workspace
        self.store = store
        self.by = by
        self.unanswered: Receipt | None = None


class Tool:
    """One tool of the contract. `summary` is its row in the README, `description` its text for models.

    `classes` are capability classes, one or more of CLASSES: an agent may not use the tool if one of its capabilities
    forbids one of these classes. `parameters` maps each parameter to its JSON Schema; `required` names the mandatory
    ones. `output` is the JSON Schema of the answer. `own_checks` names parameters whose values the tool checks itself,
    because other errors of the tool come first. Before `run` only the types of these parameters are checked.
    `read_only` is True if the tool changes nothing. `read_only`, `destructive` and `idempotent` become MCP's tool
    annotations; openWorldHint is false everywhere, because no tool reaches beyond the project. `run(ctx, arguments)`
    gets valid arguments and returns the answer.
    """

    def __init__(
        self,
        *,
        name: str,
        title: str,
        summary: str,
        description: str,
        parameters: dict[str, Schema],
        required: tuple[str, ...],
        output: Schema,
        run: Callable[[ToolContext, dict[str, Any]], dict[str, Any]],
        classes: tuple[str, ...] = (),
        destructive: bool = False,
        idempotent: bool = False,
        own_checks: tuple[str, ...] = (),
    ) -> None:
        """Raise ValueError for a tool without classes, with unknown ones, or with one that contradicts `reading`."""
        if fault := _class_fault(classes):
            raise ValueError(f"The tool {name} {fault}. Give it classes=(...), of {', '.join(CLASSES)} ({__name__}).")
        self.name = name
        self.classes = classes
        self.read_only = READING in classes
        self.title = title
        self.summary = summary
        self.description = description
        self.parameters = parameters
        self.required = required
        self.output = output
        self.run = run
        self.destructive = destructive
        self.idempotent = idempotent
        self.own_checks = own_checks

    @property
    def input_schema(self) -> Schema:
        """Return the advertised JSON Schema of the arguments object."""
        schema: Schema = {"type": "object", "properties": self.parameters, "additionalProperties": False}
        if self.required:
            schema["required"] = list(self.required)
        return schema

    def definition(self, prefix: str = "") -> Schema:
        """Return the tool as `tools/list` shows it (MCP `Tool`), with `prefix` before its name.

        Every session pays tokens for this text: so the title is only in the place that all clients read, and the schema
        of answers has only the parts that clients use. The budgets: docs/tokens.md.
        """
        return {
            "name": prefix + self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": _or_error(self.output),
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.read_only,
                "destructiveHint": self.destructive,
                "idempotentHint": self.idempotent,
                "openWorldHint": False,
            },
        }


def definitions(tools: tuple[Tool, ...], prefix: str) -> list[Schema]:
    """Return the `definition` of each tool."""
    return [tool.definition(prefix) for tool in tools]


def _class_fault(classes: tuple[str, ...]) -> str:
    if not classes:
        return "has no capability class, so every agent could use it"
    if unknown := [name for name in classes if name not in CLASSES]:
        return f"has the unknown capability class {unknown[0]}"
    return "has a class beside reading, so it does not only read" if READING in classes and len(classes) > 1 else ""


def _or_error(output: Schema) -> Schema:
    """Return the schema of a tool's answers, failures included.

    Clients (OpenCode 1.18, Inspector 2.12) validate failures too, and hide the error when it does not fit.
    """
    fields = {name: _advertise(field) for name, field in output["properties"].items()}
    one_of = {"anyOf": [{"required": output["required"]}, {"required": ["error"]}]} if output["required"] else {}
    return {
        "type": "object",
        "properties": {**fields, "error": {"type": "string"}},
        "additionalProperties": False,
        **one_of,
    }


def _advertise(schema: Schema) -> Schema:
    """Return the part of a field's schema that clients use: names and types, at every depth.

    No known client shows descriptions of answers to a model or checks more than the fields of an answer itself.
    """
    shown: Schema = {name: schema[name] for name in ("type", "anyOf") if name in schema}
    if "items" in schema:
        shown["items"] = _advertise(schema["items"])
    if "properties" in schema:
        fields = {name: _advertise(field) for name, field in schema["properties"].items()}
        shown["properties"] = {name: field for name, field in fields.items() if field}
    return shown


def answer(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """Return the schema of an object with the `required` fields, perhaps the `optional` ones, and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
ID: dict[str, Any] = {"type": "integer", "minimum": 1}
NAMES: dict[str, Any] = {"type": "array", "items": {"type": "string"}}

ISSUE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": ID,
        "title": {"type": "string"},
        "status": {"type": "string", "enum": ["pending", "decided"]},
        "decision": {"description": "What was decided (string)."},
        "how_agents": {"description": "Agents that were asked for advice (array of strings)."},
        "how_summary": {"description": "Their advice by agent name (object of strings)."},
        "how_agent_ids": {"description": "Their ids by agent name (object of strings)."},
    },
    "required": ["id", "title", "status"],
}

ISSUE_LINE: dict[str, Any] = {
    "type": "object",
    "properties": {name: ISSUE["properties"][name] for name in ("id", "title", "status")},
    "required": ["id", "title", "status"],
    "additionalProperties": False,
}

TASK: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": ID,
        "title": {"type": "string"},
        "context": {"type": "string"},
        "approach": {"description": "How to do the task (string)."},
        "acceptance": {"description": "How to tell that the task is done (string)."},
        "risk": {"description": "What may go wrong (string)."},
        "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
        "deps": {"type": "array", "items": {"type": "number"}, "description": "Ids of tasks to complete first."},
        "plan_issue": {"description": "Id of the plan issue that the task carries out (integer)."},
        "owner": {"description": "Agent that does the task (string)."},
        "owner_agent_id": {"description": "The harness's id of that agent (string)."},
        "owner_reuse_policy": {"description": "fresh, resume_if_same_artifact or resume."},
        "created_at": {"type": "string"},
    },
    "required": ["id", "title", "context", "status", "deps", "created_at"],
}
