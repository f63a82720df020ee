"""Make new notes in .nexus/memory/ from drafts; skip a draft that begins like an existing note or an earlier draft.

Two texts begin alike if their first SAME characters are the same. A tag line is not compared, and a run of white space
counts as one blank. No existing note is changed: if the name of a draft is taken, the new note gets a number.
"""

from __future__ import annotations

from nexus_mcp.knowledge import merge, notes
from nexus_mcp.knowledge.index import SUFFIX, names_of, parse_tag_line
from nexus_mcp.knowledge.merge import WIDE, words
from nexus_mcp.knowledge.scan import Scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.knowledge.drafts import Draft
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.store import Store

KIND = "memory"
SAME = 200
"""Texts with the same first SAME characters count as the same note."""
CREATED, CREATES, UNCHANGED = "created", "creates", "unchanged"
_READ_BYTES = 1 << 14
_MOST_TAGS = 5


def add(store: Store, drafts: list[Draft], policy: dict[str, Any], *, dry_run: bool = False) -> list[dict[str, Any]]:
    """Make a note from each draft, unless a note begins like it; return [{"source", "result", "path", "similar"}] for
    all drafts, in their order.

    `result` is CREATED (CREATES with `dry_run`), or UNCHANGED if the note `path` begins like the draft. `similar` has
    the paths of existing notes with similar words or the same tags. `policy` is vocabulary/memory-policy.yml. Raise
    StateError, PathRefused, StorageError, NotConfirmed; notes already made stay.
    """
    if dry_run:
        with store.nexus() as nexus:
            folder = None if nexus is None else nexus.child(KIND)
            if folder is None:
                return _Additions(None, policy).place_all(drafts)
            with folder:
                return _Additions(folder, policy).place_all(drafts)
    with notes.locked_folder(store, KIND) as (_, folder, held):
        additions = _Additions(folder, policy)
        found = []
        for draft in drafts:
            step = additions.place(draft)
            if step["result"] == CREATES:
                notes.put(folder, step["path"].rpartition("/")[2], draft.text, additions.tags(draft), held)
                step["result"] = CREATED
            found.append(step)
        return found


def beginning(text: str) -> str:
    """Return the first SAME characters of a text without its tag line, with each run of white space as one blank."""
    head, _, rest = text.partition("\n")
    return " ".join((rest if parse_tag_line(head.encode("utf-8", "replace")) else text).split())[:SAME]


class _Additions:
    """The names and beginnings of the notes of a folder, and of the notes that earlier drafts become."""

    def __init__(self, folder: Folder | None, policy: dict[str, Any]) -> None:
        self._policy = policy
        self._taken = set() if folder is None else {*names_of(folder)}
        self._scan = Scan(KIND)
        self._scan.refresh(folder)
        self._paths = {
            beginning(note.data[:_READ_BYTES].decode("utf-8", "replace").removeprefix("\ufeff")): name
            for name, note in self._scan.notes.items()
        }

    def place_all(self, drafts: list[Draft]) -> list[dict[str, Any]]:
        return [self.place(draft) for draft in drafts]

    def place(self, draft: Draft) -> dict[str, Any]:
        """Return the result for a draft, and count its note as existing. Raise PathRefused for an invalid name."""
        start = beginning(draft.text)
        same = self._paths.get(start)
        if same is not None:
            return {"source": draft.source, "result": UNCHANGED, "path": f"{KIND}/{same}", "similar": []}
        similar = merge.find_matches(draft.text, draft.tags, self._scan.notes.values(), self._policy["merge"])
        name = self._name(draft)
        self._taken.add(name)
        self._paths[start] = name
        return {"source": draft.source, "result": CREATES, "path": f"{KIND}/{name}", "similar": similar}

    def tags(self, draft: Draft) -> list[str]:
        """Return the tags of a draft; if it has none, the first words of its text (merge.words) that can be tags."""
        return draft.tags or [word for word in words(draft.text) if word[0] < WIDE and len(word) <= 64][:_MOST_TAGS]

    def _name(self, draft: Draft) -> str:
        prefix = f"{draft.kind}-" if draft.kind else ""
        stem = draft.name or notes.make_name(draft.text, ()).removesuffix(SUFFIX)
        if "-" not in f"{prefix}{stem}":
            stem = f"note-{stem}"  # one word may be the name of a device on Windows
        number, name = 1, f"{prefix}{stem}{SUFFIX}"
        while name in self._taken:
            number += 1
            name = f"{prefix}{stem}-{number}{SUFFIX}"
        return notes.check_name(name, self._policy["name_pattern"], f".nexus/{KIND}")
