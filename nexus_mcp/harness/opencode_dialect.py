"""Translate reports of the OpenCode plugin into our events, and our answers into answers for the plugin.

The plugin (assets/harnesses/opencode/plugin.js) sends a line of JSON for each event and gets one back. The plugin makes
no decision itself, but it refuses a tool for which it gets no answer in time.

A report: {"id": N, "event": ONE OF EVENTS, "session": ID, "parent": ID, "agent": NAME, …its fields}. `parent` is the
session of the lead, "" in a session of the user, and null if the plugin does not know it. Each report has `parent`,
because this process may have started after the session, and OpenCode reports the start of a session only once. The
answer: {"id": N}, with at most one of `deny` (the reason why the tool is refused), `context` (a text for the model) and
`goes_on` (a text with which the turn continues).
"""

from __future__ import annotations

from nexus_mcp.harness.dialect import LIMIT, origin_of, refusal_of, text_of
from nexus_mcp.lifecycle.definition import BLOCK, DENY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Json = dict[str, Any]
    Ask = Callable[[str, Json], Json]

_GAP = "\n\n"
MOST_SESSIONS = 10_000
"""The maximum number of sessions in each table of `Sessions`; beyond it, the oldest are forgotten."""


class Sessions:
    """The sessions of one OpenCode process: `ask(event, params)` returns the answer to one of our events."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._agents: dict[str, tuple[str, str]] = {}  # session of a subagent → (its name, the session of its lead)
        self._running: dict[str, None] = {}  # subagents that have begun and not ended
        self._started: dict[str, None] = {}
        self._commands: dict[str, None] = {}  # sessions whose next message is the text of a command
        self._texts: dict[str, str] = {}  # session → the last text of its model
        self._waiting: dict[str, list[str]] = {}  # session → context for its next request

    def handle(self, report: Json) -> Json:
        """Return the answer to a report of the plugin, without its id. An unknown event is answered with {}."""
        row = EVENTS.get(report.get("event", ""))
        if row is None:
            return {}
        session, parent = _text(report, "session"), _text(report, "parent")
        if parent and session not in self._agents:
            self._agents[session] = _text(report, "agent"), parent
            _drop_oldest(self._agents)
        return row(self, report)

    def handle_creation(self, report: Json) -> Json:
        """Handle the start of a session: a subagent's, if it has a parent, else a session of the user."""
        session = _text(report, "session")
        if session in self._agents:
            self._spawn(session)
        elif session not in self._started:  # a message may have started the session before
            self._start(session, "startup")
        return {}

    def message(self, report: Json) -> Json:
        """Handle a message of the user, or the task of a subagent. Tags in a task are ignored."""
        session = _text(report, "session")
        if session in self._agents:
            self._spawn(session)
            return self._context(session, {})
        if session not in self._started:
            self._start(session, "resume")
        origin = "command" if self._commands.pop(session, 0) is None else "user"
        if _is_unknown(report):  # the message may be the task of a subagent
            origin = "system"
        prompt = _text(report, "prompt")
        # `opencode run` puts the prompt in quotation marks, with a backslash before each quotation mark in it.
        if len(prompt) > 1 and prompt.startswith('"') and prompt.endswith('"'):
            prompt = prompt[1:-1].replace('\\"', '"')
        if origin == "user":
            origin = origin_of({"prompt": prompt})
        return self._context(session, self._ask("user_message", {**_of(session), "prompt": prompt, "origin": origin}))

    def command(self, report: Json) -> Json:
        """Handle a command of the user: its text arrives as a message, in which tags are ignored because the user did
        not type them.
        """
        self._commands[_text(report, "session")] = None
        _drop_oldest(self._commands)
        return {}

    def before(self, report: Json) -> Json:
        """Handle a tool call before the tool runs."""
        answer = self._ask("pre_tool_use", self._tool(report))
        if answer["decision"] in (DENY, BLOCK):
            return {"deny": refusal_of(answer)}
        self._wait(_text(report, "session"), answer)
        return {}

    def after(self, report: Json) -> Json:
        """Handle a tool call after the tool has run, or has failed (then the report has a `status`). OpenCode adds no
        text to the result of a failed call, so the context waits for the next request.
        """
        session, status = _text(report, "session"), _text(report, "status")
        answer = self._ask("post_tool_use", {**self._tool(report), "status": status or "ok"})
        if status:
            self._wait(session, answer)
            return {}
        return self._context(session, answer)

    def request(self, report: Json) -> Json:
        """Handle the next request to the model: return the waiting context of its session, up to LIMIT characters.

        The context keeps waiting, because OpenCode drops it after this request; only a message or a tool result stays
        in the conversation.
        """
        texts = self._waiting.get(_text(report, "session"), [])
        return {"context": _split(texts)[0]} if texts else {}

    def text(self, report: Json) -> Json:
        """Handle a text of the model, perhaps its last one."""
        self._texts[_text(report, "session")] = _text(report, "text")
        _drop_oldest(self._texts)
        return {}

    def idle(self, report: Json) -> Json:
        """Handle an idle session: the end of a subagent, or of a turn."""
        session = _text(report, "session")
        last = self._texts.pop(session, "")
        own = self._agents.get(session)
        if own is not None:
            self._running.pop(session, None)
            params = {**_of(own[1]), "agent_id": session, **({"last_message": last} if last else {})}
            self._wait(own[1], self._ask("subagent_complete", params))
            return {}
        answer = self._ask("turn_end", _of(session))
        return {"goes_on": answer["reason"]} if answer["decision"] == BLOCK else {}

    def handle_compaction(self, report: Json) -> Json:
        """Handle a compaction: the context of a session start waits again for the next request of the session."""
        session = _text(report, "session")
        self._wait(session, self._ask("session_start", {**_of(session), "source": "compact"}))
        return {}

    def handle_deletion(self, report: Json) -> Json:
        """Handle the deletion of a session."""
        session = _text(report, "session")
        self._running.pop(session, None)
        if self._agents.pop(session, None) is None and self._started.pop(session, 0) is None:
            self._ask("session_end", _of(session))
        return {}

    def end(self) -> None:
        """End all sessions of the user, because OpenCode stops."""
        for session in [*self._started]:
            self.handle_deletion({"session": session})

    def _start(self, session: str, source: str) -> None:
        self._started[session] = None
        _drop_oldest(self._started)
        self._wait(session, self._ask("session_start", {**_of(session), "source": source}))

    def _spawn(self, session: str) -> None:
        """Report that a subagent begins, or resumes after its end; report nothing while it runs."""
        if session in self._running:
            return
        self._running[session] = None
        _drop_oldest(self._running)
        name, parent = self._agents[session]
        self._wait(session, self._ask("subagent_spawn", {**_of(parent), "agent_id": session, "agent_name": name}))

    def _tool(self, report: Json) -> Json:
        session = _text(report, "session")
        params = {**_of(session), "tool": report.get("tool"), "tool_input": report.get("input")}
        if session in self._agents:
            name, parent = self._agents[session]
            params |= {**_of(parent), "agent_id": session, **({"agent_name": name} if name else {})}
        elif _is_unknown(report):  # an agent without a known name gets the restrictions of all agents
            params["agent_id"] = session
        return params

    def _wait(self, session: str, answer: Json) -> None:
        text = text_of(answer, LIMIT)
        if text:
            self._waiting.setdefault(session, []).append(text)
            _drop_oldest(self._waiting)

    def _context(self, session: str, answer: Json) -> Json:
        own = [text] if answer and (text := text_of(answer, LIMIT)) else []
        waiting = self._waiting.pop(session, [])
        if not waiting and not own:
            return {}
        text, rest = _split([*waiting, *own])
        if rest and own:  # over the limit: this event's context goes first, since it may be a skill that a tag starts
            text, rest = _split([*own, *waiting])
        if rest:
            self._waiting[session] = rest
        return {"context": text}


