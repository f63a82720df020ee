"""pre_tool_use with a malformed payload runs no tool that a restricted agent may not use."""

from __future__ import annotations

import pytest

from nexus_mcp.lifecycle import guard
from nexus_mcp.lifecycle.malformed_payload import NAMES, UNUSABLE, outline
from nexus_mcp.workspace import LIMIT_VARIABLE, Workspace
from tests.lifecycle.hooks import answer_of, hook
from tests.lifecycle.support import put
from tests.support import Json, Project, compact

INPUTS = {
    "deep": b'{"file_path": "a", "x": ' + b"[" * 70 + b"]" * 70 + b"}",
    "abyss": b'{"x": ' + b'[{"a":' * 20_000 + b"1" + b"}]" * 20_000 + b"}",
    "twice": b'{"file_path": "a", "file_path": "b"}',
    "infinite": b'{"file_path": "a", "x": 1e400}',
    "NaN": b'{"file_path": "a", "x": NaN}',
    "digits": b'{"file_path": "a", "x": ' + b"1" * 5000 + b"}",
    "latin": b'{"file_path": "a", "x": "\xff"}',
    "17 MiB": b'{"file_path": "a", "x": "' + b'\\"agent_name\\": \\"engineer\\", ' * 650_000 + b'"}',
    "no JSON": b"{'file_path'}",
    "cut": b'{"file_path": "a',
}
HEAD = b'{"harness_id": "claude-code", "tool": "%s", "agent_name": "%s", "tool_input": %s}'


def ready(project: Project) -> None:
    put(project, ".nexus/state/tasks.json", {"goal": "", "decisions": [], "tasks": []})


@pytest.mark.requirement("pre_tool_use.unusable")
@pytest.mark.parametrize("kind", INPUTS)
def test_restricted_agent_is_denied_for_any_input(project: Project, kind: str) -> None:
    """A forbidden tool is denied whatever its input, and so is an edit of unknown files."""
    ready(project)
    stdin = HEAD % (b"Write", b"architect", INPUTS[kind])
    answer = answer_of(hook("pre_tool_use", project.root, stdin))
    assert answer["decision"] == "deny"
    assert answer["reason"].startswith("architect may not use Write (no_file_edit:")
    assert answer["warnings"][0].startswith("The event pre_tool_use could not be handled: ")
    for tool, agent, decision in ((b"Read", b"architect", "continue"), (b"Write", b"engineer", "deny")):
        answer = answer_of(hook("pre_tool_use", project.root, HEAD % (tool, agent, INPUTS[kind])))
        assert answer["decision"] == decision
    main = b'{"harness_id": "claude-code", "tool": "Write", "tool_input": %s}' % INPUTS[kind]
    expected = "deny" if kind == "cut" else "continue"  # the sender of a truncated payload is unknown
    assert answer_of(hook("pre_tool_use", project.root, main))["decision"] == expected


@pytest.mark.requirement("pre_tool_use.unusable", "pre_tool_use.gate")
@pytest.mark.parametrize("kind", ["twice", "17 MiB"])
def test_unknown_edit_without_tasks_is_blocked(project: Project, kind: str) -> None:
    """Without a task list an edit that cannot be seen into is blocked, as any other."""
    stdin = b'{"harness_id": "claude-code", "tool": "Write", "tool_input": %s}' % INPUTS[kind]
    answer = answer_of(hook("pre_tool_use", project.root, stdin))
    assert (answer["decision"], answer["reason"][:23]) == ("block", "There is no task list, ")


@pytest.mark.requirement("pre_tool_use.unusable")
def test_agent_after_a_large_input_is_found(project: Project) -> None:
    """The agent is found behind 17 MiB of input too; where the payload was cut before it, it may be any."""
    ready(project)
    stdin = b'{"tool_input": %s, "tool": "Write", "agent_name": "%s", "harness_id": "claude-code"}'
    for agent, decision in ((b"architect", "deny"), (b"engineer", "deny")):
        answer = answer_of(hook("pre_tool_use", project.root, stdin % (INPUTS["17 MiB"], agent)))
        assert answer["decision"] == decision
    cut = b'{"harness_id": "claude-code", "tool": "%s", "tool_input": {"file_path": "a'
    answer = answer_of(hook("pre_tool_use", project.root, cut % b"Write"))
    assert answer["decision"] == "deny"
    assert answer["reason"].startswith('Which agent wants to use "Write" is unknown, and architect, ')
    assert answer_of(hook("pre_tool_use", project.root, cut % b"Read"))["decision"] == "continue"


