"""docs/lifecycle.md: its commands run in order, and its tables agree with the program."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

from nexus_mcp import schemas
from nexus_mcp.lifecycle import EVENTS
from nexus_mcp.lifecycle.definition import FIELDS
from tests.cli.support import CHECKOUT, environment
from tests.support import Project

PAGE = (CHECKOUT / "docs" / "lifecycle.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(sh|json|text)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_examples_answer_as_the_page_shows(project: Project, tmp_path: Path) -> None:
    """Each command prints the answer on the page; each answer keeps the schema."""
    program = tmp_path / "bin" / "nexus-mcp"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m nexus_mcp "$@"\n')
    program.chmod(0o755)
    project.put("memory/pattern-store.md", "<!-- tags: locks -->\n")
    path = {"PATH": f"{program.parent}:/usr/bin:/bin"}
    printed: list[str] = []
    for kind, text in BLOCKS:
        if kind == "sh":
            done = subprocess.run(
                ["sh", "-ec", text], cwd=project.root, env=environment(path), capture_output=True, text=True, check=True
            )
            assert done.stderr == ""
            printed += done.stdout.splitlines()
        elif kind == "json":
            expected = [json.loads(line) for line in text.splitlines()]
            assert [json.loads(line) for line in printed] == expected
            answered = schemas.load("lifecycle/answer")
            assert [fault for answer in expected for fault in schemas.faults(answered, answer)] == []
            printed = []
        else:
            (answer,) = map(json.loads, printed)
            assert [line for line in text.splitlines() if line not in answer["context"]] == []
            printed = []
    assert printed == []


def test_page_has_every_event_with_its_payload() -> None:
    """The page has the events in their order, each with the payload that it takes; the shorter names as well."""
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| ", PAGE.partition("## Events and payloads")[2], re.MULTILINE)
    named = [name for name in EVENTS if not name.startswith("agent_")]
    assert [name for name, _ in rows[: len(named)]] == named
    for name, payload in rows[: len(named)]:
        event = EVENTS[name].load()
        told = [*event.required, *(f"{param}?" for param in event.optional)]
        assert sorted(re.findall(r"`([\w?]+)`", payload)) == sorted(told)
    assert [name for name in EVENTS if f"`{name}`" not in PAGE] == []
    assert [name for name in FIELDS if f"`{name}`" not in PAGE and f"`{name}?`" not in PAGE] == []


def test_page_has_every_field_of_an_answer() -> None:
    """The page describes every field that all answers share, and every decision."""
    schema = schemas.load("lifecycle/answer")["properties"]
    assert all(f"`{name}`" in PAGE for name in list(schema)[:6])
    assert all(f"`{word}`" in PAGE for word in schema["decision"]["enum"])
