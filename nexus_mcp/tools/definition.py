"""What a tool is: plain data about its calls, and the function that carries one out."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.state.oplog import By
    from nexus_mcp.store.store import Store
    from nexus_mcp.store.unanswered import Unanswered
    from nexus_mcp.workspace import Workspace

    Schema = dict[str, Any]


class ToolContext:
    """What `run` gets beside the arguments: the workspace, its store, and who is calling.

    A tool that returns an answer which must be kept until it was written out puts its marker in `unanswered`.
    """

    __slots__ = ("by", "store", "unanswered", "workspace")

    def __init__(self, workspace: Workspace, store: Store, by: By) -> None:
        self.workspace = workspace
        self.store = store
        self.by = by
        self.unanswered: Unanswered | None = None


class Tool:
    """One tool of the contract.

    `parameters` maps each parameter to its JSON Schema; those in `required` must be given. `output` is the JSON
    Schema of the answer. `own_checks` are parameters whose values the tool itself checks, because its other errors
    come first; only their type is checked before. The hints are MCP's tool annotations; openWorldHint is false
    everywhere, because no tool reaches beyond the project. `run(ctx, arguments)` gets arguments that keep the schemas
    and returns the answer.
    """

    __slots__ = (
        "description",
        "destructive",
        "idempotent",
        "name",
        "output",
        "own_checks",
        "parameters",
        "read_only",
        "required",
        "run",
        "title",
    )

    def __init__(
        self,
        *,
        name: str,
        title: str,
        description: str,
        parameters: dict[str, Schema],
        required: tuple[str, ...],
        output: Schema,
        run: Callable[[ToolContext, dict[str, Any]], dict[str, Any]],
        read_only: bool = False,
        destructive: bool = False,
        idempotent: bool = False,
        own_checks: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.title = title
        self.description = description
        self.parameters = parameters
        self.required = required
        self.output = output
        self.run = run
        self.read_only = read_only
        self.destructive = destructive
        self.idempotent = idempotent
        self.own_checks = own_checks

    @property
    def input_schema(self) -> Schema:
        """The JSON Schema of the whole arguments object, as it is advertised."""
        schema: Schema = {"type": "object", "properties": self.parameters, "additionalProperties": False}
        if self.required:
            schema["required"] = list(self.required)
        return schema

    def definition(self, prefix: str = "") -> Schema:
        """The tool as `tools/list` shows it (MCP `Tool`), registered under `prefix`."""
        return {
            "name": prefix + self.name,
            "title": self.title,
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


_ERROR = {"type": "string", "description": "What went wrong; only in a failed call, and then alone."}


def _or_error(output: Schema) -> Schema:
    """The schema of a tool's answers, failures included: clients (OpenCode 1.18, Inspector 2.12) check those too,
    and show the model their own complaint in place of the error when it does not fit."""
    return {
        **{key: value for key, value in output.items() if key != "required"},
        "properties": {**output["properties"], "error": _ERROR},
        "anyOf": [{"required": output["required"]}, {"required": ["error"]}],
    }


def answer(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """The schema of an answer with exactly these members."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }
