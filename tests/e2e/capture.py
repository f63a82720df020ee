"""Write the captures of docs/HARNESS.md: a user's work on one cycle in the real client, with the scripted model.

`python -m tests.e2e.capture [CLIENT…]` installs the clients, and starts itself again without a network. A capture has
the commands that a user types, with their whole output. Only paths of this machine are shortened.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.e2e import claude_code, codex, opencode
from tests.e2e.__main__ import ROOT
from tests.e2e.claude_code import ClaudeCode
from tests.e2e.clients import cache_folder, listed
from tests.e2e.codex import Codex
from tests.e2e.cycle import tool
from tests.e2e.isolated import given_programs, run_isolated
from tests.e2e.model.script import Turn
from tests.e2e.model.server import Model
from tests.e2e.opencode import OpenCode
from tests.e2e.running import Running
from tests.e2e.scratch import PROGRAM, Scratch

BEGIN, END = "<!-- capture: make captures -->", "<!-- /capture -->"
_BLOCK = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}", re.DOTALL)
_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_BOUND_S = 240
PLAN, RUN = "[plan] Links must survive a restart", "[run]"
_TOPIC, _QUESTION = "Links survive a restart", "Where are links stored?"
_DONE = "Links survive a restart now. The cycle is closed and in .nexus/history.json."
Client = ClaudeCode | Codex | OpenCode


class Harness(NamedTuple):
    """One client: how it is made, the command for a message, and the turn in which the model edits a file.

    `before` is done by the user in a window of the client after the installation; `note` describes it. `first` are the
    turns before the others; `last` those of a client in which no hook requests task_close, because it ends at once.
    """

    make: Callable[[Path, Scratch, Model], Client]
    plan: Sequence[str]
    run: Sequence[str]
    edit: Turn
    before: Callable[[Client], object] = lambda _client: None
    note: str = ""
    first: Sequence[Turn] = ()
    last: Sequence[Turn] = ()


_PATCH = "*** Begin Patch\n*** Add File: store.py\n+import sqlite3\n*** End Patch"
_REASON = re.compile(r"[^\n<>]*Call task_close[^\n<>]*")
_ALLOWED = ("--allowedTools", "mcp__nexus,Skill,Write")
_UNASKED = "--dangerously-bypass-approvals-and-sandbox"
HARNESSES = {
    claude_code.ID: Harness(
        ClaudeCode,
        ("claude", "-p", PLAN, *_ALLOWED),
        ("claude", "-p", "--continue", RUN, *_ALLOWED),
        tool("Write", file_path="{root}/store.py", content="import sqlite3\n"),
    ),
    codex.ID: Harness(
        partial(Codex, name=codex.BUNDLED),
        ("codex", "exec", _UNASKED, PLAN),
        ("codex", "exec", _UNASKED, "resume", "--last", RUN),
        {"custom": "apply_patch", "input": _PATCH},
        lambda client: client.trust() if isinstance(client, Codex) else None,
        "# In codex: type /hooks, and trust the hooks of nexus-mcp.",
        ({"tool_search": {"query": "nexus plan and tasks", "limit": 20}},),
    ),
    opencode.ID: Harness(
        OpenCode,
        ("opencode", "run", PLAN),
        ("opencode", "run", "--continue", RUN),
        tool("write", filePath="{root}/store.py", content="import sqlite3\n"),
        last=(tool("task_close"),),
    ),
}


def page_of(client: str) -> Path:
    """Return the page with the capture of a client."""
    return ROOT / "docs" / f"{client}.md"


def with_capture(text: str, block: str) -> str:
    """Return the text of a page with a new capture between its markers. Raise ValueError if it has no markers."""
    found, count = _BLOCK.subn(lambda _: f"{BEGIN}\n{block}\n{END}", text)
    if count != 1:
        raise ValueError(f"the page has {count} captures; it needs one, between {BEGIN} and {END}")
    return found


def capture(client: str, program: Path, folder: Path) -> str:
    """Return the block of one client: the typed commands, with their output."""
    row, scratch = HARNESSES[client], Scratch(folder)
    with Model() as model:
        harness = row.make(program, scratch, model)
        _write_script(model, row, scratch)
        recorder = _Recorder(harness, program)
        recorder.type("nexus-mcp", "install", client)
        row.before(harness)
        recorder.lines += ["", row.note] if row.note else []
        recorder.type(*row.plan)
        recorder.lines.append(f"# The hook added to the message: {_added(model)}")
        recorder.lines.append(f"# The model called: {_called(model, 0)}")
        begun = len(model.requests)
        recorder.type(*row.run)
        recorder.lines.append(f"# The model called: {_called(model, begun)}")
        recorder.lines += [f"# The hook at the end of the turn: {reason}" for reason in _reasons(model, begun)]
        recorder.type("nexus-mcp", "uninstall", client)
        recorder.type("git", "status", "--short", "--untracked-files=all")
        recorder.type("cat", ".nexus/history.json")
        assert model.faults == [], model.faults
    return recorder.block(f"{listed()[client].title} {listed()[client].version}")


def _write_script(model: Model, row: Harness, scratch: Scratch) -> None:
    edit = json.loads(json.dumps(row.edit).replace("{root}", str(scratch.root)))
    model.script.on("Stop hook|call task_close|Call task_close", tool("task_close"), {"text": _DONE})
    model.script.on(
        re.escape(PLAN),
        *row.first,
        tool("plan_start", topic=_TOPIC, issues=[_QUESTION], research_summary="A dict in app.py."),
        tool("plan_decide", issue_id=1, decision="In SQLite, one table."),
        tool("task_add", title="Write the store", context="store.py, SQLite.", plan_issue=1),
        {"text": "Planned: one decision (SQLite, one table), one task. Type [run] to carry it out."},
    )
    model.script.on(
        re.escape(RUN),
        tool("task_update", id=1, status="in_progress"),
        edit,
        tool("task_update", id=1, status="completed"),
        *row.last,
        {"text": "The store is written."},
    )


def _added(model: Model) -> str:
    """Return the sentence of the hook about the skill, as it is in the first request with the message."""
    found = re.search(r"Start the skill [^\n<]+", model.with_tools()[0].text)
    assert found is not None, model.with_tools()[0].text[-2000:]
    return found[0].strip()


def _called(model: Model, begun: int) -> str:
    """Return the names of the tools that the model called in the requests from the number `begun` on."""
    turns = [request.turn for request in model.requests[begun:]]
    return ", ".join(str(turn.get("tool") or turn["custom"]) for turn in turns if "tool" in turn or "custom" in turn)


def _reasons(model: Model, begun: int) -> list[str]:
    """Return the reasons with which the hook refused the end of a turn, each once."""
    texts = [text for request in model.requests[begun:] for text in request.conversation.users()]
    return list(dict.fromkeys(found.strip() for text in texts for found in _REASON.findall(text)))


class _Recorder:
    """The commands of a user in the project, and their output."""

    def __init__(self, client: Client, program: Path) -> None:
        self._client = client
        self._program = program
        self.lines: list[str] = []

    def type(self, *words: str) -> None:
        """Run a command to its end. Raise AssertionError if it fails."""
        names = {"nexus-mcp": str(PROGRAM), self._program.name: str(self._program)}
        names |= {"claude": str(self._program)}
        env = self._client.env
        env["PATH"] = os.pathsep.join((str(self._program.parent), env["PATH"]))
        command = [names.get(words[0], words[0]), *words[1:]]
        done = Running(command, env, self._client.scratch.root).wait(_BOUND_S)
        assert done.code == 0, f"{words}: {done.code}\n{done.out[-3000:]}\n{done.err[-3000:]}"
        self.lines += ["", f"$ {shown(words)}", *self._plain(done.err), *self._plain(done.out)]

    def _plain(self, text: str) -> list[str]:
        """Return the lines without colours, and with the paths of a user."""
        scratch = self._client.scratch
        for path, instead in ((scratch.root, "~/my-project"), (scratch.home, "~"), (PROGRAM, "~/bin/nexus-mcp")):
            text = text.replace(str(path), instead)
        return [line.rstrip() for line in _STYLE.sub("", text).splitlines()]

    def block(self, title: str) -> str:
        """Return the commands and their output as a block of text."""
        lines = [f"# {title}, with a scripted model"]
        for line in self.lines:
            if line or lines[-1]:
                lines.append(line)
        return "\n".join(["```text", *lines, "```"])


def shown(words: Sequence[str]) -> str:
    """Return a command as a user types it."""
    return " ".join(shlex.quote(word) if set(word) & set(" '\"[]") else word for word in words)


def main(names: list[str]) -> int:
    """Write the captures of the named clients, by default of all."""
    programs = given_programs()
    for client, program in programs.items():
        with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
            block = capture(client, program, Path(folder))
        page = page_of(client)
        page.write_text(with_capture(page.read_text(encoding="utf-8"), block), encoding="utf-8")
        print(f"{page.relative_to(ROOT)} has a new capture.")
    return 0 if programs else run_isolated("tests.e2e.capture", names, HARNESSES)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
