"""Claude Code in a scratch home, with the scripted model."""

from __future__ import annotations

import json
import os
import queue
import shlex
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.e2e.model.server import Model
from tests.e2e.running import Running
from tests.e2e.scratch import Scratch

ID = "claude-code"
_QUIET = {
    "IS_SANDBOX": "1",
    "ANTHROPIC_API_KEY": "dummy",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "1",
    "ENABLE_TOOL_SEARCH": "0",  # otherwise the model must search for a tool before it can call it
}
_OPTIONS = (
    *("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
    *("--permission-mode", "bypassPermissions", "--model", "claude-sonnet-4-5"),
)
_PAYLOADS = "payloads.jsonl"
_TURN_S = 60
_END_S = 30


class ClaudeCode:
    """The client; the user has approved the servers of the project."""

    def __init__(self, program: Path, scratch: Scratch, model: Model) -> None:
        self.program = program
        self.scratch = scratch
        self.model = model
        self.folder = scratch.home / ".claude"
        self.folder.mkdir()
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        mine = {"hasCompletedOnboarding": True, "projects": {str(scratch.root): trusted}}
        (self.folder / ".claude.json").write_text(json.dumps(mine))
        settings = {"enableAllProjectMcpServers": True}
        (self.folder / "settings.json").write_text(json.dumps(settings))

    @property
    def env(self) -> dict[str, str]:
        own = {"ANTHROPIC_BASE_URL": self.model.url, "CLAUDE_CONFIG_DIR": str(self.folder)}
        path = os.pathsep.join((str(self.program.parent), self.scratch.env["PATH"]))
        return {**self.scratch.env, **_QUIET, **own, "PATH": path}

    def install(self, *words: str) -> str:
        """Install nexus-mcp with its own command."""
        return self.scratch.nexus("install", ID, *words, env=self.env)

    def uninstall(self, *words: str) -> str:
        """Uninstall nexus-mcp."""
        return self.scratch.nexus("uninstall", ID, *words, env=self.env)

    def keep_payloads(self, *events: str) -> None:
        """Install a hook of the user, which stores the payloads of these events of the client."""
        line = f"(cat; echo) >> {shlex.quote(str(self.scratch.home / _PAYLOADS))}"
        settings = self.folder / "settings.json"
        self._settings = settings.read_bytes()
        value = json.loads(self._settings)
        for event in events:
            value["hooks"].setdefault(event, []).append({"hooks": [{"type": "command", "command": line}]})
        settings.write_text(json.dumps(value))

    def drop_payload_hooks(self) -> None:
        """Remove these hooks."""
        (self.folder / "settings.json").write_bytes(self._settings)

    def payloads(self) -> list[dict[str, Any]]:
        """Return the stored payloads."""
        lines = (self.scratch.home / _PAYLOADS).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line]

    def session(self, *words: str, folder: Path | None = None) -> Session:
        """Start the client, with more options, in the project or in another folder."""
        command = [str(self.program), *_OPTIONS, *words]
        return Session(Running(command, self.env, folder or self.scratch.root, is_spoken_to=True))


class Session:
    """A session of the client while it is entered; the end of the block is the end of the session."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.events: list[dict[str, Any]] = []
        self.is_over = False
        self._lines: queue.Queue[str] = queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.running.process.stdout is not None
        for line in self.running.process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None and not self.is_over:
                self.close()
        finally:
            self.running.kill()
            self.running.process.wait()
            self._thread.join()
            for stream in (self.running.process.stdin, self.running.process.stdout, self.running.process.stderr):
                assert stream is not None
                stream.close()

    @property
    def id(self) -> str:
        """The session id of the client."""
        return str(self.events[0]["session_id"])

    def send(self, prompt: str) -> None:
        """Send a message of the user, and wait for nothing."""
        self.running.say(json.dumps({"type": "user", "message": {"role": "user", "content": prompt}}))

    def ask(self, prompt: str, answer: str = "") -> str:
        """Send a message of the user, and return the result of the turn; with `answer`, of the turn that has it.

        Raise AssertionError if there is no result in time. The report of an agent has a turn of its own.
        """
        self.send(prompt)
        while True:
            event = self._next()
            if event["type"] == "result" and answer in ("", event.get("result")):
                return str(event.get("result", ""))

    def wait_for_agents(self, count: int) -> None:
        """Wait until `count` agents have ended since the start. The turns about them may still run."""
        while len([event for event in self.events if event.get("subtype") == "task_notification"]) < count:
            self._next()

    def _next(self) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=_TURN_S)
        except queue.Empty:
            last = [(event["type"], event.get("subtype"), event.get("result")) for event in self.events[-3:]]
            raise AssertionError(f"no event within {_TURN_S} s after {last}") from None
        assert line, f"the client ended: {self._err()}"
        event: dict[str, Any] = json.loads(line)
        self.events.append(event)
        return event

    def _err(self) -> str:
        assert self.running.process.stderr is not None
        return self.running.process.stderr.read()[-2000:]

    def close(self) -> None:
        """End the session as the user does, and wait for the end of the client."""
        assert self.running.process.stdin is not None
        self.running.process.stdin.close()
        code = self.running.process.wait(_END_S)
        assert code == 0, f"the client ended with {code}: {self._err()}"
