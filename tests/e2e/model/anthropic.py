"""Anthropic Messages, as Claude Code speaks it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from tests.e2e.model.conversation import Call, Conversation, Message, Result, Tool, texts_in
from tests.e2e.model.script import Turn, calls_of

ENDING = "/messages"
Body = dict[str, Any]


def read(body: Body) -> Conversation:
    """Return the parts of a request that the model sees."""
    messages = [_message(one) for one in body.get("messages", [])]
    tools = [Tool(tool["name"]) for tool in body.get("tools", []) if tool.get("name")]
    return Conversation("\n".join(texts_in(body.get("system", ""))), messages, tools)


def _message(one: Body) -> Message:
    content = one.get("content", "")
    message = Message(one.get("role", "user"))
    for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        kind = block.get("type")
        if kind == "tool_use":
            message.calls.append(Call(block["id"], block["name"], block["input"]))
        elif kind == "tool_result":
            text = "\n".join(texts_in(block.get("content", "")))
            message.results.append(Result(block["tool_use_id"], text, is_error=block.get("is_error") is True))
        else:
            message.texts += texts_in(block)
    return message


def answer(body: Body, conversation: Conversation, turn: Turn, number: int) -> Body:
    """Return the whole answer."""
    blocks: list[Body] = [{"type": "text", "text": turn["text"]}] if turn.get("text") else []
    calls = calls_of(turn)
    for place, call in enumerate(calls):
        id = f"toolu_t{number}_{place}_{uuid.uuid4().hex[:8]}"
        name = conversation.resolve(call["tool"]).name
        blocks.append({"type": "tool_use", "id": id, "name": name, "input": call.get("input", {})})
    return {
        "id": f"msg_{uuid.uuid4().hex[:20]}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", ""),
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": turn.get("input_tokens", 100),
            "output_tokens": 10,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def events(whole: Body) -> Iterator[tuple[str, Body]]:
    """Yield the answer as events of a stream: (name, data)."""
    begun = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    yield "message_start", {"message": begun}
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            first, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            first = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield "content_block_start", {"index": index, "content_block": first}
        yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    closing = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": closing, "usage": whole["usage"]}
    yield "message_stop", {}
