"""An acting message reads each file once."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.knowledge import notes
from nexus_mcp.store.folder import Folder
from nexus_mcp.tags import markdown, parse
from nexus_mcp.tags.act import act
from nexus_mcp.tags.parse import MAX_CHARACTERS, MOST, Message
from nexus_mcp.workspace import Workspace
from tests.events import handle
from tests.support import Project
from tests.tags.support import NAMES, store_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def said(project: Project, prompt: str) -> dict[str, Any]:
    params = {"session_id": "s", "prompt": prompt}
    return handle("user_message", params, Workspace(str(project.root), "claude-code"))


def test_a_message_is_parsed_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its tags are for."""
    find, calls = markdown.find_plain_brackets, []

    def noted(text: str, last: int) -> Iterator[int]:
        calls.append(text)
        return find(text, last)

    monkeypatch.setattr(parse, "find_plain_brackets", noted)
    prompt = "[plan] x [d] y [m] Locks are slow. [rule] Be kind. [m:gc]"
    assert said(project, prompt)["tags"] == ["plan", "d", "m", "rule", "m:gc"]
    assert calls == [prompt]


def test_only_the_first_tags_are_made() -> None:
    """Of the others it is known how many there are; the last that is made ends where they begin."""
    message = Message("[m] a. " * 30_000, NAMES)
    assert (len(message.tags), message.left_out) == (MOST, 30_000 - MOST)
    assert {tag["text"] for tag in message.tags} == {"a."}
    assert Message("none", NAMES).tags == []


def test_tags_stand_at_the_beginning() -> None:
    """A longer message was pasted: no tag is searched beyond the limit, but a text to store continues beyond it."""
    message = Message("[m] " + "a" * MAX_CHARACTERS + "[plan]", NAMES)
    assert [(tag["tag"], len(tag["text"])) for tag in message.tags] == [("m", MAX_CHARACTERS + len("[plan]"))]


def test_each_note_is_read_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many tags of a message keep a text, and none of them under the lock, where others wait."""
    for number in range(50):
        project.put(f"memory/note-{number}.md", f"<!-- tags: t{number} -->\nWords of {number}x.\n")
    opened: list[str] = []
    held: list[bool] = []
    open_, locked = Folder.open, notes.locked_folder

    def noted(self: Folder, name: str, flags: int, *others: Any) -> int:
        if name.startswith("note-") and not name.startswith("note-zeta"):
            opened.append(name)
            assert not held
        return open_(self, name, flags, *others)

    @contextmanager
    def noting(*args: Any) -> Iterator[Any]:
        with locked(*args) as inner:
            held.append(True)
            yield inner
            held.clear()

    monkeypatch.setattr(Folder, "open", noted)
    monkeypatch.setattr(notes, "locked_folder", noting)
    context = said(project, "[m] Zeta eta theta. [m] Iota kappa lambda. [m] Omikron rho sigma.")["context"]
    assert context.count("is carried out already: created") == 3
    assert len(opened) == len(set(opened)) == 50


def test_next_tag_sees_the_stored_note(project: Project) -> None:
    """A text that a message has twice is stored once, and a text that belongs to that note is added to it."""
    done = act(
        "[m] locks.md: Locks are slow on NFS shares. [m] Locks are slow on NFS shares. [m] NFS shares slow locks.",
        load(None),
        store_of(project),
    )
    assert [(step["result"], step["path"]) for step in done["steps"]] == [
        ("created", "memory/locks.md"),
        ("unchanged", "memory/locks.md"),
        ("would_extend", "memory/locks.md"),
    ]


@pytest.mark.requirement("memory.merge")
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_note_created_meanwhile_is_seen(project: Project, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """It is seen under the lock, and the text that belongs to it is not kept beside it."""
    locked = notes.locked_folder

    @contextmanager
    def late(*args: Any) -> Iterator[Any]:
        project.put("memory/theirs.md", f"<!-- tags: x -->{end}Locks are slow on NFS shares.{end}")
        with locked(*args) as inner:
            yield inner

    monkeypatch.setattr(notes, "locked_folder", late)
    (step,) = act("[m] Locks are slow on NFS mounts", load(None), store_of(project))["steps"]
    assert (step["result"], step["path"]) == ("would_extend", "memory/theirs.md")


def test_the_word_tags_is_no_word_of_a_note(project: Project) -> None:
    """From the line of tags only the tags themselves count as words of a note."""
    results = [
        act(message, load(None), store_of(project))["steps"][0]["result"]
        for message in ("[m] Deploy Friday", "[m] git tags: deploy them signed")
    ]
    assert results == ["created", "created"]


def test_long_repeated_text_is_stored_once(project: Project) -> None:
    """A repeated text is stored once, even if it is longer than the compared part, or at the end of a long note."""
    long = "\n\n".join(
        f"Paragraph {number} tells of topic{number}, with {number * 7} and so on." for number in range(200)
    )
    line = " ".join(f"word{number}" for number in range(900))
    for text in (long, line):
        results = [act(f"[m] {text}", load(None), store_of(project))["steps"][0]["result"] for _ in range(2)]
        assert results == ["created", "unchanged"]
    project.put("memory/large.md", "filler " * 90_000 + "\n\nQuokka.\n")
    (step,) = act("[m] Quokka.", load(None), store_of(project))["steps"]
    assert (step["result"], step["path"]) == ("unchanged", "memory/large.md")
