"""Send the same lines to both servers, each with a project of its own, and pair the answers."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nexus_mcp.server.app import App
from nexus_mcp.server.stdio import serve
from nexus_mcp.workspace import Workspace
from tests.differential.sdk_server import serve_pure
from tests.wire.connection import exchange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.wire.connection import Json, Serve

MOMENT = 1_767_323_045.25


def answers(messages: Sequence[Json], server: Serve, prefix: str = "") -> list[Json]:
    """Return all responses of one server in a new project, by id: ours answers requests without a tool out of turn."""
    with tempfile.TemporaryDirectory() as root:
        app = App(Workspace(root), prefix, now=lambda: MOMENT)
        found = exchange(app, messages, server)
        plain = json.loads(json.dumps(found).replace(json.dumps(str(Path(root).resolve()))[1:-1], "ROOT"))
    return sorted(plain, key=lambda answer: json.dumps(answer.get("id")))


def compare(messages: Sequence[Json], prefix: str = "") -> tuple[list[Json], list[Json]]:
    """Return (the answers of our server, those of the SDK alone)."""
    return answers(messages, serve, prefix), answers(messages, serve_pure, prefix)


def numbered(messages: Sequence[Any]) -> list[Any]:
    """Return the messages with ids from 1, which identify the responses."""
    return [{**message, "id": number} for number, message in enumerate(messages, 1)]
