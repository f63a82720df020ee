"""Run the two images as the comments of their container files say, and check the results."""

from __future__ import annotations

import json
import os
import re
import socket
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nexus_mcp.server.http import tokens
from tests.wire.connection import modern

if TYPE_CHECKING:
    from tests.container.engine import Engine

NAME, PORT, USER = "nexus.example.org", 8750, 1000
_START_S = 60


def check_server(engine: Engine, folder: Path) -> str:
    """Serve a project from the image, call it, stop it, and return a summary. Raise AssertionError,
    CalledProcessError.
    """
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", PORT)) != 0, f"port {PORT} is in use"
    project, config = folder / "project", folder / "config"
    for place in (project, config):
        place.mkdir()
    token = tokens.add(str(config / "tokens.json"), "laptop", None, tokens.RIGHTS, "")
    for place in (folder, project, config, config / "tokens.json"):
        os.chown(place, USER, USER)
    mounts = ("--volume", f"{project}:/project", "--volume", f"{config}:/config")
    engine.start("served", "--network", "host", *mounts, "nexus-mcp-http", "--allow-host", NAME)
    _wait()
    added = _call(token, "task_add", {"title": "In a container", "context": "c", "goal": "g"})
    assert added == 200, added
    assert [_call(token, "task_list", {}, host="other.example"), _call("nexus_x", "task_list", {})] == [421, 401]
    code, output = engine.stop("served")
    assert code == 0, output
    assert token not in output
    file = project / ".nexus/state/tasks.json"
    assert (json.loads(file.read_text())["tasks"][0]["title"], file.stat().st_uid) == ("In a container", USER)
    return "built; it served a project, refused another host and token, and ended with code 0"


def check_judge(engine: Engine) -> str:
    """Run the conformance suite of the image on the server in it, without network; return a summary. Raise as
    `check_server` does.

    The image has Node.js, too, for servers in JavaScript.
    """
    assert engine.run("--entrypoint", "node", "nexus-conformance", "--version").startswith("v")
    output = engine.run("--network", "none", "nexus-conformance", "--server", "nexus-mcp serve", "--level", "basic")
    last = output.splitlines()[-1]
    assert re.search(r"^\d{2,} passed, 0 failed; level basic$", last), output[-2000:]
    return f"built; it judged its own server without network: {last}"


def _wait() -> None:
    until = time.monotonic() + _START_S
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}/healthz", headers={"Host": NAME})
    while True:
        try:
            with urllib.request.urlopen(request, timeout=5) as response:
                assert response.status == 200
                return
        except OSError as error:
            if time.monotonic() > until:
                raise AssertionError(f"the server does not listen: {error}") from error
            time.sleep(0.2)


def _call(token: str, tool: str, arguments: dict[str, Any], *, host: str = NAME) -> int:
    """Call a tool by MCP 2026-07-28, and return the HTTP status."""
    body = modern(1, "tools/call", name=tool, arguments=arguments)
    headers = {
        "Host": host,
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}/mcp", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code
