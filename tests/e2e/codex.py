"""Codex in a scratch home, with the scripted model.

A session is a thread of `codex app-server`, the program behind the windows of Codex; `exec()` runs `codex exec`. Both
read the same configuration, and run only hooks that the user trusts: trust() does what /hooks does.
"""

from __future__ import annotations

import json
import queue
import shlex
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.e2e.model.server import Model
from tests.e2e.running import Done, Running
from tests.e2e.scratch import PROGRAM, Scratch

ID = "codex"
Message = dict[str, Any]
DIRECT = "gpt-5-codex"
"""A model that this version does not know: it gets the tools of a server directly."""
BUNDLED = "gpt-5.5"
"""A model that Codex knows: it finds the tools of a server by a search."""
CODE = "gpt-6-sol"
"""Another model that Codex knows: it writes code that calls the tools, with `exec`, and has agents of version 2."""
_KEY = "FAKE_KEY"
_CONFIG = """\
# The user's own configuration.
model = "{model}"
model_provider = "scripted"

[model_providers.scripted]
name = "Scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "{key}"
supports_websockets = false   # loopback

[projects.{root}]
trust_level = "trusted"
"""
_EXEC = ("exec", "--json", "--dangerously-bypass-approvals-and-sandbox")
# This script stores the input and the output of a hook, and passes both on.
_WRAPPER = """\
#!/bin/sh
[ "$1" = hook ] || exec {program} "$@"
kept=$(mktemp {folder}/XXXXXXXX)
tee "$kept.in" | {program} "$@" | tee "$kept.out"
mv "$kept" "$kept.end"
"""
_TURN_S = 120
_END_S = 60


class Codex:
    """The client; the user trusts the project."""

    def __init__(self, program: Path, scratch: Scratch, model: Model, name: str = DIRECT) -> None:
        self.program = program
        self.scratch = scratch
        self.model = model
        self.folder = scratch.home / ".codex"
        self.folder.mkdir()
        self.config = self.folder / "config.toml"
        root = json.dumps(str(scratch.root))
        self.config.write_text(_CONFIG.format(model=name, url=model.url, key=_KEY, root=root))
        self._answers = scratch.home / "answers"
        self._command: tuple[str, ...] = ()

    @property
    def env(self) -> dict[str, str]:
        return {**self.scratch.env, "CODEX_HOME": str(self.folder), _KEY: "dummy"}

    def install(self, *words: str) -> str:
        """Install nexus-mcp with its own command."""
        return self.scratch.nexus("install", ID, *self._command, *words, env=self.env)

    def install_watched(self, *words: str) -> str:
        """Install nexus-mcp through a script of the user, which stores the input and output of the hooks."""
        self._answers.mkdir()
        wrapper = self.scratch.home / "nexus-mcp-watched"
        text = _WRAPPER.format(program=shlex.quote(str(PROGRAM)), folder=shlex.quote(str(self._answers)))
        wrapper.write_text(text)
        wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
        self._command = ("--command", str(wrapper))
        return self.install(*words)

    def uninstall(self, *words: str) -> str:
        """Uninstall nexus-mcp."""
        return self.scratch.nexus("uninstall", ID, *words, env=self.env)

    def listed(self) -> str:
        """Return the output of `install --list`."""
        path = f"{self.program.parent}:{self.env['PATH']}"
        return self.scratch.nexus("install", "--list", env={**self.env, "PATH": path})

    def answers(self) -> list[tuple[Message, Message]]:
        """Return (payload, answer) of each hook that ended; {} if nothing was printed."""
        found = []
        for end in self._answers.glob("*.end"):
            payload, answer = (end.with_suffix(ending).read_text(encoding="utf-8") for ending in (".in", ".out"))
            found.append((json.loads(payload), json.loads(answer or "{}")))
        return found

    def trust(self) -> list[Message]:
        """Trust each hook of the project, as /hooks does, and return how Codex lists them before."""
        with self.session() as session:
            listed = session.hooks()
            state = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in listed}
            edit = {"keyPath": "hooks.state", "mergeStrategy": "upsert", "value": state}
            session.request("config/batchWrite", edits=[edit], reloadUserConfig=True)
        return listed

    def exec(self, prompt: str, *words: str) -> Running:
        """Start `codex exec` with more options."""
        return Running([self.program, *_EXEC, *words, prompt], self.env, self.scratch.root)

    def run(self, prompt: str, *words: str) -> Done:
        """Run `codex exec` to its end. Raise AssertionError if it fails."""
        done = self.exec(prompt, *words).wait(_TURN_S)
        assert done.code == 0, done.out[-2000:] + done.err[-2000:]
        return done

    def session(self) -> Session:
        """Start the server of sessions in the project."""
        return Session(Running([self.program, "app-server"], self.env, self.scratch.root, is_spoken_to=True))


