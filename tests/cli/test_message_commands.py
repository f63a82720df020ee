"""`nexus-mcp route`, `act` and `memory gc`: how they take the message, answer, and exit."""

from __future__ import annotations

import json
import subprocess
import time

import pytest

from tests.cli.support import COMMAND, environment, nexus, nexus_on_terminal
from tests.support import Project
from tests.tags.support import aged, check


def test_message_is_read_from_stdin(project: Project) -> None:
    """It may be long, and begin with anything."""
    message = "- [sync] now\n" + "`[plan]` and so on\n" * 100_000
    ran = nexus("route", "--json", cwd=project.root, stdin=message)
    value = json.loads(ran.out)
    check(value, "route")
    assert (ran.code, [tag["skill"] for tag in value["tags"]]) == (0, ["nx-sync"])


@pytest.mark.parametrize("command", ["route", "act"])
def test_too_long_message_is_refused(project: Project, command: str) -> None:
    """Beyond 4 MiB it is not read."""
    ran = nexus(command, cwd=project.root, stdin="x" * ((4 << 20) + 1))
    assert ran == (2, "", "nexus-mcp: The message on stdin is larger than the 4 MiB that are read.\n")


def test_message_that_is_not_utf8_is_refused_with_the_place(project: Project) -> None:
    """The place is a line and a column in characters."""
    ran = subprocess.run(
        [*COMMAND, "route"],
        cwd=project.root,
        env=environment(),
        input="a\né".encode() + b"\xff",
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (
        2,
        b"nexus-mcp: The message on stdin is not UTF-8: line 2, column 2.\n",
    )


def test_terminal_without_message_is_refused() -> None:
    """On a terminal the command does not wait for a message."""
    ran = nexus_on_terminal("route")
    assert (ran.code, ran.err) == (
        2,
        "nexus-mcp: There is no message. Write it in quotation marks, or send it to stdin.\n",
    )


def test_shown_texts_are_printable(project: Project) -> None:
    """Texts of a message and of the plan are quoted, on one line, without control characters."""
    issue = {"id": 1, "title": "Wh\x1b[31mere\n?", "status": "pending"}
    project.put("state/plan.json", {"id": 1, "topic": "T", "issues": [issue], "created_at": "2026-01-01T00:00:00.000Z"})
    ran = nexus("route", "[d] a\x1b[2J\u202e\nb [d:\x07x]", cwd=project.root)
    assert ran.out.split("\n") == [
        '[d]  would record the decision on issue 1 "Wh\\x1b[31mere\\n?"',
        '  with "a\\x1b[2J\\u202e\\nb"',
        '  > The text ends before the next tag, so it lacks "[d:\\x07x]". To keep that too, write \\ before the '
        "tag's bracket and send the whole text again.",
        '[d:"\\x07x"]  does nothing now',
        '  > There is no [d:"\\x07x"]. Write [d], or [d:2] with the id of the question, and the decision behind it.',
        "",
    ]
    issues = [issue, {**issue, "id": 2}]
    project.put("state/plan.json", {"id": 1, "topic": "T", "issues": issues, "created_at": "2026-01-01T00:00:00.000Z"})
    assert nexus("route", "[d] a", cwd=project.root).out.split("\n") == [
        "[d]  records a decision (plan_decide)",
        '  with "a"',
        '  open: 1 "Wh\\x1b[31mere\\n?"',
        '  open: 2 "Wh\\x1b[31mere\\n?"',
        "",
    ]


def test_route_prints_skill_mode_and_notes(project: Project) -> None:
    """A skill, its mode and the notes of the harness; a message without tags; one with too many."""
    ran = nexus("route", "[run:x]", "--harness-id", "codex", cwd=project.root)
    assert ran.out.startswith("[run:x]  does nothing now\n")
    ran = nexus("route", "[plan:auto] a cache", "--harness-id", "codex", cwd=project.root)
    assert ran.out.startswith("[plan:auto]  starts the skill nx-plan, mode auto: ")
    assert ran.out.endswith(' characters and the notes of the harness\n  with "a cache"\n')
    assert nexus("route", "nothing", cwd=project.root).out == "The message has no tag.\n"
    assert nexus("route", "[d] " * 22, cwd=project.root).out.endswith("\n2 more tags are ignored.\n")


def test_words_after_two_dashes_are_the_message(project: Project) -> None:
    """Words after -- are the message: they are no option, not even --help."""
    for word in ("-h", "--help"):
        assert nexus("act", "--", word, cwd=project.root) == (0, "The message has no tag that is an action.\n", "")
        assert nexus("route", "--", word, cwd=project.root) == (0, "The message has no tag.\n", "")
        assert nexus("route", word, "--", "x", cwd=project.root).out.startswith("Usage: nexus-mcp route")


def test_act_exits_with_1_when_an_action_failed(project: Project) -> None:
    """JSON keeps the schema; exit code 1 when an action failed, 0 when there was none."""
    ran = nexus("act", "[m] Slow locks [rule:../x] no", "--json", cwd=project.root)
    value = json.loads(ran.out)
    check(value, "act")
    assert (ran.code, ran.err, [step["result"] for step in value["steps"]]) == (1, "", ["created", "failed"])
    assert nexus("act", "[plan] x", cwd=project.root) == (0, "The message has no tag that is an action.\n", "")
    ran = nexus("act", "[d] x", cwd=project.root)
    assert (ran.code, ran.out.split("\n")[0]) == (1, "[d]  not done")
    issues = [{"id": number, "title": "Where?", "status": "pending"} for number in (1, 2)]
    project.put("state/plan.json", {"id": 1, "topic": "T", "issues": issues, "created_at": "2026-01-01T00:00:00.000Z"})
    ran = nexus("act", "[d] x", cwd=project.root)
    assert (ran.code, ran.out.split("\n")[0]) == (0, "[d]  left to the agent")
    ran = nexus("act", "[d:2] x", cwd=project.root)
    assert (ran.code, ran.out) == (
        0,
        '[d:2]  recorded the decision on issue 2 "Where?"\n  > Pending: issue 1 "Where?".\n',
    )


def test_dry_run_deletes_nothing(project: Project) -> None:
    """A dry run and a run without --apply delete nothing; --apply is refused outside git's reach, with exit code 1."""
    note = project.put("memory/old.md", "Old.\n")
    aged(note, 200.5, time.time())
    dry, plain = nexus("memory", "gc", "--dry-run", cwd=project.root), nexus("memory", "gc", cwd=project.root)
    assert dry == plain
    assert dry.out.startswith("these notes could go\n  .nexus/memory/old.md: no read of it is on record")
    both = nexus("memory", "gc", "--dry-run", "--apply", cwd=project.root)
    assert both == (2, "", "nexus-mcp: --apply and --dry-run are opposites. Give one of them.\n")
    project.put("config.yml", "memory: 1\n")
    broken = nexus("memory", "gc", "--json", cwd=project.root)
    assert (broken.code, broken.err.split("\n")[0]) == (
        1,
        "nexus-mcp: .nexus/config.yml:1:1: memory must be of type object or null",
    )
    (project.nexus / "config.yml").unlink()
    refused = nexus("memory", "gc", "--apply", cwd=project.root)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("nexus-mcp: The git repository has no commit")
    assert note.exists()
