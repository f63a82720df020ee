"""docs/tags.md lists the tags, and its examples run as printed."""

from __future__ import annotations

import re
import shlex
import time

import pytest

from nexus_mcp.catalog.load import load
from tests.cli.support import nexus
from tests.conftest import CHECKOUT
from tests.support import Project
from tests.tags.support import aged

PAGE = (CHECKOUT / "docs" / "tags.md").read_text(encoding="utf-8")
SESSIONS = re.findall(r"^```text\n(\$ .*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_every_tag_is_on_the_page() -> None:
    """Each tag and variant of the vocabulary has a row in the first table."""
    table = load(None).vocabulary["tags"]
    names = [f"[{tag}{suffix}]" for tag in table for suffix in ("", *(f":{one}" for one in table[tag]["variants"]))]
    rows = set(re.findall(r"^\| `(\[[a-z]+(?::[a-z]+)?\])", PAGE, re.MULTILINE))
    assert {*names} - rows <= {"[rule]"}
    assert rows - {*names} == {"[rule:frontend]"}


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.partition("\n")[0])
def test_examples_print_what_the_page_shows(project: Project, session: str) -> None:
    """The commands of a block, run one after the other in one project, print the text of the page."""
    if "memory gc" in session:
        aged(project.put("memory/old-idea.md", "Old.\n"), 200.5, time.time())
    if "[d:1]" in session:
        titles = ("Where are sessions kept?", "How long are they kept?")
        issues = [{"id": number, "title": title, "status": "pending"} for number, title in enumerate(titles, 1)]
        project.put("state/plan.json", {"id": 1, "topic": "T", "issues": issues, "created_at": "2026-01-01T00:00:00Z"})
    steps = re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]
    for step in steps:
        line, _, shown = step.partition("\n")
        words = shlex.split(line)
        assert words[0] == "nexus-mcp"
        assert nexus(*words[1:], cwd=project.root).out == shown


def test_page_has_five_examples() -> None:
    """The page has five blocks of commands."""
    assert len(SESSIONS) == 5
