"""Run a client with a nexus-mcp over HTTP and another checkout of the project, and record its requests.

The first session has the token of the server, the second one has a wrong token.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tests.e2e.cycle import tool
from tests.e2e.model.conversation import Conversation
from tests.e2e.model.server import Model
from tests.e2e.plan_run import Hands
from tests.e2e.scratch import PROGRAM, Scratch

TOKEN = "NEXUS_TOKEN"
WRONG = "nexus_" + "x" * 43
TOPIC = "Keep links on the server"
ARTIFACT = "review/findings.md"
TEXT = "All links are kept.\n"
EARLY, LATE, REFUSED = "early.txt", "late.txt", "refused.txt"
_END_S = 30


class Client(Protocol):
    """A client in its scratch home."""

    scratch: Scratch
    model: Model

    @property
    def env(self) -> dict[str, str]: ...

    def install(self, *words: str) -> str: ...

    def uninstall(self, *words: str) -> str: ...


Talk = Callable[[Client, Sequence[str]], object]
"""Has a session with these messages of the user, and returns what the test of the client wants to keep."""


@dataclass
class RemoteRun:
    """A client after its sessions. `there` is the project of the server."""

    client: Client
    there: Scratch
    token: str
    kept: dict[str, Any] = field(default_factory=dict)

    def seen(self, pattern: str) -> Conversation:
        """Return the last request of a conversation whose user wrote the pattern: it has the whole conversation."""
        found = re.compile(pattern)
        requests = self.client.model.with_tools()
        return next(r.conversation for r in reversed(requests) if r.conversation.last_matching(found) >= 0)


@contextmanager
def serving(root: Path, env: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Serve a project over HTTP; yield (URL, token)."""
    words: list[str | Path] = [PROGRAM, "serve", "--http", "127.0.0.1:0", "--project", root]
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            token = process.stdout.readline().removeprefix("Token: ").strip()
            url = process.stdout.readline().split()[2]
            yield url, token
        finally:
            process.terminate()
            assert process.wait(_END_S) == 0


def remote_run(client: Client, there: Scratch, hands: Hands, read: str, talk: Talk) -> RemoteRun:
    """Run both sessions. `read` is the tool that reads a resource."""
    scratch, script, write = client.scratch, client.model.script, hands.write
    there.call("plan_start", topic=TOPIC, issues=["Where are links?"], research_summary="A dict.")
    script.on(
        "BEGIN-REMOTE",
        *hands.find,
        tool("plan_status"),
        write(scratch.root / EARLY, "x\n"),
        tool("task_add", title="Store links", context="Write the store."),
        write(scratch.root / LATE, "x\n"),
        tool("artifact_write", filename=ARTIFACT, content=TEXT),
        tool(read, server="nexus", uri=f"nexus://artifacts/{ARTIFACT}"),
        {"text": "DONE"},
    )
    script.on("BEGIN-WRONG", write(scratch.root / REFUSED, "x\n"), {"text": "DONE"})
    with serving(there.root, there.env) as (url, token):
        run = RemoteRun(client, there, token)
        client.install("--url", url)
        scratch.more[TOKEN] = token
        run.kept["listed"] = scratch.nexus("install", "--list", env=client.env)
        run.kept["checked"] = client.install("--url", url, "--check")
        run.kept["good"] = talk(client, ["BEGIN-REMOTE"])
        scratch.more[TOKEN] = WRONG
        run.kept["wrong"] = talk(client, ["BEGIN-WRONG"])
    run.kept["files"] = scratch.project_bytes(), scratch.home_bytes()
    run.kept["uninstalled"] = client.uninstall()
    return run
