"""Start a mapped server in a project of its own, call it, kill it; every exchange is written down as evidence."""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.client import ROOT, Connection, NotMeasurable
from benchmarks.compared.maps import ServerMap, Step, load
from benchmarks.compared.translate import Answer, Json, Outcome, call, filled
from benchmarks.peers.packages import PACKAGES, find, installed
from benchmarks.peers.servers import script
from nexus_mcp import __version__

SHOWN = 600
"""The maximum number of characters of an answer in the evidence."""
_COMMAND_S = 600


class Ended(Exception):
    """The server ended instead of answering; the text is the last line of its stderr."""


class Peer:
    """A server that can be started: its map, and the files of its package. Raise NotMeasurable."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.map: ServerMap = load(name)
        self.version = __version__
        self._words = {"us": script()[0]}
        if self.map.package is not None:
            package = PACKAGES[self.map.package]
            program = installed(package)
            self.version = package.version
            folder = ROOT / ".cache" / package.folder / "node_modules" / package.name
            self._words = {"node": find("node"), "program": str(program), "package": str(folder)}

    def command(self, words: list[str]) -> list[str]:
        """Return the words of a command, with the paths of this machine in place of {program} and others."""
        return [filled(word, self._words) for word in words]

    def prepare(self, workspace: str, template: str = "") -> str:
        """Make the server's project below a folder, or copy one, and return its path. Raise NotMeasurable."""
        project = os.path.realpath(os.path.join(workspace, self.map.project))
        if template:
            shutil.copytree(template, project, symlinks=True, dirs_exist_ok=True)
            return project
        os.makedirs(project, exist_ok=True)
        for words in self.map.setup:
            done = self.run(words, project)
            if done.returncode:
                raise NotMeasurable(f"{self.map.title}: {words} failed: {done.stderr.strip()[-300:]}")
        return project

    def environment(self, project: str) -> dict[str, str]:
        """Return the variables of the server; its home folder is in the project."""
        values = {"project": project}
        own = {name: filled(value, values) for name, value in self.map.environment.items()}
        return {"NEXUS_PROJECT_ROOT": project, **own}

    def run(self, words: list[str], project: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the server's package in its project."""
        return subprocess.run(
            self.command(words),
            cwd=project,
            env={**os.environ, **self.environment(project)},
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_COMMAND_S,
        )

    def start(self, project: str) -> Session:
        """Start the server in its project."""
        return Session(self, project)


class Session:
    """A running server. `evidence` has every exchange; `tools` are the tools that it lists."""

    def __init__(self, peer: Peer, project: str, evidence: list[Json] | None = None) -> None:
        self.peer = peer
        self.project = project
        self.evidence: list[Json] = [] if evidence is None else evidence
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        command = peer.command(peer.map.start)
        self.connection = Connection(command, project, peer.environment(project), self._errors.fileno())
        self.connection.small = sys.maxsize  # a log notification of a server may be large
        try:
            self.introduced = self.connection.introduce()
            self.tools: list[Json] = json.loads(self.connection.ask("tools/list", {})[1])["result"]["tools"]
        except (NotMeasurable, ValueError, KeyError) as error:
            words = self.last_words()
            self.kill()
            raise NotMeasurable(f"{peer.map.title} did not start: {words or error}") from error

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *how: Any) -> None:
        self.connection.__exit__(*how)
        self._errors.close()

    def call(self, tool: str, **params: Any) -> Outcome:
        """Call a tool of the contract through the map. Raise NoTool, Ended."""
        return call(self.peer.map, tool, params, self.ask, self.project)

    def ask(self, tool: str, arguments: Json) -> Answer:
        """Call a tool of the server by its own name. Raise Ended when the server ends or prints no JSON."""
        sent = {"tool": tool, "arguments": arguments}
        try:
            _, line = self.connection.ask("tools/call", {"name": tool, "arguments": arguments})
            answer = read_answer(json.loads(line))
        except (NotMeasurable, ValueError) as error:
            reason = self.last_words() or " ".join(str(error).split()[-6:])
            self.note(sent, f"the server ended without an answer: {reason}")
            raise Ended(reason) from error
        self.note(sent, answer.text, is_error=answer.is_error)
        return answer

    def note(self, sent: Any, seen: str, *, is_error: bool = False) -> None:
        """Write down an exchange, without the paths of this machine."""
        one: Json = {"sent": plain(sent, self.project), "seen": plain(seen[:SHOWN], self.project)}
        self.evidence.append({**one, "error": True} if is_error else one)

    def restart(self) -> Session:
        """End the server as a client does, and return a new session with the same evidence."""
        self.__exit__(None, None, None)
        self.evidence.append({"sent": "restart", "seen": ""})
        return Session(self.peer, self.project, self.evidence)

    def kill(self) -> None:
        """Kill the process, wait for its end, and close its pipes."""
        child = self.connection.child
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout, self._errors):
            if pipe is not None:
                pipe.close()

    def last_words(self) -> str:
        """Return the last line on stderr that has a letter; "" without one."""
        self.connection.child.kill()
        self.connection.child.wait()
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors.read().decode(errors="replace").splitlines()]
        named = [line for line in lines if re.search("[a-z]", line)]
        return re.sub(r"\x1b\[[0-9;]*m", "", named[-1])[:200] if named else ""


