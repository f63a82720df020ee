"""Serve the fake table in a process: python -m tests.wire.launch (stdio|sdk) BEGAN_FD GATE_FD.

`hold` writes a byte to BEGAN_FD and waits for one from GATE_FD. `print` writes to standard output as a careless
library would. `child` runs a child process that reads standard input and writes to standard output.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from nexus_mcp import log
from tests.wire.fake import FakeApp


class RemoteApp(FakeApp):
    def __init__(self, began: int, gate: int) -> None:
        super().__init__()
        self._began_fd, self._gate_fd = began, gate

    def run(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if name == "hold":
            os.write(self._began_fd, b".")
            os.read(self._gate_fd, 1)
            return {"held": True}
        if name == "print":
            print("a stray line", flush=True)
            os.write(1, b"another one\n")
            return {"read": os.read(0, 10).decode()}
        if name == "child":
            child = subprocess.run(["sh", "-c", "echo from a child; cat"], check=True, stderr=subprocess.DEVNULL)
            return {"code": child.returncode}
        return super().run(name, arguments)


def main() -> int:
    log.set_level("info")
    app = RemoteApp(int(sys.argv[2]), int(sys.argv[3]))
    if sys.argv[1] == "sdk":
        from nexus_mcp.server.sdk import serve_sdk

        code = serve_sdk(app.as_app())
    else:
        from nexus_mcp.server.stdio import serve

        code = serve(app.as_app())
    for event in app.events:
        print(event, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
