"""A request of any dialect in one form: the texts that the model sees, and the tools that it may call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_TURN = re.compile(r"(?:toolu|call)_t(\d+)_")
_HEAD = re.compile(r"\A(?:[^\n]+\n)*?Output:\n")  # Codex writes the duration of the call first


@dataclass(frozen=True)
class Tool:
    """A tool that the request offers; Codex groups tools in namespaces."""

    name: str
    namespace: str = ""


@dataclass(frozen=True)
class Call:
    """A call that the model made earlier in the conversation."""

    id: str
    name: str
    input: Any


@dataclass(frozen=True)
class Result:
    """The result of a call as the model sees it."""

    id: str
    text: str
    is_error: bool = False

    @property
    def value(self) -> Any:
        """The JSON value in the text; a client may add its own text before and behind the value."""
        return json.JSONDecoder().raw_decode(_HEAD.sub("", self.text, count=1).lstrip())[0]


@dataclass
class Message:
    """One message or item. `role` is user, assistant or tool."""

    role: str
    texts: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)


@dataclass
class Conversation:
    """A whole request."""

    system: str
    messages: list[Message]
    tools: list[Tool]

    @property
    def text(self) -> str:
        """The text that the model reads, without the descriptions of tools."""
        parts = [self.system]
        for message in self.messages:
            parts += message.texts
            parts += [result.text for result in message.results]
        return "\n".join(parts)

    def users(self) -> list[str]:
        """Return the text of each message except answers of the model, and messages with tool results only."""
        return ["\n".join(message.texts) for message in self.messages if message.role == "user" and message.texts]

    def results(self, tool: str = "") -> list[Result]:
        """Return the results of calls of tools whose name ends with `tool`, in their order."""
        names = {call.id: call.name for message in self.messages for call in message.calls}
        return [
            result for message in self.messages for result in message.results if names.get(result.id, "").endswith(tool)
        ]

    def last_matching(self, pattern: re.Pattern[str]) -> int:
        """Return the place of the last message of the user that has `pattern`; -1 if none has."""
        for place in range(len(self.messages) - 1, -1, -1):
            message = self.messages[place]
            if message.role == "user" and any(pattern.search(text) for text in message.texts):
                return place
        return -1

    def turns_after(self, place: int) -> int:
        """Return the number of turns of the model after the message at `place`, with calls or with text only."""
        numbers: set[str] = set()
        texts = 0
        rest = self.messages[place + 1 :]
        for index, message in enumerate(rest):
            found = {number for call in message.calls for number in _TURN.findall(call.id)}
            numbers |= found
            # In Responses the text and the calls of one turn are items of their own.
            goes_on = index + 1 < len(rest) and bool(rest[index + 1].calls)
            if message.role == "assistant" and message.texts and not message.calls and not goes_on:
                texts += 1
        return len(numbers) + texts

    def resolve(self, name: str) -> Tool:
        """Return the offered tool whose name is, or ends with, `name`; else a tool that has only this name."""
        for tool in self.tools:
            if name in (tool.name, f"{tool.namespace}{tool.name}", f"{tool.namespace}__{tool.name}"):
                return tool
        for tool in self.tools:
            if tool.name.endswith(name):
                return tool
        return Tool(name)


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts of a content: a string, or a list of blocks with `text`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for block in value:
            yield from texts_in(block)
    elif isinstance(value, dict):
        for member in ("text", "content", "encrypted_content"):
            if member in value:
                yield from texts_in(value[member])
