"""Record for each session which texts its model has in its context, so that hooks do not repeat them.

Each hook is a new process, so the record is in a file, `.nexus/state/HARNESS/remembered.extension.json`, with an entry
for each of the last MAX_SESSIONS sessions. If the file is lost, the model gets some texts again, but the active skill
is not sent again after a compaction, and the CARRIED warnings are lost. An entry has some of these keys:

- skill, mode: the active skill and its mode; work: there was a plan or a task list for the skill; history: the size of
  history.json at the start of the skill;
- HINTED: the first message of the session has passed, so no more hints of skills are sent;
- DIGESTS: digests of the texts that the model got since the last compaction or the start; by: the event that sent the
  working context after the last compaction, or BOTH after the second event of that compaction or a user message;
- CARRIED: warnings of events whose answer the harness drops, for the next event that reaches the model;
- STOPPED: the state of the work for which the end of a turn was refused; HELD: the last end of a turn was
  refused.

A harness may report one compaction twice: by context_compact, and by session_start with source "compact". The second
event sends only texts that changed in between. If a user message came in between, or if both events are of the same
kind, the second event sends all texts.
"""

from __future__ import annotations

import os

from nexus_mcp.errors import NexusError, StateError
from nexus_mcp.store import atomic
from nexus_mcp.store.codec import decode, encode
from nexus_mcp.store.harness_files import own_folder
from nexus_mcp.store.paths import PLAN, TASKS

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from nexus_mcp.lifecycle.definition import EventContext
    from nexus_mcp.store.folder import Folder

    Entry = dict[str, Any]

FILE = "remembered.extension.json"
MAX_BYTES = 1 << 20
MAX_SESSIONS = 16
"""The maximum number of sessions in the file. The session whose entry was saved the longest ago is dropped."""
_LONGEST_ID = 200
_TEXTS = ("session_id", "at", "skill", "mode", "work", "history", "by", "stopped", "held", "hinted", "carried")
COMPACTED, STARTED, BOTH = "context_compact", "session_start", "both"
OTHER = {COMPACTED: STARTED, STARTED: COMPACTED}
SKILL, PLAN_TEXT, TASKS_TEXT = "skill", "plan", "tasks"
SEEN = "seen"
HINTED = "hinted"
DIGESTS = "given"
STOPPED, HELD, CARRIED = "stopped", "held", "carried"
_MOST_CARRIED = 4000  # characters
_GONE = {PLAN_TEXT: "No plan is open any more.", TASKS_TEXT: "There is no task list any more."}
_OVER = dict.fromkeys(("skill", "mode", "work", "history"))


class SessionMemory:
    """The memory of one session. An event creates one object, and calls `save` or `forget` at most once.

    `fields` has the keys of the entry, with the changes by `note`. `has_place` says whether the project has a folder of
    this harness, as after a session_start; it is True, too, if that is unknown. Without that folder, no hints of skills
    are sent, and `select_new` records nothing.
    """

    __slots__ = ("_changes", "_ctx", "_session", "fields", "has_place")

    def __init__(self, ctx: EventContext, session: str) -> None:
        self._ctx = ctx
        self._session = session[:_LONGEST_ID]
        self._changes: dict[str, Any] = {}
        self.fields: Entry = {}
        self.has_place = True
        try:
            with ctx.store.state() as state:
                own = None if state is None else state.child(ctx.harness_id)
                self.has_place = own is not None
                if own is not None:
                    with own:
                        self.fields = _entry_of(_read(own)[0], self._session)
        except NexusError:  # the next write reports the fault
            return

    def note(self, fields: Mapping[str, object]) -> None:
        """Change keys in `fields`, and in the entry at the next `save`; None removes a key."""
        self._changes |= fields
        self.fields = {name: value for name, value in {**self.fields, **fields}.items() if value is not None}

    def save(self, choose: Callable[[Entry], dict[str, Any]] | None = None) -> bool:
        """Write the changes by `note`. `choose`, if present, gets the entry as read under the lock, and returns more
        changes.

        Return whether the file has the changes now; if not, a warning has the reason.
        """
        if not (self._changes or choose):
            return True
        now = self._ctx.store.stamp()

        def change(entries: list[Entry]) -> list[Entry]:
            known = _entry_of(entries, self._session)
            more = {} if choose is None else choose(known)
            merged = {**known, "session_id": self._session, "at": now, **self._changes, **more}
            new = {name: value for name, value in merged.items() if value is not None}
            return [*(entry for entry in entries if entry is not known), new][-MAX_SESSIONS:]

        return _change(self._ctx, change)

    def forget(self) -> None:
        """Delete the memory of the session."""
        if self.fields:
            _change(self._ctx, lambda entries: [one for one in entries if one["session_id"] != self._session])

    def select_new(self, parts: Mapping[str, str]) -> list[str]:
        """Return the non-empty parts that the model does not have, and a line about each part that is empty now and was
        not before. Note that the model has the parts now.

        Without a session id, or in a project where no session of this harness started, the model gets all parts
        until the first compaction.
        """
        known, before = self.fields, self.fields.get(DIGESTS, {})
        if "by" not in known and not (self._session and self.has_place):
            return [text for text in parts.values() if text]
        digests = {name: digest(text) for name, text in parts.items() if text}
        now = {**{name: seen for name, seen in before.items() if name not in parts}, **digests}
        if now != before or known.get("by") in OTHER:
            self.note({DIGESTS: now or None, **({"by": BOTH} if "by" in known else {})})
        new = {name: text or _GONE[name] for name, text in parts.items() if digests.get(name) != before.get(name)}
        return [*new.values()]

    def select_skills(self, skills: Mapping[str, tuple[str, str]]) -> list[tuple[str, str, str]]:
        """Return (skill, mode, text) of each skill that a tag of this message starts, and note the last one as the
        active skill.

        `skills` maps a skill to (mode, text). If the model already got the text after the last compaction, the text is
        "" in the result; if the skill is also active in the same mode, the skill is left out.
        """
        known, digests = self.fields, dict(self.fields.get(DIGESTS, {}))
        found = []
        for skill, (mode, text) in skills.items():
            key, seen = f"{SKILL}:{skill}", skill_digest(text)
            if digests.get(key) != seen:
                found.append((skill, mode, text))
            elif (skill, mode) != (known.get("skill"), known.get("mode", "")):
                found.append((skill, mode, ""))
            digests[key] = seen
        skill, (mode, _) = [*skills.items()][-1]
        self.note_skill(skill, mode)
        if "by" in known:  # before the first compaction, each tag sends the text of its skill
            self.note({DIGESTS: digests})
        return found

    def note_skill(self, skill: str, mode: str) -> None:
        """Note the active skill, and the size of the history at its start."""
        self.note({**_OVER, "skill": skill, "mode": mode or None, "history": _history(self._ctx) or None})

    def carry(self, warnings: list[str]) -> None:
        """Note warnings for the next event of the session that reaches the model."""
        text = "\n".join(filter(None, [self.fields.get(CARRIED, ""), *warnings]))
        self.note({CARRIED: text[:_MOST_CARRIED]})

    def take_carried(self) -> list[str]:
        """Return the warnings of earlier events, and note that they are delivered."""
        text = self.fields.get(CARRIED, "")
        if text:
            self.note({CARRIED: None})
        return text.split("\n") if text else []

    def begin_turn(self) -> None:
        """Note that a new turn begins, so that its end may be refused again."""
        if HELD in self.fields:
            self.note({HELD: None})

    def end_skill(self, *, has_work: bool) -> None:
        """Remove the active skill if it has ended; if there is work for it, note that. `has_work`: the caller has read
        a plan or a task list.

        Work is a plan or a task list. `task_close` removes both, so the skill has ended if there is no work now, and
        either there was work for it, or the size of history.json has changed since its start. Otherwise the skill lasts
        until another one starts, or the session ends.
        """
        known = self.fields
        if "skill" not in known:
            return
        if has_work or _has_work(self._ctx):
            if "work" not in known:
                self.note({"work": SEEN})
        elif "work" in known or _differ(known.get("history", ""), _history(self._ctx)):
            self.note(_OVER)