@pytest.mark.requirement("pre_tool_use.unusable")
@pytest.mark.parametrize(
    ("params", "decision"),
    [
        ({"tool": "Write", "agent_name": "architect", "file": 5}, "deny"),
        ({"tool": "Write", "agent_name": "architect", "agent_id": 5}, "deny"),
        ({"tool": "Write", "agent_name": 5}, "deny"),
        ({"tool": "Write", "agent_id": ["architect"]}, "deny"),
        ({"tool": "Read", "agent_name": 5}, "continue"),
        ({"tool": ["Write"], "agent_name": "architect"}, "deny"),
        ({"agent_name": "architect"}, "deny"),
        ({"tool": ["Write"]}, "continue"),
        ({"tool": "Write", "agent_id": " ", "agent_name": "engineer"}, "deny"),
        ({"tool": "Write", "agent_id": " ", "agent_name": "own-agent"}, "continue"),
        ({"tool": "Write", "agent_id": " "}, "deny"),
        ({"tool": "Write", "agent_id": ""}, "continue"),
        ({"tool": "Write\0", "agent_name": "architect"}, "deny"),
        ({"tool": "Foo\0", "agent_name": "architect"}, "deny"),
        ({"tool": "Foo", "agent_name": "architect", "file": 5}, "deny"),
        ({"tool": "Foo", "agent_id": "a1\0"}, "deny"),
        ({"tool": "Foo\0"}, "continue"),
        ({"tool": "Read", "agent_name": "architect", "file": 5}, "continue"),
        ({"tool": "Read\0", "agent_name": "architect"}, "deny"),
        ({"tool": "Write", "file": 5, "agent_name": "architect", "harness_id": "unmapped"}, "continue"),
        ({"tool": 5, "agent_name": "architect", "harness_id": "unmapped"}, "continue"),
    ],
)
def test_valid_params_decide_despite_invalid_ones(project: Project, params: dict[str, Json], decision: str) -> None:
    """The valid params decide although others have wrong types; an agent without a usable name may be any."""
    ready(project)
    answer = guard.answer_event("pre_tool_use", {"harness_id": "claude-code", **params}, Workspace(str(project.root)))
    assert (answer["decision"], "reason" in answer) == (decision, decision == "deny")
    assert answer["warnings"][0].startswith("The event pre_tool_use could not be handled: ")


@pytest.mark.requirement("pre_tool_use.unusable", "pre_tool_use.who")
def test_tracker_name_counts_for_malformed_payloads(project: Project) -> None:
    """The name that the tracker has for the id counts here as well."""
    ready(project)
    project.put(
        "state/claude-code/agent-tracker.json",
        compact([{"harness_id": "claude-code", "started_at": "", "agent_id": "a1", "agent_name": "architect"}]),
    )
    answer = answer_of(
        hook(
            "pre_tool_use",
            project.root,
            b'{"harness_id": "claude-code", "agent_id": "a1", "tool": "Edit", "file": "src/a.py", "x": 1e400}',
        )
    )
    assert answer["decision"] == "deny"


@pytest.mark.requirement("pre_tool_use.unusable")
@pytest.mark.parametrize(
    ("data", "found", "is_whole"),
    [
        (b"", {}, False),
        (b"[]", {}, False),
        (b'x{"tool": "a"}', {}, False),
        (b'\xef\xbb\xbf {"tool" : "a"}', {"tool": "a"}, True),
        (b'{"tool": "a", "tool": "a"}', {"tool": "a"}, True),
        (b'{"tool": "a", "tool": "b"}', {"tool": UNUSABLE}, True),
        (b'{"tool": "a", "tool": null}', {"tool": "a"}, True),
        (b'{"tool": null}', {}, True),
        (b'{"tool": {"tool": "a"}, "x": {"agent_id": "b"}}', {"tool": UNUSABLE}, True),
        (b'{"tool": 5, "agent_id": "a\\u0062"}', {"tool": UNUSABLE, "agent_id": "ab"}, True),
        (b'{"\\u0074ool": "a"', {"tool": "a"}, False),
        (b'{"tool": "a\nb"}', {"tool": "a\nb"}, True),
        (b'{"tool": "a\\q"}', {"tool": UNUSABLE}, True),
        (b'{"x": "tool", "tool"}', {}, True),
        (b'{"tool": "a", "x": "}', {"tool": "a"}, False),
        (b'{"tool": "a", "x": [{"y": ["}]}, \\"agent_id\\": }}', {"tool": "a"}, False),
        (
            b'{"tool": "a", "x": [[{"y": [[], "]]}"]}, {}], 1, []], "agent_id": "b"}',
            {"tool": "a", "agent_id": "b"},
            True,
        ),
    ],
)
def test_outline_finds_texts_of_the_first_level(data: bytes, found: dict[str, object], is_whole: bool) -> None:
    """The texts of the first level are found, however the data continues; a repeated field with two values, or one that
    is no text, is unusable.
    """
    assert outline(data, NAMES) == (found, is_whole)


