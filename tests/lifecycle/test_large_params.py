"""Large params: an event uses the parts that it needs, and stores only short texts."""

from __future__ import annotations

import json

import pytest

from nexus_mcp.errors import InvalidArguments
from nexus_mcp.lifecycle.agent_complete import FILES, MESSAGE, PATH
from nexus_mcp.lifecycle.definition import LONGEST
from tests.lifecycle.hooks import answer_of, hook
from tests.lifecycle.support import SPAWN, TRACKER, Teller
from tests.support import Json, Project, compact

LOG = "state/tool-log.jsonl"
LARGE = "x" * 4_300_000
MEMORY = ".nexus/memory/"


@pytest.mark.requirement("events.ignored", "post_tool_use.log")
def test_large_tool_output_is_accepted(project: Project) -> None:
    """A payload with more than 4 MiB of params that the event ignores is handled, for the harness that it names."""
    told = compact({"harness_id": "codex", "tool": "Bash", "tool_response": LARGE}).encode()
    answer = answer_of(hook("post_tool_use", project.root, told))
    assert (answer["harness_id"], answer["logged"], answer["warnings"]) == ("codex", True, [])
    assert [json.loads(line)["tool"] for line in project.get(LOG).splitlines()] == ["Bash"]


@pytest.mark.requirement("events.params")
def test_tag_before_a_large_prompt_is_found(project: Project) -> None:
    """A tag before more than 4 MiB of text is seen."""
    answer = answer_of(hook("user_message", project.root, compact({"prompt": f"[plan] {LARGE}"}).encode()))
    assert (answer["tags"], answer["warnings"]) == (["plan"], [])


@pytest.mark.requirement("events.params")
def test_large_last_message_is_truncated_with_a_warning(tell: Teller, project: Project) -> None:
    """An agent with a long last message is completed; the message is truncated, with a warning."""
    tell("subagent_spawn", **SPAWN)
    answer = tell("subagent_complete", agent_id="a1", last_message=LARGE, files_touched=[])
    assert (answer["completed"], answer["warnings"]) == (
        True,
        ["Of last_message the first 65536 characters are kept. Keep what matters in an artifact."],
    )
    (entry,) = json.loads((project.root / TRACKER).read_bytes())
    assert (entry["status"], entry["last_message"]) == ("completed", "x" * MESSAGE)


@pytest.mark.requirement("events.params")
def test_list_of_files_is_truncated_with_a_warning(tell: Teller, project: Project) -> None:
    """Of many touched files the first ones are stored, without paths that are too long, with a warning."""
    tell("subagent_spawn", **SPAWN)
    files: Json = ["x" * (PATH + 1), *(f"{number}.py" for number in range(2000))]
    answer = tell("subagent_complete", agent_id="a1", last_message="x" * MESSAGE, files_touched=files)
    assert answer["warnings"] == ["Of 2001 files touched 1000 are kept: 1000 at most, of 4096 characters at most."]
    (entry,) = json.loads((project.root / TRACKER).read_bytes())
    assert (entry["last_message"], answer["files_touched"]) == ("x" * MESSAGE, entry["files_touched"])
    assert entry["files_touched"] == [f"{number}.py" for number in range(FILES)]


@pytest.mark.requirement("events.params")
@pytest.mark.parametrize("event", ["subagent_spawn", "agent_resume", "subagent_complete"])
def test_long_id_is_refused(tell: Teller, project: Project, event: str) -> None:
    """An event about an agent refuses an id that is too long, and does not repeat it; one as long as may be passes."""
    before = project.snapshot()
    with pytest.raises(InvalidArguments) as caught:
        tell(event, **{**SPAWN, "agent_id": "x" * (LONGEST + 1)})
    assert str(caught.value) == "agent_id must not be longer than 256 characters"
    assert project.snapshot() == before
    assert tell(event, **{**SPAWN, "agent_id": "x" * LONGEST})["agent_id"] == "x" * LONGEST


@pytest.mark.requirement("events.params", "pre_tool_use.who")
def test_long_names_of_a_tool_user_are_truncated(tell: Teller, project: Project) -> None:
    """A tool is decided and logged for every caller; a stored long name is cut."""
    used: dict[str, Json] = {"harness_id": "claude-code", "agent_id": LARGE}
    assert tell("pre_tool_use", **used, tool="Edit", agent_name="architect")["decision"] == "deny"
    project.put("memory/a.md", "A")
    read: Json = {"file_path": f"{MEMORY}a.md"}
    answer = tell("post_tool_use", **used, tool="Read", agent_name=LARGE, tool_input=read)
    assert (answer["logged"], answer["read"]) == (True, f"{MEMORY}a.md")
    assert json.loads(project.get(LOG))["agent_id"] == "x" * LONGEST
    assert json.loads(project.get("state/claude-code/memory-access.jsonl"))["last_agent"] == "x" * LONGEST


@pytest.mark.requirement("post_tool_use.bounded")
def test_long_path_is_not_counted(tell: Teller, project: Project) -> None:
    """A read that is too long for the log is not counted either."""
    answer = tell("post_tool_use", harness_id="claude-code", tool="Read", file=MEMORY + "x/" * 40_000)
    assert (answer["logged"], "read" in answer, project.nexus.exists()) == (False, False, False)
