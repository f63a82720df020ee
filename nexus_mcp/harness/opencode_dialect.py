"""Translate reports of the OpenCode plugin into our events, and our answers into commands for the plugin.

The plugin (assets/harnesses/opencode/plugin.js) sends a line of JSON for each event and gets one back. It sends only
facts. This module keeps which sessions are subagents, because OpenCode reports only the id of a session.

A report: {"id": N, "event": ONE OF EVENTS, …its fields}. The answer: {"id": N} with `deny` (a tool is refused, with the
reason), `context` (text for the model), `goes_on` (the turn goes on, with this text).
"""

from __future__ import annotations

from nexus_mcp.harness.dialect import text_of
from nexus_mcp.lifecycle.definition import BLOCK, DENY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Json = dict[str, Any]
    Ask = Callable[[str, Json], Json]

LIMIT = 16_000
"""Characters of a context; OpenCode delivers it whole."""
MOST_SESSIONS = 10_000
"""Sessions that are kept in memory; beyond that the oldest are forgotten."""


class Sessions:
    """The sessions of one OpenCode process: `ask(event, params)` answers one of our events."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._agents: dict[str, tuple[str, str]] = {}  # session of a subagent → (its name, the session of its lead)
        self._started: dict[str, None] = {}
        self._commands: dict[str, None] = {}  # sessions whose next message is the text of a command
        self._texts: dict[str, str] = {}  # session → the last text of its model
        self._waiting: dict[str, list[str]] = {}  # session → context for its next request

    def handle(self, report: Json) -> Json:
        """Return the answer to a report of the plugin, without its id. An unknown event is answered with {}."""
        row = EVENTS.get(report.get("event", ""))
        return {} if row is None else row(self, report)

    def created(self, report: Json) -> Json:
        """A session begins: a subagent's, if it has a parent, else a session of the user."""
        session, parent = _text(report, "session"), _text(report, "parent")
        if not parent:
            self._start(session, "startup")
            return {}
        name = _text(report, "agent")
        self._agents[session] = name, parent
        _bound(self._agents)
        self._wait(session, self._ask("subagent_spawn", {**_of(parent), "agent_id": session, "agent_name": name}))
        return {}

    def message(self, report: Json) -> Json:
        """A message of the user, or the task of a subagent, which has no tags."""
        session = _text(report, "session")
        if session in self._agents:
            return self._context(session, {})
        if session not in self._started:
            self._start(session, "resume")
        origin = "command" if self._commands.pop(session, 0) is None else "user"
        prompt = _text(report, "prompt")
        # `opencode run` puts the words between quotation marks.
        if len(prompt) > 1 and prompt.startswith('"') and prompt.endswith('"'):
            prompt = prompt[1:-1]
        return self._context(session, self._ask("user_message", {**_of(session), "prompt": prompt, "origin": origin}))

    def command(self, report: Json) -> Json:
        """A command of the user: its text arrives as a message, and no tag in it was typed."""
        self._commands[_text(report, "session")] = None
        _bound(self._commands)
        return {}

    def before(self, report: Json) -> Json:
        """A tool is about to run."""
        answer = self._ask("pre_tool_use", self._tool(report))
        if answer["decision"] in (DENY, BLOCK):
            return {"deny": answer["reason"]}
        self._wait(_text(report, "session"), answer)
        return {}

    def after(self, report: Json) -> Json:
        """A tool has run, or has failed (`status`)."""
        answer = self._ask("post_tool_use", {**self._tool(report), "status": _text(report, "status") or "ok"})
        return self._context(_text(report, "session"), answer)

    def request(self, report: Json) -> Json:
        """The model is about to be called: return the context that waits for its session."""
        return self._context(_text(report, "session"), {})

    def text(self, report: Json) -> Json:
        """The model has written a text, perhaps its last one."""
        self._texts[_text(report, "session")] = _text(report, "text")
        _bound(self._texts)
        return {}

    def idle(self, report: Json) -> Json:
        """A session has nothing to do: the end of a subagent, or of a turn."""
        session = _text(report, "session")
        last = self._texts.pop(session, "")
        own = self._agents.get(session)
        if own is not None:
            params = {**_of(own[1]), "agent_id": session, **({"last_message": last} if last else {})}
            self._wait(own[1], self._ask("subagent_complete", params))
            return {}
        answer = self._ask("turn_end", _of(session))
        return {"goes_on": answer["reason"]} if answer["decision"] == BLOCK else {}

    def compacted(self, report: Json) -> Json:
        """The context of a session was compacted: send everything with the next request."""
        session = _text(report, "session")
        self._wait(session, self._ask("session_start", {**_of(session), "source": "compact"}))
        return {}

    def deleted(self, report: Json) -> Json:
        """A session was deleted."""
        session = _text(report, "session")
        if self._agents.pop(session, None) is None and self._started.pop(session, 0) is None:
            self._ask("session_end", _of(session))
        return {}

    def end(self) -> None:
        """End all sessions: OpenCode stops."""
        for session in [*self._started]:
            self.deleted({"session": session})

    def _start(self, session: str, source: str) -> None:
        self._started[session] = None
        _bound(self._started)
        self._wait(session, self._ask("session_start", {**_of(session), "source": source}))

    def _tool(self, report: Json) -> Json:
        session = _text(report, "session")
        params = {**_of(session), "tool": report.get("tool"), "tool_input": report.get("input")}
        if session in self._agents:
            name, parent = self._agents[session]
            params |= {**_of(parent), "agent_id": session, **({"agent_name": name} if name else {})}
        return params

    def _wait(self, session: str, answer: Json) -> None:
        text = text_of(answer, LIMIT)
        if text:
            self._waiting.setdefault(session, []).append(text)
            _bound(self._waiting)

    def _context(self, session: str, answer: Json) -> Json:
        own = text_of(answer, LIMIT) if answer else ""
        texts = [*self._waiting.pop(session, []), *([own] if own else [])]
        text = "\n\n".join(texts)[:LIMIT]
        return {"context": text} if text else {}


EVENTS: dict[str, Callable[[Sessions, Json], Json]] = {
    "created": Sessions.created,
    "message": Sessions.message,
    "command": Sessions.command,
    "before": Sessions.before,
    "after": Sessions.after,
    "request": Sessions.request,
    "text": Sessions.text,
    "idle": Sessions.idle,
    "compacted": Sessions.compacted,
    "deleted": Sessions.deleted,
}


def _of(session: str) -> Json:
    return {"session_id": session}


def _text(report: Json, name: str) -> str:
    value = report.get(name)
    return value if isinstance(value, str) else ""


def _bound(kept: dict[str, Any]) -> None:
    while len(kept) > MOST_SESSIONS:
        del kept[next(iter(kept))]
