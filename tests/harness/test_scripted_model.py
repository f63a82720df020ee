"""The scripted model of tests/e2e speaks three dialects, and follows its script in any conversation."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.model import anthropic, chat, responses
from tests.e2e.model.server import Model

Body = dict[str, Any]


def _schema(name: str) -> Body:
    return {"name": name, "input_schema": {"type": "object"}}


# Dialect → the fields of a request that offers two tools.
TOOLS: dict[str, Body] = {
    anthropic.ENDING: {"tools": [_schema("Read"), _schema("mcp__nexus__task_list")]},
    responses.ENDING: {
        "tools": [
            {"type": "function", "name": "shell"},
            {"type": "namespace", "name": "mcp__nexus", "tools": [{"type": "function", "name": "task_list"}]},
        ]
    },
    chat.ENDING: {
        "tools": [{"type": "function", "function": {"name": name}} for name in ("read", "nexus_task_list")],
    },
}
MEMBER = {anthropic.ENDING: "messages", responses.ENDING: "input", chat.ENDING: "messages"}
dialects = pytest.mark.parametrize("dialect", TOOLS)


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as model:
        model.script.on("BEGIN", {"text": "Look.", "tool": "task_list", "input": {"a": 1}}, {"text": "DONE"})
        model.script.on("SUB-TASK", {"text": "SUB-DONE"})
        yield model
    assert model.faults == []


def ask(model: Model, dialect: str, messages: list[Body], *, stream: bool = False, tools: bool = True) -> bytes:
    """Return the body of the answer to one request."""
    body = {MEMBER[dialect]: messages, "stream": stream, **(TOOLS[dialect] if tools else {})}
    request = urllib.request.Request(f"{model.url}/v1{dialect}", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=30) as response:
        return bytes(response.read())


def user(text: str) -> Body:
    return {"role": "user", "content": text}


def after(dialect: str, answer: bytes, text: str) -> list[Body]:
    """Return the messages that a client adds to the conversation: the answer, and the result of its only call."""
    whole = json.loads(answer)
    if dialect == anthropic.ENDING:
        call = whole["content"][-1]["id"]
        result = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": True}
        return [{"role": "assistant", "content": whole["content"]}, {"role": "user", "content": [result]}]
    if dialect == responses.ENDING:
        call = whole["output"][-1]["call_id"]
        return [*whole["output"], {"type": "function_call_output", "call_id": call, "output": text}]
    message = whole["choices"][0]["message"]
    return [message, {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": text}]


@dialects
def test_turns_follow_each_other(model: Model, dialect: str) -> None:
    """The second request has a call and its result, so the second turn comes; the result is kept for the test."""
    first = ask(model, dialect, [user("BEGIN")])
    second = ask(model, dialect, [user("BEGIN"), *after(dialect, first, '{"total": 2} and more')])
    assert b"DONE" in second
    assert model.last().conversation.results("task_list")[0].value == {"total": 2}


@dialects
def test_newest_message_of_the_user_decides(model: Model, dialect: str) -> None:
    """The turns of a later prompt are counted from that prompt."""
    first = ask(model, dialect, [user("BEGIN")])
    messages = [user("BEGIN"), *after(dialect, first, "{}"), user("SUB-TASK")]
    assert b"SUB-DONE" in ask(model, dialect, messages)


@dialects
def test_stream_has_the_whole_answer(model: Model, dialect: str) -> None:
    """A stream has the text, the offered name of the tool, and the arguments."""
    text = ask(model, dialect, [user("BEGIN")], stream=True).decode()
    data = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    assert data
    for part in ("Look.", "task_list", '\\"a\\": 1'):
        assert part in text


@dialects
def test_request_without_tools_gets_the_side_answer(model: Model, dialect: str) -> None:
    """A request without tools, such as one for a title, uses no turn of the script."""
    assert b"ok" in ask(model, dialect, [user("Make a title.")], tools=False)
    assert model.with_tools() == []


def test_task_of_an_agent_of_codex_is_a_message(model: Model) -> None:
    """Version 2 sends the task in an item of its own kind, with the text in a field for encrypted content."""
    content = [
        {"type": "input_text", "text": "Message Type: NEW_TASK\nPayload:\n"},
        {"type": "encrypted_content", "encrypted_content": "SUB-TASK"},
    ]
    item = {"type": "agent_message", "author": "/root", "recipient": "/root/one", "content": content}
    assert b"SUB-DONE" in ask(model, responses.ENDING, [user("Elsewhere."), item])


def test_value_follows_the_head_of_codex(model: Model) -> None:
    """Codex writes the time of a call before its result; a value of several lines stays whole."""
    first = ask(model, responses.ENDING, [user("BEGIN")])
    text = 'Wall time: 0.1 seconds\nOutput:\n{"a": 1,\n"Output:": [\n2]}'
    ask(model, responses.ENDING, [user("BEGIN"), *after(responses.ENDING, first, text)])
    assert model.last().conversation.results("task_list")[0].value == {"a": 1, "Output:": [2]}


def test_step_reads_the_conversation(model: Model) -> None:
    """A step may be a function, which sees the request that it answers."""
    model.script.on("COUNT", lambda conversation: {"text": f"{len(conversation.tools)} tools"})
    assert b"2 tools" in ask(model, anthropic.ENDING, [user("COUNT")])


def test_fault_in_a_step_is_recorded(model: Model) -> None:
    """The client gets an error, and the test can see why."""
    model.script.on("BREAK", lambda conversation: {"text": str(1 // 0)})
    with pytest.raises(urllib.error.HTTPError):
        ask(model, anthropic.ENDING, [user("BREAK")])
    assert "ZeroDivisionError" in model.faults.pop()