EVENTS: dict[str, Callable[[Sessions, Json], Json]] = {
    "created": Sessions.handle_creation,
    "message": Sessions.message,
    "command": Sessions.command,
    "before": Sessions.before,
    "after": Sessions.after,
    "request": Sessions.request,
    "text": Sessions.text,
    "idle": Sessions.idle,
    "compacted": Sessions.handle_compaction,
    "deleted": Sessions.handle_deletion,
}


def _of(session: str) -> Json:
    return {"session_id": session}


def _is_unknown(report: Json) -> bool:
    """Return whether the plugin does not know if the session belongs to a subagent.

    A newer OpenCode may name the lead by a value that is no text: then the session may belong to a subagent, too.
    """
    return not isinstance(report.get("parent", ""), str)


def _split(texts: list[str]) -> tuple[str, list[str]]:
    """Return (the first texts that fit the limit together, as one text; the other texts). Each text alone fits."""
    fitting, size = 1, len(texts[0])
    for text in texts[1:]:
        size += len(_GAP) + len(text)
        if size > LIMIT:
            break
        fitting += 1
    return _GAP.join(texts[:fitting]), texts[fitting:]


def _text(report: Json, name: str) -> str:
    value = report.get(name)
    return value if isinstance(value, str) else ""


def _drop_oldest(kept: dict[str, Any]) -> None:
    while len(kept) > MOST_SESSIONS:
        del kept[next(iter(kept))]
