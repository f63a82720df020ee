"""`make container`: build both container files with podman and buildah, and run their images.

The base image comes from a registry of images, which is not reachable everywhere. So a folder with Debian's Python
takes its name; it has the commands that the container files use: python, pip, apt-get, useradd.

Exit code 0: both ran; 1: a check failed; 3: nothing was run, because a tool or a right is missing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.container.engine import Engine, NotHad
from tests.container.images import check_judge, check_server

NOT_RUN = 3
ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> int:
    """Build and run both images, and print a line for each."""
    with tempfile.TemporaryDirectory(prefix="nexus-container-") as name:
        folder = Path(name)
        try:
            engine = Engine(folder, ROOT)
            engine.make_base()
        except NotHad as fault:
            print(f"Not run: {fault}.", file=sys.stderr)
            return NOT_RUN
        try:
            engine.build("nexus-mcp-http", "deploy/Containerfile")
            print(f"deploy/Containerfile: {check_server(engine, folder)}", flush=True)
            engine.build("nexus-conformance", "Containerfile")
            print(f"Containerfile: {check_judge(engine)}", flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError) as fault:
            print(f"Failed: {fault}", file=sys.stderr)
            print((getattr(fault, "stdout", "") or "")[-3000:], file=sys.stderr)
            return 1
        finally:
            engine.end()
    return 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
