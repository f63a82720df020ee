"""`make container`: build both container files with podman and buildah, and run their images.

The official base image comes from an image registry, which is not reachable everywhere. So the test builds an image of
the same name from Debian packages. It has the commands that the container files use: python, pip, apt-get, useradd.

Exit code 0: both images passed; 1: a build or a check failed; 3: nothing was built: a tool or a right is missing.
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
