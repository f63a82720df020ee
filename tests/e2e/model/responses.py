"""OpenAI Responses, as Codex speaks it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from tests.e2e.model.conversation import Call, Conversation, Message, Result, Tool, texts_in
from tests.e2e.model.script import Turn, calls_of

ENDING = "/responses"
Body = dict[str, Any]
_CALLS = ("function_call", "custom_tool_call", "tool_search_call")


def read(body: Body) -> Conversation:
    """Return the parts of a request that the model sees."""
    given = body.get("input", [])
    items: list[Body] = [{"role": "user", "content": given}] if isinstance(given, str) else given
    offered = [*body.get("tools", [])]
    for item in items:
        if item.get("type") in ("additional_tools", "tool_search_output"):
            offered += item.get("tools", [])
    return Conversation(body.get("instructions") or "", [_message(item) for item in items], list(_tools(offered)))


def _tools(offered: list[Body]) -> Iterator[Tool]:
    for tool in offered:
        if tool.get("type") == "namespace":
            yield from (Tool(one["name"], tool["name"]) for one in tool.get("tools", []))
        elif tool.get("name"):
            yield Tool(tool["name"])


def _message(item: Body) -> Message:
    kind = item.get("type", "message")
    if kind in _CALLS:
        name = f"{item.get('namespace') or ''}{item.get('name', kind)}"
        asked = item.get("arguments", item.get("input"))
        return Message("assistant", calls=[Call(item.get("call_id", ""), name, asked)])
    if kind.endswith("_output"):
        text = "\n".join(texts_in(item.get("output", ""))) or json.dumps(item.get("tools", ""), ensure_ascii=False)
        return Message("tool", results=[Result(item.get("call_id", ""), text)])
    if kind == "message":
        return Message(item.get("role", "user"), list(texts_in(item.get("content", ""))))
    if kind == "agent_message":  # the task or the report of an agent of version 2
        return Message("user", list(texts_in(item)))
    return Message("other", list(texts_in(item)))


def answer(body: Body, conversation: Conversation, turn: Turn, number: int) -> Body:
    """Return the whole answer."""
    items: list[Body] = []
    if turn.get("text"):
        content = [{"type": "output_text", "text": turn["text"], "annotations": []}]
        items.append({"type": "message", "id": _id("msg"), "role": "assistant", "content": content})
    for place, call in enumerate(calls_of(turn)):
        id = f"call_t{number}_{place}_{uuid.uuid4().hex[:6]}"
        items.append({"call_id": id, **_call(conversation, call)})
    used = turn.get("input_tokens", 100)
    usage = {
        "input_tokens": used,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": used + 10,
    }
    return {
        "id": _id("resp"),
        "object": "response",
        "created_at": 0,
        "model": body.get("model"),
        "status": "completed",
        "output": [{**item, "status": "completed"} for item in items],
        "usage": usage,
    }


def _call(conversation: Conversation, call: Turn) -> Body:
    if "custom" in call:
        found = {"type": "custom_tool_call", "id": _id("ctc"), "name": call["custom"], "input": call["input"]}
        return {**found, "namespace": call["ns"]} if "ns" in call else found
    if "tool_search" in call:
        return {"type": "tool_search_call", "id": _id("ts"), "execution": "client", "arguments": call["tool_search"]}
    tool = conversation.resolve(call["tool"])
    found = {"type": "function_call", "id": _id("fc"), "name": tool.name}
    found["arguments"] = json.dumps(call.get("input", {}))
    return {**found, "namespace": tool.namespace} if tool.namespace else found


def _id(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:12]}"


def events(whole: Body) -> Iterator[tuple[str, Body]]:
    """Yield the answer as events of a stream: (name, data)."""
    yield "response.created", {"response": {**whole, "status": "in_progress", "output": [], "usage": None}}
    for index, item in enumerate(whole["output"]):
        place = {"output_index": index}
        yield "response.output_item.added", {**place, "item": {**item, "status": "in_progress"}}
        if item["type"] == "message":
            text = item["content"][0]["text"]
            yield "response.output_text.delta", {**place, "item_id": item["id"], "content_index": 0, "delta": text}
        elif item["type"] == "function_call":
            arguments = {"item_id": item["id"], "arguments": item["arguments"]}
            yield "response.function_call_arguments.done", {**place, **arguments}
        yield "response.output_item.done", {**place, "item": item}
    yield "response.completed", {"response": whole}
