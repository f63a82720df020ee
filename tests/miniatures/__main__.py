"""`python -m tests.miniatures NAME` serves a miniature over stdio; `NAME --event TYPE` handles a lifecycle event.

The name `correct` stands for the correct server. Without a name the command prints the table.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace, find_root
from tests.miniatures.base import Json, Told
from tests.miniatures.processes import WIRE
from tests.miniatures.table import MINIATURES

CORRECT = "correct"


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        for miniature in MINIATURES.values():
            print(f"{miniature.name:32} {miniature.wrong}")
        return 0
    if arguments[0] not in (CORRECT, *MINIATURES):
        print(f"There is no miniature {arguments[0]!r}. Without a name the command lists them.", file=sys.stderr)
        return 2
    root = find_root(None, os.environ, str(Path.cwd()))
    if arguments[1:2] == ["--event"]:
        print(json.dumps(told(arguments[0], arguments[2], json.loads(sys.stdin.read() or "{}"), root)))
        return 0
    from nexus_mcp.server.stdio import serve

    os.dup2(1, WIRE, inheritable=False)
    return serve(MINIATURES[arguments[0]].app(root) if arguments[0] != CORRECT else App(Workspace(root)))


def told(name: str, event: str, params: dict[str, Json], root: str) -> Json:
    """Return the answer of a miniature to a lifecycle event."""
    from nexus_mcp.lifecycle.guard import answer_event

    def right(given: dict[str, Json]) -> Json:
        return answer_event(event, given, Workspace(root))

    miniature = MINIATURES.get(name)
    if miniature is None or miniature.event is None or event not in miniature.tools:
        return right(params)
    return miniature.event(Told(event, params, Path(root), right))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
