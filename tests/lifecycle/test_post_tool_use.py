"""post_tool_use: the tool log, and the reads of notes."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from nexus_mcp.errors import PathRefused
from nexus_mcp.lifecycle.nexus_files import LONGEST_PATH, inside
from tests.lifecycle.support import Teller
from tests.support import Clock, Project, compact, without_lock

LOG = "state/tool-log.jsonl"
CLAUDE = {"harness_id": "claude-code"}
CODEX = {"harness_id": "codex"}
ACCESS = "state/claude-code/memory-access.jsonl"


def uses(project: Project) -> list[dict[str, Any]]:
    return [json.loads(line) for line in project.get(LOG).decode().splitlines()]


@pytest.mark.requirement("agent_complete.files", "events.reads")
def test_read_files_do_not_count_as_touched(tell: Teller) -> None:
    """A file that an agent only read, with a reading tool of its harness, is not a touched file."""
    own = {"harness_id": "claude-code", "agent_id": "a1"}
    tell("agent_spawn", **own, agent_name="engineer")
    for tool in ("Read", "Edit", "Read"):
        tell("post_tool_use", **own, tool=tool, tool_input={"file_path": f"{tool}.py"})
    assert tell("agent_complete", **own)["files_touched"] == ["Edit.py"]


@pytest.mark.requirement("agent_complete.files")
@pytest.mark.parametrize("harness", ["nexus-mcp", "codex"])
def test_log_line_without_a_tool_counts_as_an_edit(tell: Teller, project: Project, harness: str) -> None:
    """A log line without a tool counts as an edit, with and without a capability map."""
    own = {"harness_id": harness, "agent_id": "a1"}
    tell("agent_spawn", **own, agent_name="engineer")
    project.put(LOG, compact({"agent_id": "a1", "file": "x"}) + "\n")
    assert tell("agent_complete", **own)["files_touched"] == ["x"]


@pytest.mark.requirement("agent_complete.own-files")
def test_foreign_and_failed_edits_do_not_count_as_touched(tell: Teller, project: Project, clock: Clock) -> None:
    """Edits that failed, of an earlier session and of another harness with the same id are none of an agent."""
    own = {"harness_id": "claude-code", "agent_id": "a1"}
    before = compact({"timestamp": "2020-01-01T00:00:00.000Z", "agent_id": "a1", "tool": "Edit", "file": "early.py"})
    project.put(LOG, before + "\n")
    tell("agent_spawn", **own, agent_name="engineer")
    for status in ("error", "denied by user", "ok"):
        tell("post_tool_use", **own, tool="Edit", tool_input={"file_path": f"{status}.py"}, status=status)
    foreign = {**own, "harness_id": "codex"}
    tell("post_tool_use", **foreign, tool="apply_patch", tool_input="*** Begin Patch\n*** Update File: codex.py\n")
    tell("post_tool_use", **own, tool="mcp__fs__save", file="unknown.py")
    assert tell("agent_complete", **own)["files_touched"] == ["ok.py", "unknown.py"]
    clock.advance()
    tell("agent_resume", **own)
    tell("post_tool_use", **own, tool="Edit", tool_input={"file_path": "later.py"})
    assert tell("agent_complete", **own)["files_touched"] == ["later.py"]


@pytest.mark.requirement("post_tool_use.log")
@pytest.mark.parametrize(
    ("told", "seen"),
    [
        ({}, {"agent_id": "main", "tool": "Edit", "status": "ok"}),
        (
            {"agent_id": "a1", "file": "größe.md", "status": "error"},
            {"agent_id": "a1", "tool": "Edit", "file": "größe.md", "status": "error"},
        ),
        ({"file": "{root}/src/a.py"}, {"agent_id": "main", "tool": "Edit", "file": "src/a.py", "status": "ok"}),
        ({"file": "src/../b.py"}, {"agent_id": "main", "tool": "Edit", "file": "b.py", "status": "ok"}),
        ({"file": "/elsewhere/b.py"}, {"agent_id": "main", "tool": "Edit", "file": "/elsewhere/b.py", "status": "ok"}),
        ({"file": "", "status": " "}, {"agent_id": "main", "tool": "Edit", "status": "ok"}),
    ],
)
def test_tool_call_is_appended_to_the_log(
    tell: Teller, project: Project, clock: Clock, told: dict[str, str], seen: dict[str, str]
) -> None:
    """post_tool_use appends {timestamp, agent_id, tool, file?, status} to the log; files are paths from the root."""
    given = {name: value.replace("{root}", str(project.root)) for name, value in told.items()}
    answer = tell("post_tool_use", tool="Edit", **given)
    assert answer == {
        "event": "post_tool_use",
        "harness_id": "nexus-mcp",
        "decision": "continue",
        "logged": True,
        "warnings": [],
    }
    assert uses(project) == [{"timestamp": clock.stamp(), **seen}]


@pytest.mark.requirement("post_tool_use.log")
def test_patch_is_logged_once_for_each_file(tell: Teller, project: Project, clock: Clock) -> None:
    """A use that is about several files has a line for each, in their order."""
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b/c.py\n+x\n*** End Patch\n"
    tell("post_tool_use", **CODEX, agent_id="a1", tool="apply_patch", tool_input={"command": patch}, status="ok")
    line = {"timestamp": clock.stamp(), "agent_id": "a1", "tool": "apply_patch"}
    assert uses(project) == [{**line, "file": file, "status": "ok"} for file in ("a.py", "b/c.py")]


@pytest.mark.requirement("post_tool_use.log")
def test_torn_line_is_ended_first(tell: Teller, project: Project) -> None:
    """A truncated last line gets a newline first, and stays unchanged."""
    project.put(LOG, '{"tool": "Re')
    tell("post_tool_use", tool="Edit")
    first, second = project.get(LOG).decode().splitlines()
    assert (first, json.loads(second)["tool"]) == ('{"tool": "Re', "Edit")


@pytest.mark.requirement("post_tool_use.bounded")
def test_long_log_loses_its_older_half(tell: Teller, project: Project) -> None:
    """A log that would grow beyond 1 MiB loses its older half, whole lines of it."""
    line = compact({"timestamp": "x", "agent_id": "a", "tool": "Edit", "status": "ok"})
    project.put(LOG, f"{line}\n" * ((1 << 20) // (len(line) + 1)))
    tell("post_tool_use", tool="Last")
    data = project.get(LOG)
    assert (1 << 18) < len(data) <= (1 << 20)
    assert [json.loads(one)["tool"] for one in data.decode().splitlines()][-2:] == ["Edit", "Last"]


@pytest.mark.requirement("post_tool_use.bounded")
def test_tool_use_with_a_too_long_name_is_not_logged(tell: Teller, project: Project) -> None:
    """A tool use with a far too long name is not logged, with a warning."""
    answer = tell("post_tool_use", tool="Edit", file="a" * 100_000)
    assert (answer["logged"], answer["warnings"]) == (
        False,
        ["The use of the tool is not in the tool log: its names are too long."],
    )
    assert not project.nexus.exists()


@pytest.mark.requirement("post_tool_use.reads")
def test_read_of_a_note_is_counted(tell: Teller, project: Project, clock: Clock) -> None:
    """The read of a file under memory/ upserts memory-access.jsonl: one more, the time, the agent."""
    for name in ("a", "sub/ö"):
        project.put(f"memory/{name}.md", "A")
    tell("agent_spawn", **CLAUDE, agent_name="researcher", agent_id="r1")
    own = {**CLAUDE, "tool": "Read"}
    first = tell("post_tool_use", **own, tool_input={"file_path": str(project.nexus / "memory/a.md")})
    assert (first["read"], first["logged"]) == (".nexus/memory/a.md", True)
    assert tell("post_tool_use", **own, file=".nexus/memory/sub/ö.md")["read"] == ".nexus/memory/sub/ö.md"
    clock.advance()
    tell("post_tool_use", **own, agent_id="r1", tool_input={"file_path": ".nexus/context/../memory/a.md"})
    lines = [json.loads(line) for line in project.get(ACCESS).decode().splitlines()]
    assert lines == [
        {
            "path": ".nexus/memory/a.md",
            "last_accessed_ts": clock.stamp(),
            "access_count": 2,
            "last_agent": "researcher",
        },
        {
            "path": ".nexus/memory/sub/ö.md",
            "last_accessed_ts": clock.stamp(-125),
            "access_count": 1,
            "last_agent": "main",
        },
    ]


@pytest.mark.requirement("post_tool_use.reads")
def test_each_note_of_a_call_is_counted_once(tell: Teller, project: Project) -> None:
    """Of a call that reads several files each note is counted, once."""
    for name in ("a", "b"):
        project.put(f"memory/{name}.md", "A")
    paths = [f".nexus/{path}" for path in ("memory/a.md", "rules/r.md", "memory/b.md", "memory/../memory/a.md")]
    answer = tell("post_tool_use", **CLAUDE, tool="mcp__fs__read_multiple_files", tool_input={"paths": [*paths]})
    assert (answer["read"], answer["also_read"]) == (".nexus/memory/a.md", [".nexus/memory/b.md"])
    counted = [json.loads(line) for line in project.get(ACCESS).decode().splitlines()]
    assert [(line["path"], line["access_count"]) for line in counted] == [(paths[0], 1), (paths[2], 1)]


@pytest.mark.requirement("post_tool_use.reads")
@pytest.mark.parametrize(
    "told",
    [
        {"tool": "Write", "tool_input": {"file_path": ".nexus/memory/a.md"}},
        {"tool": "Edit", "file": ".nexus/memory/a.md"},
        {"tool": "Glob", "tool_input": {"path": ".nexus/memory", "pattern": "*.md"}},
        {"tool": "Grep", "file": ".nexus/memory/a.md"},
        {"tool": "Bash", "tool_input": {"command": "cat .nexus/memory/a.md"}},
        {"tool": "Read", "tool_input": {"file_path": ".nexus/context/a.md"}},
        {"tool": "Read", "tool_input": {"file_path": "memory/a.md"}},
        {"tool": "Read", "tool_input": {"file_path": ".nexus/memory/absent.md"}},
        {"tool": "Read", "tool_input": {"file_path": ".nexus/memory/data.json"}},
        {"tool": "Read", "tool_input": {"file_path": ".nexus/memory/../rules/a.md"}},
        {"tool": "Read", "tool_input": {"file_path": ".nexus/memory/way/out.md"}},
        {"tool": "Read", "tool_input": {"file_path": "\0"}},
        {"tool": "Read", "tool_input": {"file_path": ["x"]}},
        {"tool": "Read", "file": ".nexus/memory/a.md", "status": "error"},
        {"tool": "Read", "file": ".nexus/memory/a.md", "status": "Denied"},
        {"tool": "Read", "file": ".nexus/memory/a.md", "harness_id": "nexus-mcp"},
    ],
)
def test_writes_and_failed_reads_are_not_counted(tell: Teller, project: Project, told: dict[str, Any]) -> None:
    """Writes, listings and searches, failed reads, and reads of other files are not counted."""
    project.put("memory/a.md", "A")
    (project.root / "src").mkdir()
    (project.nexus / "memory" / "way").symlink_to(project.root / "src")
    assert "read" not in tell.send("post_tool_use", {**CLAUDE, **told})
    assert [path for path in project.snapshot() if path.endswith("memory-access.jsonl")] == []


@pytest.mark.requirement("post_tool_use.reads", "harness.own-folder")
def test_unwritable_record_of_reads_is_reported(tell: Teller, project: Project) -> None:
    """A record of reads that is a link stays and is reported; the tool use is logged nevertheless."""
    outside = project.root / "outside"
    outside.write_text("")
    link = project.nexus / ACCESS
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    project.put("memory/a.md", "A")
    answer = tell("post_tool_use", **CLAUDE, tool="Read", file=".nexus/memory/a.md")
    assert ("read" in answer, answer["logged"], len(answer["warnings"])) == (False, True, 1)
    assert answer["warnings"][0].startswith("The read of .nexus/memory/a.md was not counted: ")
    assert (outside.read_text(), len(uses(project))) == ("", 1)


@pytest.mark.requirement("post_tool_use.log")
@pytest.mark.parametrize("place", [".nexus", ".nexus/state", ".nexus/state/tool-log.jsonl"])
def test_log_behind_a_link_is_not_written(tell: Teller, project: Project, place: str) -> None:
    """A log that could lead elsewhere is not written."""
    outside = project.root.parent / "outside"
    outside.mkdir()
    link = project.root / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    before = without_lock(project.snapshot())
    with pytest.raises(PathRefused, match="is a symbolic link"):
        tell("post_tool_use", tool="Edit")
    assert without_lock(project.snapshot()) == before
    assert list(outside.iterdir()) == []


@pytest.mark.requirement("post_tool_use.bounded")
def test_too_long_path_is_not_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that no system opens is not looked up: each name in it would cost a call."""
    monkeypatch.setattr(os.path, "realpath", lambda path: pytest.fail(f"{len(path)} characters are looked up"))
    assert inside("/nonexistent", "a/" * LONGEST_PATH) is None
