"""The parts that all tests of Codex use: a client after its session, and turns that edit files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jsonschema

from tests.e2e.codex import ID, Codex, Session
from tests.e2e.model.conversation import Conversation
from tests.e2e.model.script import Turn
from tests.e2e.model.server import Request
from tests.harness.codex_schemas import schema_of_answer

TRACKER = f"state/{ID}/agent-tracker.json"
Make = Callable[[str], Codex]


@dataclass
class Run:
    """A client after its session, and the data recorded on the way."""

    codex: Codex
    session: Session | None = None
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def requests(self) -> list[Request]:
        return self.codex.model.with_tools()

    def last(self, pattern: str) -> Conversation:
        """Return the last request of a conversation whose user wrote the pattern: it has the whole conversation."""
        found = re.compile(pattern)
        return next(r.conversation for r in reversed(self.requests) if r.conversation.last_matching(found) >= 0)

    def hook_runs(self, event: str = "") -> list[dict[str, Any]]:
        assert self.session is not None
        return [run for run in self.session.hook_runs() if event in ("", run["eventName"])]

    def contexts(self, event: str = "") -> list[str]:
        """Return each context that Codex took from a hook."""
        entries = [entry for run in self.hook_runs(event) for entry in run["entries"]]
        return [entry["text"] for entry in entries if entry["kind"] == "context"]

    def check_answers(self) -> set[str]:
        """Return the events of the hooks. Raise if Codex refused an answer, or if one is not valid by its schemas."""
        assert [run for run in self.hook_runs() if run["status"] not in ("completed", "blocked")] == []
        entries = [entry for run in self.hook_runs() for entry in run["entries"]]
        assert [entry for entry in entries if entry["kind"] in ("error", "warning")] == []
        answers = self.codex.answers()
        for payload, answer in answers:
            schema = schema_of_answer(payload["hook_event_name"])
            if schema is None:
                assert answer == {}
            else:
                jsonschema.validate(answer, schema)
        return {payload["hook_event_name"] for payload, _ in answers}


def patch(name: str) -> str:
    return f"*** Begin Patch\n*** Add File: {name}\n+x\n*** End Patch"


def code(expression: str) -> Turn:
    """Return a turn that runs code, which calls tools. The text is the value, or the exception."""
    text = f"try {{ text({expression}) }} catch (error) {{ text('THROWN ' + error) }}"
    return {"custom": "exec", "ns": "functions", "input": text}


def patch_in_code(name: str) -> Turn:
    return code(f"await tools.apply_patch({json.dumps(patch(name))})")


def gated(codex: Codex, gate: str, turn: Turn) -> Callable[[Conversation], Turn]:
    """Return a turn before which the project sets its edit gate."""

    def step(_conversation: Conversation) -> Turn:
        codex.scratch.write(".nexus/config.yml", f"gates:\n  edit: {gate}\n")
        return turn

    return step
