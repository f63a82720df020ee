"""Plan the changes of an installation: the state of each row, and the new bytes of each file. Nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nexus_mcp.errors import EditedByHand, InstallRefused
from nexus_mcp.harness import files, marks, states
from nexus_mcp.harness.definition import (
    JSON,
    STATUS_LINE,
    Harness,
    Row,
    Site,
    SplicedEntry,
    Whole,
    pointer_of,
)
from nexus_mcp.harness.documents import (
    Document,
    find_entries,
    is_empty,
    lines_to_paste,
    open_document,
    put_back,
    remove_empty,
    replaced_entries,
    with_blanks_of,
)
from nexus_mcp.harness.json_document import JsonDocument, Unsuitable
from nexus_mcp.harness.jsonc import Unreadable
from nexus_mcp.harness.record import WHOLE_FILE, Record, hashes
from nexus_mcp.harness.states import ABSENT, EDITED, FOREIGN, OBSOLETE, OTHERS, OUTDATED, SAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nexus_mcp.harness.files import FoundFile

    Befores = dict[str, tuple[str, bytes | None]]


class State(NamedTuple):
    """The state of one row or recorded entry, with its part, its path and its key in the record."""

    part: str
    path: str
    key: str
    state: str


class Change(NamedTuple):
    """A file to replace by `data`, or to remove if `data` is None."""

    found: FoundFile
    data: bytes | None


class Plan(NamedTuple):
    """The changes of an installation or a removal. `record` is the record afterwards.

    `befores`: absolute path → the bytes that a file of the user has without our entries, None for no file. `copies`:
    files to copy before a change replaces edits, other entries or comments in them. `adopted`: keys of files that are
    ours or have entries of ours, but were in no record; from now on they count as installed.
    """

    states: list[State]
    changes: list[Change]
    record: Record
    befores: dict[str, bytes | None]
    copies: dict[str, bytes]
    adopted: list[str]

    def has(self, *states: str) -> bool:
        """Return whether a row has one of the states."""
        return any(row.state in states for row in self.states)


def plan_install(
    site: Site,
    harness: Harness,
    rows: Sequence[Row],
    parts: Sequence[str],
    record: Record,
    *,
    befores: Befores,
    force: bool,
    is_report: bool = False,
) -> Plan:
    """Return the plan; change `record` to its future content. Raise InstallRefused, EditedByHand with all faults.

    `befores` is as for plan_removal. `is_report`: the plan is not carried out, so the files need not be replaceable.
    """
    work = _Work(site, harness, record, befores, force=force, is_report=is_report)
    spliced: dict[str, list[SplicedEntry]] = {}
    for row in rows:
        if isinstance(row, SplicedEntry):
            spliced.setdefault(row.path, []).append(row)
    planned = {(site.key(row.path), row.key if isinstance(row, SplicedEntry) else "") for row in rows}
    gone: dict[str, list[str]] = {}
    for key, pointer in record.owned_entries(harness.id):
        if (key, pointer) not in planned and record.entries[key][pointer]["part"] in parts:
            gone.setdefault(site.path(key), []).append(pointer)
    for path in dict.fromkeys([*spliced, *gone]):
        work.splice(path, spliced.get(path, []), gone.get(path, []))
    for row in rows:
        if isinstance(row, Whole):
            work.whole(row)
    for key in record.owned_files(harness.id):
        if (key, "") not in planned and record.files[key]["part"] in parts:
            work.drop_file(key)
    return work.finish()


def plan_removal(site: Site, harness: Harness, record: Record, befores: Befores, *, force: bool) -> Plan:
    """Return the plan that removes all entries and files of a harness. `record` is changed to its future content.

    `befores`: absolute path → (hashes of the file as we left it, the bytes that it had before), from the vault. Raise
    InstallRefused, EditedByHand with all faults.
    """
    work = _Work(site, harness, record, befores, force=force)
    entries: dict[str, list[str]] = {}
    for key, pointer in record.owned_entries(harness.id):
        entries.setdefault(site.path(key), []).append(pointer)
    for path, pointers in entries.items():
        work.restore(path, pointers, befores.get(path))
    for key in record.owned_files(harness.id):
        work.drop_file(key, befores.get(site.path(key)))
    record.installed.pop(harness.id, None)
    return work.finish()


class _Work:
    """The states, changes and faults collected for one plan."""

    def __init__(
        self, site: Site, harness: Harness, record: Record, befores: Befores, *, force: bool, is_report: bool = False
    ) -> None:
        self._site = site
        self._former = befores
        self._adopted: dict[str, None] = {}
        self._harness = harness.id
        self._recognizes = harness.recognizes
        self._record = record
        self._force = force
        self._is_report = is_report
        self._states: list[State] = []
        self._changes: list[Change] = []
        self._befores: dict[str, bytes | None] = {}
        self._copies: dict[str, bytes] = {}
        self._faults: list[str] = []
        self._edited: list[str] = []
        self._lines: dict[str, str] = {}

    def finish(self) -> Plan:
        """Return the plan. Raise InstallRefused, EditedByHand."""
        if self._faults:
            raise InstallRefused(self._faults, lines=self._lines)
        if self._edited:
            raise EditedByHand(
                self._edited, next_step="Undo your edits, or add --force: it replaces them, and keeps a copy."
            )
        return Plan(self._states, self._changes, self._record, self._befores, self._copies, [*self._adopted])

    def splice(self, path: str, rows: list[SplicedEntry], gone: list[str]) -> None:
        """Plan the entries of one file of the user: put the `rows`, and remove the entries of the recorded pointers
        `gone`.
        """
        key = self._site.key(path)
        try:
            found = files.look(path, self._site.within)
            document = open_document(path, found.data)
            finds = [self._find(document, row) for row in rows]
            before = None  # the text without our entries
            if key in self._record.entries or any(current is not None for current, _ in finds):
                before = open_document(path, found.data)
            values = [current for current, _ in finds]
            if key not in self._record.entries and states.is_made(found, rows, values, self._recognizes):
                self._record.add_made(key, [WHOLE_FILE])
            former = replaced_entries(path, [row.key for row in rows], self._former.get(path))
            for row, (current, _) in zip(rows, finds, strict=True):
                is_recorded = self._record.entry(key, row.key) is not None
                if (state := self._add_row(row, found, current)) is not None:
                    if not is_recorded and state in (SAME, OUTDATED):
                        self._adopt(row)
                    if state not in (ABSENT, FOREIGN, OTHERS):
                        self._take_quietly(before, row.path, row.key, current, former.get(row.key))
                    self._put(document, row, state, is_new=found.data is None)
            for pointer in gone:
                self._take(document, path, pointer, found)
                self._take_quietly(before, path, pointer)
            remove_empty(document, self._record.made.get(self._site.key(path), ()))
            self._set_before(path, found, before)
            self._change(found, document, document.finish())
            for pointer in gone:
                self._record.forget_entry(key, pointer)
        except InstallRefused as error:
            self._faults += error.faults
            self._lines |= lines_to_paste(self._site, rows)
        except (Unreadable, Unsuitable) as error:
            again = f"{self._site.format_path(path)} {error}. Correct the file and run the command again"
            self._faults.append(f"{again}, or put the lines below into it." if rows else f"{again}.")
            self._lines |= lines_to_paste(self._site, rows)

    def _adopt(self, row: SplicedEntry) -> None:
        """Record an entry of ours that no record had, and the containers to remove together with it."""
        key = self._site.key(row.path)
        self._adopted[key] = None
        if row.format == JSON:
            whole = range(1, len(row.pointer) + row.is_item)
            self._record.add_made(key, ["/".join(("", *row.pointer[:count])) for count in whole])

    def _adopt_file(self, path: str) -> None:
        """Record a file with our mark that no record had, and its folders: uninstall removes the empty ones."""
        self._adopted[self._site.key(path)] = None
        self._record.folders += map(self._site.key, self._site.folders_above(path))

    def whole(self, row: Whole) -> None:
        """Plan a generated file."""
        key = self._site.key(row.path)
        known = self._record.files.get(key)
        try:
            found = files.look(row.path, self._site.within)
            state = states.file_state(found, row.text, known)
            if state != SAME:
                self._check(found)
        except InstallRefused as error:
            self._faults += error.faults
            return
        if self._refuses(state, self._site.format_path(row.path)):
            return
        self._states.append(State(row.part, row.path, key, state))
        if known is None and state in (SAME, OUTDATED, EDITED):
            self._adopt_file(row.path)
        data = row.text.encode()
        if state == EDITED and found.data is not None:
            self._copies[row.path] = found.data
        if state == FOREIGN:
            self._befores[row.path] = found.data
        if state == SAME and found.data is not None:
            data = found.data
        else:
            self._changes.append(Change(found, data))
        owners = [*(known["owners"] if known else ()), self._harness]
        self._record.files[key] = {
            "hash": marks.digest(data),
            "part": row.part,
            "owners": sorted(set(owners)),
        }

    def drop_file(self, key: str, before: tuple[str, bytes | None] | None = None) -> None:
        """Plan to remove a generated file; if another harness owns it, too, only remove this owner from the record.

        `before`: (hashes of the file as we left it, the bytes that we replaced).
        """
        path = self._site.path(key)
        known = self._record.files[key]
        if known["owners"] != [self._harness]:
            self._record.disown(key, self._harness)
            return
        try:
            found = files.look(path, self._site.within)
            if found.data is not None:
                self._check(found)
        except InstallRefused as error:
            self._faults += error.faults
            return
        if found.data is not None and (before is None or found.data != before[1]):
            is_ours = marks.digest(found.data) in hashes(known)
            if not is_ours and self._refuses(EDITED, self._site.format_path(path)):
                return
            if not is_ours:
                self._copies[path] = found.data
            self._states.append(State(known["part"], path, key, OBSOLETE))
            self._changes.append(Change(found, before[1] if before is not None and is_ours else None))
        self._record.disown(key, self._harness)

    def restore(self, path: str, pointers: list[str], before: tuple[str, bytes | None] | None) -> None:
        """Plan to remove our entries from a file: restore the bytes from before the installation if nothing else
        changed since then, else edit the file.
        """
        key = self._site.key(path)
        rows = [self._record.entries[key][pointer] for pointer in pointers]
        try:
            found = files.look(path, self._site.within)
            if before is not None and found.data is not None and marks.digest(found.data) in before[0].split():
                self._check(found)
                self._changes.append(Change(found, before[1]))
                self._states += [
                    State(row["part"], path, pointer, OBSOLETE) for row, pointer in zip(rows, pointers, strict=True)
                ]
            elif found.data is not None and (before is None or found.data != before[1]):
                document, rows_of = open_document(path, found.data), dict(zip(pointers, rows, strict=True))
                old = replaced_entries(path, pointers, before)
                entries = find_entries(document, pointers, lambda items, one: self._index(items, rows_of[one]))
                for pointer in pointers:
                    self._take(document, path, pointer, found, old.get(pointer))
                made = self._record.made.get(key, ())
                remove_empty(document, made)
                text = with_blanks_of(found, document.finish(), before and before[1], entries, made)
                self._change(found, document, text, may_remove=WHOLE_FILE in made)
        except InstallRefused as error:
            self._faults += error.faults
        except (Unreadable, Unsuitable) as error:
            self._faults.append(f"{self._site.format_path(path)} {error}. Correct the file and run the command again.")
        for pointer in pointers:
            self._record.forget_entry(key, pointer)

    def _add_row(self, row: SplicedEntry, found: FoundFile, current: Any) -> str | None:
        """Return the state of a row and add it to the plan; return None if the state stops the installation."""
        known = self._record.entry(self._site.key(row.path), row.key)
        state = states.entry_state(current, row, known, self._recognizes)
        step = states.OF_STATUS_LINE if row.part == STATUS_LINE else states.OF_ENTRY
        if self._refuses(state, f"{'.'.join(row.pointer)} in {self._site.format_path(row.path)}", step):
            return None
        self._states.append(State(row.part, row.path, row.key, state))
        if state in (EDITED, FOREIGN) and found.data is not None:
            self._copies[row.path] = found.data
        return state

    def _put(self, document: Document, row: SplicedEntry, state: str, *, is_new: bool) -> None:
        """Put an entry into the document and the record."""
        key = self._site.key(row.path)
        made: list[str] = []
        if state == ABSENT:
            if isinstance(document, JsonDocument) and row.is_item:
                paths = document.append(row.pointer, row.value)
            else:
                paths = document.set(row.pointer, row.value)
            made += ["/".join(("", *path)) for path in paths]
            if is_new:
                made.append(WHOLE_FILE)
        elif state != SAME:
            if row.is_item and isinstance(document, JsonDocument):
                document.replace_item(row.pointer, self._find(document, row)[1], row.value)
            else:
                document.set(row.pointer, row.value)
        self._record.entries.setdefault(key, {})[row.key] = {
            "hash": marks.value_digest(row.value),
            "part": row.part,
            "owner": self._harness,
        }
        self._record.add_made(key, made)

    def _take(self, document: Document, path: str, pointer: str, found: FoundFile, former: Any = None) -> None:
        """Remove a recorded entry from the document. An edited entry is a fault without --force.

        `former`: the user's entry that ours replaced; it is restored.
        """
        known = self._record.entries[self._site.key(path)][pointer]
        parts, is_item = pointer_of(pointer)
        current = document.get(parts)
        if current is None:
            return
        what = f"{'.'.join(parts)} in {self._site.format_path(path)}"
        if is_item:
            index = self._index(current, known)
            if index < 0:
                return  # our entry was removed; the present one belongs to the user
            is_edited = marks.value_digest(current[index]) not in hashes(known)
            if is_edited and self._refuses(EDITED, what):
                return
            if is_edited and found.data is not None:
                self._copies[path] = found.data
            assert isinstance(document, JsonDocument)
            if document.has_comment(parts, index) and found.data is not None:
                self._copies[path] = found.data
            document.remove_item(parts, index)
        elif marks.value_digest(current) not in hashes(known) and self._refuses(EDITED, what):
            return
        else:
            is_edited = marks.value_digest(current) not in hashes(known) or document.has_comment(parts)
            if is_edited and found.data is not None:
                self._copies[path] = found.data
            put_back(document, parts, former)
        self._states.append(State(known["part"], path, pointer, OBSOLETE))

    def _index(self, items: Any, known: dict[str, Any] | None) -> int:
        """Return the index of the recorded item, else of an item that is recognized as ours, else -1."""
        there = items if isinstance(items, list) else []
        wanted = hashes(known) if known else ()
        exact = [index for index, one in enumerate(there) if marks.value_digest(one) in wanted]
        ours = [index for index, one in enumerate(there) if self._recognizes(one)]
        return next(iter([*exact, *ours]), -1)

    def _take_quietly(
        self, document: Document | None, path: str, pointer: str, current: Any = None, former: Any = None
    ) -> None:
        """Remove our entry, if it is present, from `document`: in the end it is the file without our entries.
        Record no state, fault or copy.

        `former`: the user's entry that ours replaced; it is restored.
        """
        if document is None:
            return
        known = self._record.entry(self._site.key(path), pointer)
        parts, is_item = pointer_of(pointer)
        there = document.get(parts)
        if there is None:
            return
        if is_item and isinstance(document, JsonDocument) and isinstance(there, list):
            digests = [marks.value_digest(one) for one in there]
            wanted = (marks.value_digest(current),) if current is not None else hashes(known) if known else ()
            for index in [number for number, one in enumerate(digests) if one in wanted][:1]:
                document.remove_item(parts, index)
        elif not is_item:
            put_back(document, parts, former)

    def _set_before(self, path: str, found: FoundFile, before: Document | None) -> None:
        if before is None:
            self._befores[path] = found.data
            return
        remove_empty(before, self._record.made.get(self._site.key(path), ()))
        text = before.finish()
        is_made = WHOLE_FILE in self._record.made.get(self._site.key(path), ())
        self._befores[path] = None if is_made and is_empty(before, text) else text.encode()

    def _change(self, found: FoundFile, document: Document, text: str, *, may_remove: bool = False) -> None:
        data: bytes | None = text.encode()
        if may_remove and is_empty(document, text):
            data = None
        if data != (found.data or b""):
            self._check(found)
            self._changes.append(Change(found, data))

    def _check(self, found: FoundFile) -> None:
        """Raise InstallRefused if the plan will be carried out and the file cannot be replaced."""
        if not self._is_report:
            files.check_replaceable(found)

    def _refuses(self, state: str, what: str, step: str = states.OF_ENTRY) -> bool:
        """Return whether a row of this state stops the installation; if so, record the fault."""
        if state == EDITED and not self._force:
            self._edited.append(f"{what} was edited by hand.")
            return True
        if state == FOREIGN and not self._force:
            self._faults.append(f"{what} {step}")
            return True
        return False

    def _find(self, document: Document, row: SplicedEntry) -> tuple[Any, int]:
        """Return (the present value of the row's entry, its index in an array); (None, -1) without an entry."""
        there = document.get(row.pointer)
        if not row.is_item or there is None:
            return there, -1
        if not isinstance(there, list):
            raise Unsuitable(f"has no array at {'.'.join(row.pointer)}")
        known = self._record.entry(self._site.key(row.path), row.key)
        index = there.index(row.value) if row.value in there else self._index(there, known)
        return (None, -1) if index < 0 else (there[index], index)
