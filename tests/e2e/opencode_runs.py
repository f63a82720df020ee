"""The sessions of OpenCode that test_opencode.py reads: each starts the client once, or twice."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.cycle import WORK, tool
from tests.e2e.model.conversation import Conversation
from tests.e2e.model.script import Turn
from tests.e2e.model.server import Request
from tests.e2e.opencode import ID, OpenCode, Server
from tests.e2e.scratch import wait_until

TRACKER = f"state/{ID}/agent-tracker.json"
REMEMBERED = f"state/{ID}/remembered.extension.json"
OWN = "node_modules\npackage.json\npackage-lock.json\nbun.lock\n.gitignore"
"""The .gitignore that OpenCode itself writes into each of its folders."""
_SUMMARISE = "Create a new anchored summary"
_SUMMARY = "## Objective\n- The user works on links."


@dataclass
class Run:
    """A client after its session, and the data recorded on the way."""

    client: OpenCode
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def requests(self) -> list[Request]:
        return self.client.model.with_tools()

    def last(self, pattern: str) -> Conversation:
        """Return the last request of a conversation whose user wrote the pattern: it has the whole conversation."""
        found = re.compile(pattern)
        return next(r.conversation for r in reversed(self.requests) if r.conversation.last_matching(found) >= 0)

    def answered(self, text: str) -> bool:
        """Return whether the model has written this text."""
        return any(request.turn.get("text") == text for request in [*self.client.model.requests])


def remembered(client: OpenCode) -> list[Any]:
    return list((client.scratch.state(REMEMBERED) or {"sessions": []})["sessions"])


def end(client: OpenCode, server: Server) -> None:
    """End the client, and wait until all its processes have ended."""
    server.close()
    wait_until(lambda: server.running.left() == [])
    assert remembered(client) == []


def cycle_run(client: OpenCode) -> Run:
    """Run one session: a whole cycle, prompts as commands, the end of turns and of the session; then uninstall."""
    run = Run(client)
    scratch, script = client.scratch, client.model.script
    other = '"mcp": {"other": {"type": "local", "command": ["/bin/false"], "enabled": false}}, // by hand'
    scratch.write("opencode.jsonc", f'{{\n\t"$schema": "https://opencode.ai/config.json",\n\t{other}\n}}')
    scratch.write(".opencode/agents/mine.md", "---\ndescription: Mine.\nmode: subagent\n---\nMine.\n")
    scratch.write(".opencode/.gitignore", OWN)
    run.kept["before"] = scratch.project_bytes()
    client.install()
    script.on("DO-THE-WORK", *WORK, {"text": "WORK-DONE"})
    script.on("cycle is not closed", {"text": "NOT-YET"})
    script.on("ANYTHING-ELSE", {"text": "NOTHING"})
    script.on("CLOSE-IT", tool("task_close"), tool("history_search", query="SQLite"), {"text": "CLOSED"})
    script.on("^# Plan", {"text": "PLANNING"})
    script.on("Keep the user's rule", {"text": "RULED"})
    with client.serve() as server:
        run.kept["commands"] = [row["name"] for row in server.call("GET", "/command")]
        session = server.session()
        run.kept["work"] = session.ask("DO-THE-WORK")
        wait_until(lambda: run.answered("NOT-YET"))
        run.kept["else"] = session.ask("ANYTHING-ELSE")
        session.ask("CLOSE-IT")
        run.kept["sessions"] = remembered(client)
        run.kept["plan"] = session.command("nexus:plan", "links that last")
        run.kept["rule"] = session.command("nexus:rule", "tests No [m] sleeps")
        run.kept["children"] = len(server.children("hook", "--serve", "--native", ID))
        end(client, server)
    run.kept["after"] = scratch.project_bytes()
    run.kept["history"] = scratch.state("history.json")
    run.kept["plugin"] = (scratch.root / ".nexus/opencode/nexus.js").read_text(encoding="utf-8")
    client.uninstall()
    run.kept["uninstalled"] = scratch.project_bytes()
    return run


def compacted_run(client: OpenCode) -> Run:
    """Run one session with 500 notes: a skill by its tag, and two compactions."""
    run = Run(client)
    scratch, script = client.scratch, client.model.script
    client.install()
    for number in range(500):
        scratch.write(f".nexus/memory/pattern-{number:03}-{'of-a-long-name-' * 8}.md", "# A note\n")

    def add_many(_conversation: Conversation) -> Turn:
        for number in range(1, 61):
            scratch.call("task_add", title=f"Task {number} {'of a long title ' * 12}", context="c")
        return tool("task", description="look", prompt="LOOK-AROUND", subagent_type="researcher")

    script.on(_SUMMARISE, {"text": _SUMMARY})
    script.on(
        r"^\[plan\]",
        tool("skill", name="nx-plan"),
        tool("write", filePath=str(scratch.root / "early.txt"), content="x\n"),
        tool("plan_start", topic="Links", issues=["Where?", "How long?"], research_summary="None."),
        tool("plan_decide", issue_id=1, decision="SQLite"),
        tool("write", filePath=str(scratch.root / "hasty.txt"), content="x\n"),
        tool("task_add", title="Write the store", context="c"),
        add_many,
        {"text": "PLANNED"},
    )
    script.on("LOOK-AROUND", {"text": "LOOKED"})
    script.on("GO-ON", {"text": "WENT-ON"})
    script.on("ONCE-MORE", {"text": "DONE"})
    script.on("FILL-UP", {**tool("task_list"), "input_tokens": 195_000}, {"text": "FULL"})
    script.on("^Continue if you have next steps", tool("plan_status"), {"text": "CONTINUED"})
    with client.serve() as server:
        session = server.session()
        session.ask("[plan] links")
        session.compact()
        session.ask("GO-ON")
        session.ask("ONCE-MORE")
        run.kept["once"] = run.last("ONCE-MORE")
        session.ask("FILL-UP")
        end(client, server)
    return run


def agents_run(client: OpenCode) -> Run:
    """Run one session in user scope: gates, agents with restrictions, and a crash of the process of the hooks."""
    run = Run(client)
    scratch, script = client.scratch, client.model.script
    run.kept["before"] = config_bytes(client)
    client.install("--scope", "user")
    # The user removes the restrictions from this file, so that only the hook denies tools.
    loose = client.folder / "agents" / "reviewer.md"
    installed = loose.read_text(encoding="utf-8")
    loose.write_text(re.sub(r"(?m)^permission:\n(  .*\n)*", "", installed), encoding="utf-8")

    def write(name: str) -> Turn:
        return tool("write", filePath=str(scratch.root / name), content="x\n")

    def edit(name: str) -> Turn:
        return tool("edit", filePath=str(scratch.root / name), oldString="", newString="x\n")

    def gated(gate: str, name: str) -> Callable[[Conversation], Turn]:
        def step(_conversation: Conversation) -> Turn:
            scratch.write(".nexus/config.yml", f"gates:\n  edit: {gate}\n")
            return write(name)

        return step

    def watched(name: str, turn: Turn) -> Callable[[Conversation], Turn]:
        def step(_conversation: Conversation) -> Turn:
            run.kept[name] = scratch.state(TRACKER)
            return turn

        return step

    def crash(_conversation: Conversation) -> Turn:
        """Kill the process that answers the hooks, before the tool of this turn."""
        run.kept["resumed"] = scratch.state(TRACKER)
        (process,) = server.children("hook", "--serve", "--native", ID)
        process.kill()
        return write("crash.txt")

    def again(conversation: Conversation) -> Turn:
        (name,) = re.findall(r'<task id="(\w+)"', conversation.results("task")[1].text)
        return tool("task", description="review", prompt="REVIEW-AGAIN", subagent_type="reviewer", task_id=name)

    task = tool("nexus_task_add", title="T", context="c")
    script.on("EDIT-FILES", gated("warn", "warned.txt"), gated("block", "blocked.txt"), {"text": "EDITED"})
    script.on("DESIGN-IT", watched("running", edit("design.txt")), task, {"text": "[m] injected.md: not the user"})
    script.on("REVIEW-IT", write("review.txt"), task, {"text": "REVIEWED"})
    script.on(
        "REVIEW-AGAIN",
        crash,
        write("crash.txt"),
        {"text": "[m] injected.md: not the user"},
    )
    script.on(
        "START-AGENTS",
        tool("task", description="design", prompt="DESIGN-IT", subagent_type="architect"),
        tool("task", description="review", prompt="REVIEW-IT", subagent_type="reviewer"),
        watched("completed", task),
        again,
        {"text": "STARTED"},
    )
    script.on("SETTLE", {"text": "SETTLED"})
    with client.serve() as server:
        session = server.session()
        session.ask("EDIT-FILES")
        session.ask("START-AGENTS")
        session.ask("SETTLE")
        end(client, server)
    run.kept["ended"] = scratch.state(TRACKER)
    loose.write_text(installed, encoding="utf-8")
    client.uninstall("--scope", "user")
    run.kept["after"] = config_bytes(client)
    run.kept["state"] = [name for name in scratch.home_bytes() if "nexus-mcp" in name]
    return run


def killed_run(client: OpenCode) -> Run:
    """Kill one client in the middle of a call, then start `opencode run`; then uninstall."""
    run = Run(client)
    before = client.scratch.project_bytes()
    client.install()
    script = client.model.script
    calls = [tool("task_add", title=f"Task {number}", context="c") for number in range(1, 31)]
    turns = [{"calls": calls[at : at + 3]} for at in range(0, len(calls), 3)]
    script.on("ADD-ALL", *turns, {"text": "ADDED"})
    script.on("LOOK", tool("task_list"), tool("task_add", title="Next", context="c"), {"text": "LOOKED"})

    def stored() -> list[Any]:
        return list((client.scratch.state("state/tasks.json") or {"tasks": []})["tasks"])

    with client.serve() as server:
        server.session().send("ADD-ALL")
        wait_until(lambda: len(stored()) >= 4)
        os.kill(server.running.process.pid, signal.SIGKILL)
        server.running.process.wait()
        wait_until(lambda: server.running.left() == [])
        server.is_over = True
    run.kept["stored"] = stored()
    run.kept["acknowledged"] = [r.value["task"] for r in client.model.last().conversation.results("task_add")]
    run.kept["sessions"] = remembered(client)
    client.scratch.nexus("doctor")
    run.kept["done"] = client.run("[run] LOOK")
    run.kept["after-run"] = remembered(client)
    client.uninstall()
    after = client.scratch.project_bytes()
    run.kept["left"] = {name: data for name, data in after.items() if name not in before and ".nexus/" not in name}
    return run


def config_bytes(client: OpenCode) -> dict[str, bytes]:
    """Return path -> bytes of the configuration folder, without the .gitignore that the client makes."""
    files = [path for path in sorted(client.folder.rglob("*")) if path.is_file()]
    named = {path.relative_to(client.folder).as_posix(): path.read_bytes() for path in files}
    return {name: data for name, data in named.items() if data.decode() != OWN}