@pytest.mark.requirement("pre_tool_use.unusable")
@pytest.mark.parametrize("stdin", [b"[]", b'"x"', b"3", b"true", b"null", b'[{"tool": "Read"}]', b"", b" \n"])
def test_payload_that_is_no_object_denies_the_tool(project: Project, stdin: bytes) -> None:
    """The payload names neither tool nor agent, so any agent may have sent it; other events continue."""
    ready(project)
    answer = answer_of(hook("pre_tool_use", project.root, stdin, "--harness-id", "claude-code"))
    assert answer["decision"] == "deny"
    assert answer["reason"].startswith("The payload names neither the tool nor the agent, and some agents may not use ")
    assert answer["warnings"][0].startswith("The event pre_tool_use could not be handled: ")
    for event in ("session_start", "user_message", "subagent_spawn", "post_tool_use", "session_end"):
        assert answer_of(hook(event, project.root, stdin))["decision"] == "continue"
    assert answer_of(hook("pre_tool_use", project.root, stdin))["decision"] == "continue"  # a harness without a map


@pytest.mark.requirement("pre_tool_use.unusable")
@pytest.mark.parametrize("behind", [b'{"agent_name": "architect"}', b"x", b"}"])
def test_data_after_the_payload_makes_the_agent_unknown(project: Project, behind: bytes) -> None:
    """Data after the payload may name another agent, so the agent is unknown; blanks do not matter."""
    ready(project)
    stdin = b'{"harness_id": "claude-code", "tool": "Write", "tool_input": %s}'
    assert answer_of(hook("pre_tool_use", project.root, stdin % b"{}" + behind))["decision"] == "deny"
    assert answer_of(hook("pre_tool_use", project.root, stdin % INPUTS["twice"] + b" \n"))["decision"] == "continue"


@pytest.mark.requirement("pre_tool_use.unusable")
@pytest.mark.parametrize("who", [{"agent_name": "own-agent"}, {}])
def test_file_of_a_malformed_payload_is_guarded(project: Project, who: dict[str, Json]) -> None:
    """The file that a payload names is guarded, whatever other fields are unusable."""
    ready(project)
    params = {"harness_id": "claude-code", "tool": "Edit", "session_id": 5, **who}
    for file, decision in ((".nexus/state/tasks.json", "deny"), ("src/a.py", "continue")):
        answer = guard.answer_event("pre_tool_use", {**params, "file": file}, Workspace(str(project.root)))
        assert answer["decision"] == decision


def decided(project: Project, **params: Json) -> tuple[str, str]:
    """Return (decision, reason) for params with an unusable session id, from a harness with a capability map."""
    ready(project)
    given = {"harness_id": "claude-code", "session_id": 5, **params}
    answer = guard.answer_event("pre_tool_use", given, Workspace(str(project.root)))
    return answer["decision"], answer.get("reason", "")


@pytest.mark.requirement("pre_tool_use.unusable")
@pytest.mark.parametrize(
    ("params", "decision"),
    [
        ({"tool": "Write", "tool_input": {"file_path": ".nexus/state/tasks.json"}}, "deny"),
        ({"tool": "Write", "tool_input": {"file_path": "src/a.py"}}, "continue"),
        ({"tool": "Write", "agent_name": "own-agent", "tool_input": 5}, "deny"),
        ({"tool": "Write", "agent_name": "own-agent"}, "continue"),
        ({"tool": "Write", "agent_name": "", "file": "src/a.py"}, "continue"),
    ],
)
def test_usable_input_of_a_malformed_payload_is_read(project: Project, params: dict[str, Json], decision: str) -> None:
    """An input that cannot be read may name any file; without an input the call changes none. "" names no agent."""
    assert decided(project, **params)[0] == decision


@pytest.mark.requirement("pre_tool_use.unusable")
def test_blank_tool_is_no_tool(project: Project) -> None:
    """Without a tool name the harness may run any tool, and this agent may not use all tools."""
    decision, reason = decided(project, tool=" ", agent_name="architect")
    assert (decision, reason[:26]) == ("deny", "Which tool architect wants")


@pytest.mark.requirement("pre_tool_use.unusable", "pre_tool_use.who")
def test_session_of_a_malformed_payload_tells_agents_apart(project: Project) -> None:
    """One id may belong to two agents in two sessions."""
    ready(project)
    for name, session in (("architect", "s1"), ("own-agent", "s2")):
        agent = {"agent_id": "a1", "agent_name": name, "session_id": session, "harness_id": "claude-code"}
        hook("subagent_spawn", project.root, compact(agent).encode())
    known = {"harness_id": "claude-code", "agent_id": "a1", "tool": "Edit", "file": "src/a.py"}
    stdin = compact(known)[:-1].encode() + b', "session_id": "%s", "x": 1e400}'
    for number, decision in ((b"s1", "deny"), (b"s2", "continue")):
        answer = answer_of(hook("pre_tool_use", project.root, stdin % number))
        assert answer["decision"] == decision, answer


@pytest.mark.requirement("pre_tool_use.unusable")
def test_session_with_a_limit_on_files_runs_no_unknown_tool(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session may change only some files, and an unknown tool may change any file."""
    assert decided(project)[0] == "continue"
    monkeypatch.setenv(LIMIT_VARIABLE, "{}")
    decision, reason = decided(project)
    assert (decision, "this session may not edit all files" in reason) == ("deny", True)
