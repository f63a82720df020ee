"""Serve the fake table in a process: python -m tests.wire.fake_server (stdio|sdk) BEGAN_FD GATE_FD [quiet] [SIGNAL…].

Signals are handled as in a shell's foreground job, whatever the tests were started from, but for those named,
which are ignored. In the end the events of the table go to stderr, unless `quiet`.

`hold` writes a byte to BEGAN_FD and waits for one from GATE_FD. `print` writes to standard output as a careless
library would. `child` runs a child process that reads standard input and writes to standard output. `logging` logs
as libraries do.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from typing import Any

from nexus_mcp import log
from tests.wire.fake_tools import FakeApp


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
        if name == "logging":
            logging.getLogger("library").warning("two\nlines")
            logging.getLogger("library").warning("%d", "no number")
            return {}
        return super().run(name, arguments)


def main() -> int:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN if number.name in sys.argv[4:] else signal.SIG_DFL)
    log.set_level("info")
    app = RemoteApp(int(sys.argv[2]), int(sys.argv[3]))
    if sys.argv[1] == "sdk":
        from nexus_mcp.server.sdk import serve_sdk

        code = serve_sdk(app.as_app())
    else:
        from nexus_mcp.server.stdio import serve

        code = serve(app.as_app())
    for event in () if "quiet" in sys.argv[4:] else app.events:
        print(event, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
