"""OpenAI Chat Completions, as OpenCode speaks it with a provider of its own."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from tests.e2e.model.conversation import Call, Conversation, Message, Result, Tool, texts_in
from tests.e2e.model.script import Turn, calls_of

ENDING = "/chat/completions"
Body = dict[str, Any]


def read(body: Body) -> Conversation:
    """Return the parts of a request that the model sees."""
    system: list[str] = []
    messages = []
    for one in body.get("messages", []):
        texts = list(texts_in(one.get("content") or ""))
        if one["role"] in ("system", "developer"):
            system += texts
        elif one["role"] == "tool":
            messages.append(Message("tool", results=[Result(one["tool_call_id"], "\n".join(texts))]))
        else:
            calls = [_call(call) for call in one.get("tool_calls") or []]
            messages.append(Message(one["role"], texts, calls))
    tools = [Tool(tool["function"]["name"]) for tool in body.get("tools") or [] if "function" in tool]
    return Conversation("\n".join(system), messages, tools)


def _call(call: Body) -> Call:
    return Call(call["id"], call["function"]["name"], call["function"]["arguments"])


def answer(body: Body, conversation: Conversation, turn: Turn, number: int) -> Body:
    """Return the whole answer."""
    calls = []
    for place, call in enumerate(calls_of(turn)):
        function = {"name": conversation.resolve(call["tool"]).name, "arguments": json.dumps(call.get("input", {}))}
        id = f"call_t{number}_{place}_{uuid.uuid4().hex[:6]}"
        calls.append({"index": place, "id": id, "type": "function", "function": function})
    used = turn.get("input_tokens", 100)
    message = {"role": "assistant", "content": turn.get("text")}
    if calls:
        message["tool_calls"] = calls
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex[:12]}",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model", ""),
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {"prompt_tokens": used, "completion_tokens": 10, "total_tokens": used + 10},
    }


def events(whole: Body) -> Iterator[tuple[str, Body]]:
    """Yield the answer as chunks of a stream; they have no name."""
    choice = whole["choices"][0]
    message = choice["message"]
    yield "", _chunk(whole, {"role": "assistant", "content": ""})
    if message["content"]:
        yield "", _chunk(whole, {"content": message["content"]})
    for call in message.get("tool_calls", []):
        yield "", _chunk(whole, {"tool_calls": [call]})
    yield "", {**_chunk(whole, {}, choice["finish_reason"]), "usage": whole["usage"]}


def _chunk(whole: Body, delta: Body, reason: str | None = None) -> Body:
    head = {name: whole[name] for name in ("id", "created", "model")}
    choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
    return {**head, "object": "chat.completion.chunk", "choices": choices}
