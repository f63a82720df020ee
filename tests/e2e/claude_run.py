"""Claude Code after a session: its requests, the contexts of the hooks, and the data that the test recorded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.claude_code import ID, ClaudeCode
from tests.e2e.model.conversation import Conversation
from tests.e2e.model.server import Model, Request
from tests.e2e.scratch import Scratch

# The newest models get the context without this element, so the agents of these tests use the standard model.
_CONTEXT = re.compile(r"hook additional context: (.*?)\n</system-reminder>", re.DOTALL)
TRACKER = f"state/{ID}/agent-tracker.json"
LIMIT = 9_000  # characters; Claude Code shows 2 KB of a context with more than 10 000
SUMMARY = "<analysis>Short.</analysis>\n<summary>The user works on links.</summary>"
FOREIGN = {
    ".mcp.json": '{\n    "mcpServers": {"other": {"command": "/bin/false", "args": []}}\n}',
    ".claude/settings.json": '{"disabledMcpjsonServers": ["other"],\n\t"model": "sonnet"}\n',
    ".claude/agents/mine.md": "---\nname: mine\ndescription: Mine.\n---\nMine.\n",
    ".gitignore": "*.log\n",
}
"""Files of the user, as they are before install."""
Make = Callable[[], ClaudeCode]


@contextmanager
def clients(program: Path, folder: Callable[[str], Path]) -> Iterator[Make]:
    """Yield a function that makes a client with its own home, project and model. Check that no model had a fault."""
    models: list[Model] = []
    with ExitStack() as stack:

        def one() -> ClaudeCode:
            models.append(stack.enter_context(Model()))
            return ClaudeCode(program, Scratch(folder("claude")), models[-1])

        yield one
    assert [model.faults for model in models if model.faults] == []


@dataclass
class Run:
    """A client after its session, and the data recorded on the way."""

    claude: ClaudeCode
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def requests(self) -> list[Request]:
        return self.claude.model.with_tools()

    def last(self, pattern: str) -> Conversation:
        """Return the last request of a conversation whose user wrote the pattern: it has the whole conversation."""
        found = re.compile(pattern)
        return next(r.conversation for r in reversed(self.requests) if r.conversation.last_matching(found) >= 0)

    def contexts(self) -> list[str]:
        """Return each context that a hook added to a request, once for each request."""
        messages = [message for request in self.requests for message in request.conversation.messages]
        texts = [text for message in messages for text in (*message.texts, *(one.text for one in message.results))]
        return [context for text in texts for context in _CONTEXT.findall(text)]
