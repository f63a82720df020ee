"""Run hooks as processes, as a harness does, and read their log of failures."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from tests.cli.support import CHECKOUT, COMMAND, LIMIT, Ran, environment
from tests.support import Project

LOG = ".nexus/state/nexus-mcp/hook-errors.jsonl"
ANSWERED = Draft202012Validator(json.loads((CHECKOUT / "schemas/lifecycle/answer.schema.json").read_text()))
LINE = Draft202012Validator(json.loads((CHECKOUT / "schemas/lifecycle/hook-error.schema.json").read_text()))


def hook(event: str, root: Path, stdin: bytes, *options: str) -> Ran:
    """Run the hook of an event in a project, with the payload unchanged."""
    done = subprocess.run(
        [*COMMAND, "hook", event, *options],
        cwd=root,
        env=environment(),
        input=stdin,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def answer_of(ran: Ran) -> dict[str, Any]:
    """Return the answer of a hook that exited with 0, printed nothing else, and kept the schema."""
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith("\n")
    assert ran.out.count("\n") == 1
    answer: dict[str, Any] = json.loads(ran.out)
    ANSWERED.validate(answer)
    return answer


def logged(project: Project, path: str = LOG) -> list[dict[str, str]]:
    """The lines of the log of failed hooks, each of which keeps its schema."""
    lines = [json.loads(line) for line in (project.root / path).read_text(encoding="utf-8").splitlines()]
    for line in lines:
        LINE.validate(line)
    return lines


def not_dealt_with(event: str, fault: str) -> dict[str, Any]:
    warning = f"The event {event} could not be handled: {fault}"
    return {"event": event, "harness_id": "nexus-mcp", "decision": "continue", "warnings": [warning]}