def read_answer(message: Json) -> Answer:
    """Return the answer in a response: an error of the protocol, or the result of a tool."""
    if "result" not in message:
        return Answer(str(message.get("error", {}).get("message", "")), None, is_error=True)
    result = message["result"]
    text = "\n".join(block.get("text", "") for block in result.get("content", ()) if isinstance(block, dict))
    value = result.get("structuredContent")
    if value is None:
        try:
            value = json.loads(text)
        except ValueError:
            value = None
    return Answer(text, value, bool(result.get("isError")))


def plain(value: Any, project: str) -> Any:
    """Return a value with PROJECT in place of the path of the project."""
    text = json.dumps(value, ensure_ascii=False)
    for path in dict.fromkeys((project, os.path.realpath(project))):
        text = text.replace(json.dumps(path, ensure_ascii=False)[1:-1], "PROJECT")
    return json.loads(text)


def take(step: Step, session: Session) -> tuple[Session, str]:
    """Take one step of a probe. Return the session for the next step, and the difference from what the step expects.

    The difference is "" if there is none.

    A server that ended is started again for the next step.
    """
    if step.restart:
        return session.restart(), ""
    if step.no_tool is not None or step.has_tool is not None:
        return session, _look_at_tools(step, session)
    if step.tool is not None:
        arguments = filled(step.arguments, {"project": session.project})
        try:
            seen = session.ask(step.tool, arguments).text
        except Ended as ended:
            session.kill()
            after = Session(session.peer, session.project, session.evidence)
            return after, "" if step.ends else f"{step.tool} ended the server: {ended}"
        if step.ends:
            return session, f"{step.tool} answered"
        what = step.tool
    elif step.command is not None:
        done = session.peer.run(step.command, session.project)
        seen, what = done.stdout + done.stderr, " ".join(step.command[1:])
        session.note({"command": what}, _around(step.seen, seen))
    else:
        pattern = str(step.file)
        paths = sorted(glob.glob(filled(pattern, {"project": session.project}), root_dir=session.project))
        seen = "\n".join(Path(session.project, path).read_text(encoding="utf-8") for path in paths)
        what = pattern
        session.note({"file": pattern}, _around(step.seen, seen) if paths else "no such file")
    if step.seen is not None and not re.search(step.seen, seen):
        return session, f"{what}: not seen: {step.seen}"
    return session, ""


def _look_at_tools(step: Step, session: Session) -> str:
    pattern = step.no_tool or step.has_tool or ""
    found = [tool["name"] for tool in session.tools if re.search(pattern, tool["name"])]
    session.note({"tools that match": pattern}, ", ".join(found) or "none")
    if step.no_tool is not None:
        return f"it has the tools {', '.join(found)}" if found else ""
    return "" if found else f"it has no tool {pattern}"


def _around(pattern: str | None, text: str) -> str:
    """Return the lines of a text that a pattern matches, or its beginning."""
    match = re.search(pattern, text) if pattern else None
    if match is None:
        return text[:SHOWN]
    begin = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    return text[begin : end if end >= 0 else len(text)]


def take_all(steps: list[Step], session: Session) -> tuple[Session, list[str]]:
    """Take steps in order. Return the last session, and each difference from what a step expects."""
    faults: list[str] = []
    for step in steps:
        session, fault = take(step, session)
        if fault:
            faults.append(fault)
    return session, faults