def digest(text: str) -> str:
    """Return a short digest of a text. It need not be cryptographic, because a forged collision has no use."""
    from zlib import crc32

    data = text.encode("utf-8", "surrogatepass")
    return f"{len(data)}-{crc32(data):08x}"


def skill_digest(text: str) -> str:
    """Return the digest of the text of a skill without its first line, which names the skill and the mode."""
    return digest(text.partition("\n\n")[2])


def _has_work(ctx: EventContext) -> bool:
    """Return whether there is a plan or a task list, or the folder cannot be read.

    A malformed file counts, because its cycle is not closed.
    """
    try:
        with ctx.store.state() as state:
            return state is not None and (state.check_plain(PLAN) or state.check_plain(TASKS))
    except NexusError:  # the next read reports the fault
        return True


def _history(ctx: EventContext) -> str:
    """Return the size of history.json in bytes as text, "0" without the file, "" if it is unknown.

    The file grows with each closed cycle.
    """
    try:
        return str(os.lstat(os.path.join(ctx.workspace.state_root, ".nexus", "history.json")).st_size)
    except FileNotFoundError:
        return "0"
    except OSError:  # the next read reports it
        return ""


def _differ(size: str, now: str) -> bool:
    """Return whether two sizes are known and differ."""
    return "" not in (size, now) and size != now


def _change(ctx: EventContext, make: Callable[[list[Entry]], list[Entry]]) -> bool:
    """Replace the entries with those that `make` returns. An unusable file is kept under another name.

    Return whether the file has these entries now; if not, a warning has the reason.
    """
    kept = ""
    try:
        with own_folder(ctx.store, ctx.harness_id) as (own, held):
            entries, is_usable = _read(own)
            made = make(entries)
            if is_usable and made == entries:
                return True
            kept = "" if is_usable else own.show(atomic.set_aside(own, FILE, f"conflict-{FILE}"))
            atomic.put(own, FILE, encode({"sessions": made}), held.check)
    except NexusError as error:
        ctx.warn(f"The state of this session could not be saved, so texts may be repeated: {error}")
        return False
    if kept:
        ctx.warn(f"The saved state of earlier sessions could not be read, and is kept as {kept}. Check its content.")
    return True


def _read(own: Folder) -> tuple[list[Entry], bool]:
    """Return (the entries of all sessions, whether the file is usable or absent).

    The checks are written in this module: they run for each user message, and a check by the schema
    (remembered.schema.json) would take longer. Raise PathRefused, StorageError.
    """
    try:
        data = own.read(FILE, MAX_BYTES)
        value = {"sessions": []} if data is None else decode(data, own.show(FILE))
    except StateError:
        return [], False
    entries = value.get("sessions") if isinstance(value, dict) else None
    return (entries, True) if isinstance(entries, list) and all(map(_is_entry, entries)) else ([], False)


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict) or "session_id" not in entry:
        return False
    digests = entry.get(DIGESTS, {})
    return (
        all(isinstance(entry.get(name, ""), str) for name in _TEXTS)
        and isinstance(digests, dict)
        and all(isinstance(seen, str) for seen in digests.values())
    )


def _entry_of(entries: list[Entry], session: str) -> Entry:
    return next((entry for entry in entries if entry["session_id"] == session), {})
