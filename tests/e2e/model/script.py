"""Choose the next turn of the model: a script has a list of turns for each known prompt."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.model.conversation import Conversation

Turn = dict[str, Any]
"""{"text": …}, {"tool": name, "input": {…}}, {"calls": [{"tool": …, "input": …}, …]}, or for Codex {"custom": name,
"input": text} and {"tool_search": {…}}. A turn may have a text beside its calls, and `input_tokens`, the number of
tokens that the model reports as used. {"refused": code, "text": …} is an answer of the service, not of the model."""
Step = Turn | Callable[[Conversation], Turn]
"""A turn, or a function that returns one: it may read ids from the conversation, or wait for something."""
END = "THE-SCRIPT-IS-AT-ITS-END"


@dataclass(frozen=True)
class Rule:
    """The turns that follow the last message of the user in which `pattern` is found."""

    pattern: re.Pattern[str]
    steps: Sequence[Step]


@dataclass
class Script:
    """A list of rules. If two match the same message, the first one counts."""

    rules: list[Rule] = field(default_factory=list)
    side: str = "ok"
    """The answer to a request without tools, such as one for a title."""

    def on(self, pattern: str, *steps: Step) -> None:
        """Add the turns that follow a message in which the pattern is found."""
        self.rules.append(Rule(re.compile(pattern), steps))

    def next_turn(self, conversation: Conversation) -> tuple[Turn, int]:
        """Return the next turn and its number. The newest message that matches a rule decides."""
        found = [(conversation.last_matching(rule.pattern), -index) for index, rule in enumerate(self.rules)]
        place, index = max(found, default=(-1, 0))
        if place < 0:
            return {"text": END if conversation.tools else self.side}, 0
        number = conversation.turns_after(place)
        steps = self.rules[-index].steps
        if number >= len(steps):
            return {"text": END}, number
        step = steps[number]
        return (step if isinstance(step, dict) else step(conversation)), number


def calls_of(turn: Turn) -> list[Turn]:
    """Return the calls of a turn."""
    if "calls" in turn:
        return list(turn["calls"])
    return [turn] if {"tool", "custom", "tool_search"} & set(turn) else []
