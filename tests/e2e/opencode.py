"""OpenCode in a scratch home, with the scripted model.

Most tests use the HTTP interface of `opencode serve`, which its terminal interface uses, too: one start serves many
messages, and each call returns at the end of the turn.
"""

from __future__ import annotations

import json
import queue
import re
import signal
import threading
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from tests.e2e.model.server import Model
from tests.e2e.running import Done, Running
from tests.e2e.scratch import Scratch

ID = "opencode"
SERVED_MODEL = {"providerID": "scripted", "modelID": "model"}
_QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    # With any plugin OpenCode first installs a package, and without a network it tries that for more than a minute.
    "npm_config_offline": "true",
}
_LISTENING = re.compile(r"listening on (http://\S+)")
_START_S = 120
_TURN_S = 120
_END_S = 30
Json = dict[str, Any]


class OpenCode:
    """The client; the user has chosen the scripted model."""

    def __init__(self, program: Path, scratch: Scratch, model: Model) -> None:
        self.program = program
        self.scratch = scratch
        self.model = model
        self.folder = scratch.home / "own config" / "opencode"
        self.folder.mkdir(parents=True)
        limit = {"context": 200_000, "output": 8_000}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Scripted",
            "options": {"baseURL": f"{model.url}/v1", "apiKey": "dummy"},
            "models": {"model": {"name": "Model", "limit": limit}},
        }
        config = {
            "$schema": "https://opencode.ai/config.json",
            "autoupdate": False,
            "share": "disabled",
            "snapshot": False,
            "model": "scripted/model",
            "small_model": "scripted/model",
            "enabled_providers": ["scripted"],
            "provider": {"scripted": provider},
            "agent": {"title": {"disable": True}},
        }
        text = json.dumps(config, indent=2)
        (self.folder / "opencode.jsonc").write_text(f"// The user's own.\n{text}\n", encoding="utf-8")

    @property
    def env(self) -> dict[str, str]:
        return {**self.scratch.env, **_QUIET, "XDG_CONFIG_HOME": str(self.folder.parent)}

    def install(self, *words: str) -> str:
        """Install nexus-mcp with its own command."""
        return self.scratch.nexus("install", ID, *words, env=self.env)

    def uninstall(self, *words: str) -> str:
        """Uninstall nexus-mcp."""
        return self.scratch.nexus("uninstall", ID, *words, env=self.env)

    def run(self, prompt: str, *words: str) -> Done:
        """Run one prompt with `opencode run`, as in a script, and return how it ended."""
        command: list[str | Path] = [self.program, "run", "--format", "json", *words, prompt]
        return Running(command, self.env, self.scratch.root).wait(_START_S + _TURN_S)

    def serve(self) -> Server:
        """Start the client as a server in the project."""
        command: list[str | Path] = [self.program, "serve", "--hostname", "127.0.0.1", "--port", "0", "--print-logs"]
        return Server(Running(command, self.env, self.scratch.root), self.scratch.root)


class Server:
    """A running client while it is entered; `close` ends it as Ctrl-C does."""

    def __init__(self, running: Running, root: Path) -> None:
        self.running = running
        self.root = root
        self.log: list[str] = []
        self.is_over = False
        self._lines: queue.Queue[str] = queue.Queue()
        process = running.process
        streams = (process.stdout, process.stderr)
        self._threads = [threading.Thread(target=self._read, args=(stream,), daemon=True) for stream in streams]
        for thread in self._threads:
            thread.start()

    def _read(self, stream: Any) -> None:
        for line in stream:
            self.log.append(line)
            self._lines.put(line)
        self._lines.put("")

    def __enter__(self) -> Self:
        try:
            while not (found := _LISTENING.search(line := self._lines.get(timeout=_START_S))):
                assert line, f"the client ended: {self.log[-5:]}"
        except BaseException:
            self._kill()
            raise
        self.url = found.group(1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None and not self.is_over:
                self.close()
        finally:
            self._kill()

    def _kill(self) -> None:
        process = self.running.process
        self.running.kill()
        process.wait()
        for thread in self._threads:
            thread.join()
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()

    def close(self) -> None:
        """End the client as the user does, and wait for its end."""
        self.is_over = True
        self.running.process.send_signal(signal.SIGTERM)
        self.running.process.wait(_END_S)

    def call(self, method: str, path: str, body: Json | None = None) -> Any:
        """Return the answer to a request; None for an empty one. Raise URLError if it is refused."""
        data = None if body is None else json.dumps(body).encode()
        folder = urllib.parse.quote(str(self.root))
        request = urllib.request.Request(
            f"{self.url}{path}?directory={folder}", data, {"content-type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=_TURN_S) as response:
            text = response.read()
        return json.loads(text) if text else None

    def session(self) -> Session:
        """Begin a session of the user."""
        return Session(self, self.call("POST", "/session", {})["id"])

    def children(self, *words: str) -> list[psutil.Process]:
        """Return the processes that this run started and whose command has these words."""
        return [one for one in self.running.left() if set(words) <= set(_words_of(one))]


class Session:
    """A session of the user."""

    def __init__(self, server: Server, id: str) -> None:
        self.server = server
        self.id = id

    def ask(self, prompt: str) -> str:
        """Send a message of the user, and return the last text of the turn."""
        body = {"parts": [{"type": "text", "text": prompt}]}
        return _text(self.server.call("POST", f"/session/{self.id}/message", body))

    def send(self, prompt: str) -> None:
        """Send a message of the user, and wait for nothing."""
        self.server.call("POST", f"/session/{self.id}/prompt_async", {"parts": [{"type": "text", "text": prompt}]})

    def command(self, name: str, words: str) -> str:
        """Type a command with its words, and return the last text of the turn."""
        body = {"command": name, "arguments": words}
        return _text(self.server.call("POST", f"/session/{self.id}/command", body))

    def compact(self) -> None:
        """Compact the session."""
        self.server.call("POST", f"/session/{self.id}/summarize", {**SERVED_MODEL, "auto": False})


def _text(message: Json) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


def _words_of(process: psutil.Process) -> Sequence[str]:
    try:
        return list(process.cmdline())
    except (psutil.Error, OSError):
        return []