class Session:
    """The server of sessions while it is entered, and its only thread from the first message on."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.events: list[Message] = []
        self.is_over = False
        self._thread_id = ""
        self._number = 0
        self._answered: dict[int, Message] = {}
        self._lines: queue.Queue[str] = queue.Queue()
        self._err: list[str] = []
        self._readers = [threading.Thread(target=one, daemon=True) for one in (self._read_out, self._read_err)]
        for reader in self._readers:
            reader.start()

    def _read_out(self) -> None:
        assert self.running.process.stdout is not None
        for line in self.running.process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def _read_err(self) -> None:
        assert self.running.process.stderr is not None
        self._err += self.running.process.stderr

    def __enter__(self) -> Self:
        client = {"name": "nexus-mcp-tests", "title": "Tests", "version": "1"}
        self.request("initialize", clientInfo=client)
        self._say({"method": "initialized"})
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
            for reader in self._readers:
                reader.join()
            for stream in (self.running.process.stdin, self.running.process.stdout, self.running.process.stderr):
                assert stream is not None
                stream.close()

    def request(self, method: str, **params: Any) -> Message:
        """Return the result of a request. Raise AssertionError after an error, or if there is none in time."""
        self._number += 1
        number = self._number
        self._say({"id": number, "method": method, "params": params})
        self._until(lambda: number in self._answered)
        answer = self._answered.pop(number)
        assert "result" in answer, f"{method}: {answer}"
        result: Message = answer["result"]
        return result

    def hooks(self) -> list[Message]:
        """Return the hooks that Codex has found for the project."""
        (entry,) = self.request("hooks/list", cwds=[])["data"]
        assert entry["errors"] == []
        hooks: list[Message] = entry["hooks"]
        return hooks

    def send(self, prompt: str) -> None:
        """Send a message of the user, and wait for nothing but its start."""
        if not self._thread_id:
            started = self.request("thread/start", approvalPolicy="never", sandbox="danger-full-access")
            self._thread_id = started["thread"]["id"]
        self.request("turn/start", threadId=self._thread_id, input=[{"type": "text", "text": prompt}])

    def ask(self, prompt: str) -> str:
        """Send a message of the user, and return the last text of the turn."""
        ended = self._ended_turns()
        self.send(prompt)
        self._until(lambda: self._ended_turns() > ended)
        return self._texts()[-1]

    def compact(self) -> None:
        """Shorten the conversation, as /compact does."""
        ended = self._ended_turns()
        self.request("thread/compact/start", threadId=self._thread_id)
        self._until(lambda: self._ended_turns() > ended)

    def hook_runs(self) -> list[Message]:
        """Return how each hook ended, as Codex reports it: status, and entries with kind and text."""
        return [event["params"]["run"] for event in self.events if event["method"] == "hook/completed"]

    def _ended_turns(self) -> int:
        ends = [event for event in self.events if event["method"] == "turn/completed"]
        return len([end for end in ends if end["params"]["threadId"] == self._thread_id])

    def _texts(self) -> list[str]:
        done = [event["params"] for event in self.events if event["method"] == "item/completed"]
        own = [params["item"] for params in done if params["threadId"] == self._thread_id]
        return [item["text"] for item in own if item["type"] == "agentMessage"]

    def _say(self, message: Message) -> None:
        self.running.say(json.dumps(message))

    def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            try:
                line = self._lines.get(timeout=_TURN_S)
            except queue.Empty:
                raise AssertionError(f"nothing within {_TURN_S} s after {self.events[-3:]}") from None
            assert line, f"the client ended: {''.join(self._err)[-2000:]}"
            message: Message = json.loads(line)
            if "method" not in message:
                self._answered[message["id"]] = message
                continue
            assert "id" not in message, f"the client asks: {message}"
            self.events.append(message)

    def close(self) -> None:
        """End the session as a window does, and wait for the end of the client."""
        assert self.running.process.stdin is not None
        self.running.process.stdin.close()
        code = self.running.process.wait(_END_S)
        assert code == 0, f"the client ended with {code}: {''.join(self._err)[-2000:]}"
