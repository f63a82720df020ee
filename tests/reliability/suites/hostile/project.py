"""A project with restricted agents, its events, and the facts that hold whatever hostile file it has."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.reliability.suite import Tally
from tests.reliability.suites.hostile.measured import Ran, run

HOOK_S, SERVER_S = 1.0, 2.0
"""Seconds of processor time for one hook, and for a server with all its calls."""
OWN = (
    "id: gardener\nname: Gardener\ndescription: Prunes.\ncategory: do\nresume_tier: bounded\nmodel_tier: standard\n"
    "capabilities: [no_file_edit]\n"
)
SKILL = "id: prune\nname: Prune\ndescription: How to prune.\nmanual_only: false\nharness_notes: []\n"
_FILES = {
    "agents/gardener/meta.yml": OWN,
    "agents/gardener/body.md": "Prune.\n",
    "skills/prune/meta.yml": SKILL,
    "skills/prune/body.md": "Prune by {{agent:gardener}}.\n",
    "memory/old.md": "<!-- tags: a -->\n\nOld.\n",
    "state/tasks.json": '{"goal":"","decisions":[],"tasks":[]}',
}
_REQUESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tools/list", {}),
    ("resources/list", {}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "m", "arguments": {"name": "gc"}}),
    ("resources/read", {"uri": "nexus://knowledge"}),
    ("tools/call", {"name": "context", "arguments": {}}),
    ("tools/call", {"name": "task_list", "arguments": {}}),
    ("tools/call", {"name": "plan_status", "arguments": {}}),
    ("tools/call", {"name": "history_search", "arguments": {"query": "a"}}),
)
_OPENING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}


class Ground:
    """A project in an empty folder, made anew for each hostile file."""

    def __init__(self, folder: Path, tally: Tally) -> None:
        self._folder = folder
        self._tally = tally
        self.root = folder / "project"
        self.nexus = self.root / ".nexus"
        self.told = ""

    def lay(self, told: str) -> None:
        """Make the project without the hostile file. `told` describes the file in failures."""
        self.told = told
        shutil.rmtree(self.root, ignore_errors=True)
        for path, text in _FILES.items():
            self.put(path, text)
        (self.root / ".git").mkdir()

    def put(self, path: str, text: str) -> None:
        file = self.nexus / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")

    def fail(self, problem: str) -> None:
        self._tally.failures.append(f"{self.told}: {problem}")

    @property
    def has_failed(self) -> bool:
        return bool(self._tally.failures)

    def is_denied(self, agent: str, tool_input: object = None, before: Callable[[], object] = bool) -> None:
        """Check that an agent that may not edit files is denied the tool Write with this input."""
        given = {"file_path": "src/a.py"} if tool_input is None else tool_input
        answer = self.hook("pre_tool_use", {"tool": "Write", "agent_name": agent, "tool_input": given}, before)
        if answer is not None and answer.get("decision") != "deny":
            self.fail(f"{agent} may use Write: {str(answer)[:300]}")

    def is_quick(self) -> None:
        """Check that the largest valid catalog is read completely, in half of the time that a hook has."""
        ran = self._hook("pre_tool_use", {"tool": "Bash", "agent_name": "gardener"})
        if ran is None:
            return
        self._tally.peak("s of processor time of a hook that reads the largest catalog", ran.cpu_s)
        if b'"warnings":[]' not in ran.out or ran.cpu_s > HOOK_S / 2:
            self.fail(f"the largest catalog takes {ran.cpu_s:.2f} s and is answered {ran.out[:600]!r}")

    def hook(self, event: str, params: object, before: Callable[[], object] = bool) -> dict[str, Any] | None:
        """Run the hook of an event; return its answer, or None after recording a failure."""
        ran = self._hook(event, params, before)
        if ran is None:
            return None
        try:
            answer: dict[str, Any] = json.loads(ran.out)
            assert ran.code == 0
            assert answer["event"] == event
        except (ValueError, KeyError, AssertionError):
            self.fail(f"{event} ends with {ran.code} and answers {ran.out[:300]!r}")
            return None
        return answer

    def _hook(self, event: str, params: object, before: Callable[[], object] = bool) -> Ran | None:
        data = params if isinstance(params, bytes) else json.dumps(params).encode()
        words = ["hook", event, "--project", str(self.root), "--harness-id", "claude-code"]
        ran = self._ran(event, run(words, data, self._folder, before), HOOK_S)
        if ran is not None:
            self._tally.counts["hooks"] += 1
            self._tally.peak("s of processor time of a hook", ran.cpu_s)
        return ran

    def serve(self) -> None:
        """Check that a server answers every call in time."""
        lines = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _OPENING}]
        lines += [{"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}}]
        lines += [{"jsonrpc": "2.0", "id": n, "method": m, "params": p} for n, (m, p) in enumerate(_REQUESTS, 1)]
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        ran = self._ran("serve", run(["serve", "--project", str(self.root)], data, self._folder), SERVER_S)
        if ran is None:
            return
        self._tally.counts["calls"] += len(_REQUESTS)
        self._tally.peak("s of processor time of a server", ran.cpu_s)
        answered = set(self._ids(ran.out))
        if answered != {*range(len(_REQUESTS) + 1)}:
            self.fail(f"a server ends with {ran.code} and answers {sorted(answered)} alone")

    def _ids(self, out: bytes) -> Iterator[int]:
        for line in out.splitlines():
            try:
                yield json.loads(line)["id"]
            except (ValueError, KeyError):
                self.fail(f"a server answers {line[:300]!r}")

    def _ran(self, what: str, ran: Ran | None, most_s: float) -> Ran | None:
        if ran is None:
            self.fail(f"{what} hung")
        elif ran.cpu_s > most_s:
            self.fail(f"{what} took {ran.cpu_s:.2f} s of processor time")
        return ran
