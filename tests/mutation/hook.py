"""`python -m tests.mutation.hook MODULE FILE TYPE`: a lifecycle event, with the source in FILE in a module's place."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tests.mutation.install import install


def main(module: str, file: str, event: str) -> int:
    install(module, Path(file).read_text(encoding="utf-8"))
    from nexus_mcp.lifecycle.safely import answered
    from nexus_mcp.workspace import Workspace, find_root

    root = find_root(None, os.environ, str(Path.cwd()))
    print(json.dumps(answered(event, json.loads(sys.stdin.read() or "{}"), Workspace(root))))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
