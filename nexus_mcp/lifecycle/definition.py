"""What a lifecycle event is: plain data about its params, and the function that carries out what it means."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.store.store import Store
    from nexus_mcp.workspace import Workspace


class EventContext:
    """What `run` gets beside the params: the workspace of the harness that tells of the event, and its store.

    What the model should hear of, though nothing failed, goes into `warnings`.
    """

    __slots__ = ("harness_id", "store", "warnings", "workspace")

    def __init__(self, workspace: Workspace, store: Store) -> None:
        self.workspace = workspace
        self.store = store
        self.harness_id = workspace.harness_id
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)


class Event:
    """One event of a session.

    `required` and `optional` name the params it takes (lifecycle/params.py has their types). `run(ctx, params)` gets
    params that keep them and returns the members of the answer that are the event's own.
    """

    __slots__ = ("name", "optional", "required", "run", "summary")

    def __init__(
        self,
        *,
        name: str,
        summary: str,
        required: tuple[str, ...] = (),
        optional: tuple[str, ...] = (),
        run: Callable[[EventContext, dict[str, Any]], dict[str, Any]],
    ) -> None:
        self.name = name
        self.summary = summary
        self.required = required
        self.optional = optional
        self.run = run
