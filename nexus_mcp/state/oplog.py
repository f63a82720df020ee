"""Make the entries of the operation log, and compute which of them can be undone.

A delta turns the new bytes of a file back into the old ones: it is small for a small change.

schemas/oplog/entry.schema.json defines an entry. Checksums protect only against accidents: a program that could forge
one could also write the file, and a stronger checksum would cost every server 4 MB of memory for hashlib
(docs/decisions/0041).
"""

from __future__ import annotations

from nexus_mcp import schemas
from nexus_mcp.errors import ITSELF_UNCHANGED, UndoRefused

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any, Literal, TypeGuard

    from nexus_mcp.state.idempotency import KeyedCall

    Entry = dict[str, Any]
    Mark = dict[str, int]
    Marks = tuple[Mark | None, Mark | None]
    """The marks of a file before a change and after it, as far as they are known."""
    Writes = Mapping[str, tuple[bytes | None, bytes | None]]
    """The path of a file -> its bytes before a change and after it (None: absent)."""
    Line = tuple[int, Entry | None]
    """Number of a line, from 1, and its entry; None for one that cannot be read."""

VERSION = 1
UNDO = "undo"
UNKNOWN = "unknown"
LOG_ADVICE = "See nexus-mcp log."
PAST_ADVICE = "Undo goes no further back; it still takes back later changes."
_CLIENT_LENGTH = 100
_CONTINUES = range(0x80, 0xC0)  # the bytes after the first byte of a UTF-8 character
_SLICE_BYTES = 1 << 12  # maximum number of bytes that are compared at a time


class By:
    """The caller of a change: the tool, the harness of the server, the client's own name, and over HTTP the name of its
    token. `keyed` is set for a call with an idempotency key.
    """

    __slots__ = ("actor", "client", "harness_id", "keyed", "tool")

    def __init__(self, tool: str, harness_id: str, client: str, actor: str = "") -> None:
        self.tool = tool
        self.harness_id = harness_id
        self.client = client[:_CLIENT_LENGTH]
        self.actor = actor
        self.keyed: KeyedCall | None = None


def entry(
    id_: str,
    at: str,
    by: By,
    files: list[dict[str, Any]],
    *,
    what: str = "",
    cycle: str | None = None,
    undoes: Sequence[str] | None = None,
) -> Entry:
    """Return an entry. `files` come from `file_change` or `file_after`. `cycle` is the completed_at of a cycle that
    the change added to the history, `undoes` the ids of the changes that it took back.
    """
    made: Entry = {"version": VERSION, "id": id_, "at": at, "tool": by.tool, "harness_id": by.harness_id}
    made["client"] = by.client
    if by.actor:
        made["actor"] = by.actor
    if what:
        made["what"] = what
    if cycle is not None:
        made["cycle"] = cycle
    if undoes is not None:
        made["undoes"] = list(undoes)
    made["files"] = files
    return made


def entry_of(
    id_: str,
    at: str,
    by: By,
    writes: Writes,
    marks: Mapping[str, Marks],
    **about: Any,
) -> Entry:
    """Return the entry of a change with these `writes`. It has old content only if undo may need it.

    `about` has `what`, `cycle` and `undoes`, as for `entry`.
    """
    stays = about["cycle"] is not None or about["undoes"] is not None
    files = [
        file_after(name, after) if stays else file_change(name, before, after, marks.get(name))
        for name, (before, after) in writes.items()
    ]
    return entry(id_, at, by, files, **about)


def file_change(name: str, before: bytes | None, after: bytes | None, marks: Marks | None = None) -> dict[str, Any]:
    """Return a file of an entry with the data to restore it; None as bytes means no file. Old content that is not UTF-8
    is not stored.

    Only session files have `marks`: they were parsed, so their bytes are known to be UTF-8.
    """
    known = marks or (None, None)
    was, is_now = known[0] or mark(before), known[1] or mark(after)
    file: dict[str, Any] = {"name": name, "after": is_now}
    if before is None or was is None:
        return {**file, "before": None}
    found = make_delta(before, after or b"", is_known_text=marks is not None)
    return file if found is None else {**file, "before": {**was, **found}}


def file_after(name: str, after: bytes | None) -> dict[str, Any]:
    """Return a file of an entry without its old content."""
    return {"name": name, "after": mark(after)}


def without_text(full: Entry) -> Entry:
    """Return the entry without the old content of its files."""
    return {**full, "files": [{k: v for k, v in file.items() if k != "before"} for file in full["files"]]}


def mark(data: bytes | None) -> Mark | None:
    """Return the size and the CRC-32 of a file's bytes, a check only against accidents; None if `data` is None."""
    import zlib  # imported late: it loads a shared library

    return None if data is None else {"size": len(data), "crc32": zlib.crc32(data)}


def with_copies(full: Entry, copies: Sequence[str]) -> Entry:
    """Return the entry with the names of conflict copies added to `what`; the entry itself if there are no copies."""
    if not copies:
        return full
    note = f"another program's save is kept as {', '.join(copies)}"
    return {**full, "what": f"{full['what']}; {note}" if full.get("what") else note}


def is_entry(value: object) -> TypeGuard[Entry]:
    """Return whether `value`, read from a file, is an entry of this version."""
    return not schemas.faults(schemas.load("oplog/entry"), value, most=1)


def undone_ids(lines: Sequence[Line]) -> set[str]:
    """Return the ids of the changes that were taken back. A change with a cycle never counts."""
    found = [line for _, line in lines if line is not None]
    return {id_ for line in found for id_ in line.get("undoes", ())} - {line["id"] for line in found if "cycle" in line}


def last_changes(lines: Sequence[Line], count: int) -> list[Entry]:
    """Return the last `count` changes that were not taken back, newest first.

    Raise UndoRefused if there are fewer, or if a permanent change or an unreadable line is among them.
    """
    gone = undone_ids(lines)
    found: list[Entry] = []
    for number, line in reversed(lines):
        if len(found) == count:
            break
        if line is None:
            problem = f"Line {number} of the operation log cannot be read, so its change is unknown"
            raise _refuse(found, problem, f" {PAST_ADVICE}")
        if "cycle" in line:  # checked first, because undo never goes past a closed cycle
            raise _refuse(found, f"{describe(line)} put a cycle into the history, which only grows")
        if "undoes" in line or line["id"] in gone:
            continue
        if is_permanent(line):
            raise _refuse(found, f"The content before {describe(line)} was not kept")
        found.append(line)
    if len(found) < count:
        raise _too_few(len(found))
    return found


def check_completed(line: Entry | None) -> None:
    """Raise UndoRefused if the interrupted change `line`, which was just completed, was an undo."""
    if line is not None and "undoes" in line:
        count = len(line["undoes"])
        done = f"it took back {count} change{'s' * (count > 1)}"
        raise UndoRefused(
            f"An undo that was interrupted was completed just now: {done}",
            effect=ITSELF_UNCHANGED,
            next_step=f"{LOG_ADVICE} Call again to take back more.",
        )


def is_permanent(line: Entry) -> bool:
    """Return whether undo can never take the change back, because it added a cycle or the log lacks the old content;
    False for an undo.
    """
    return "undoes" not in line and ("cycle" in line or any("before" not in file for file in line["files"]))


def restore(file: dict[str, Any], now: bytes | None, by: Entry) -> bytes | None:
    """Return the content of the file before the change `by`, from its content `now`.

    Raise UndoRefused if `now` is not the content that the change wrote, or if the recorded old content is damaged or
    not UTF-8.
    """
    before = file["before"]
    if not _matches(file["after"], now):
        problem = f".nexus/state/{file['name']} is not what {describe(by)} left: something else changed it"
        raise UndoRefused(problem, next_step=f"{LOG_ADVICE} The present content stays.")
    data = None if before is None else apply_delta(now or b"", before)
    if not _matches(before, data):
        problem = f"The operation log has a wrong record of what {file['name']} was before {describe(by)}"
        raise UndoRefused(problem, next_step=LOG_ADVICE)
    if data is not None and not is_text(data):
        problem = f"The content of {file['name']} before {describe(by)} is not UTF-8 text"
        raise UndoRefused(problem, next_step=LOG_ADVICE)
    return data


def check_names(names: Collection[str]) -> None:
    """Raise UndoRefused if one file's path would be the folder of another file: no change can have left both."""
    import unicodedata

    # Compare names as a file system does that ignores case and Unicode composition.
    seen = {unicodedata.normalize("NFC", name).casefold() for name in names}
    for name in seen:
        above = [folder for folder in _folders(name) if folder in seen]
        if above:
            problem = f"The operation log has {above[0]} both as a file and as a folder"
            raise UndoRefused(problem, next_step=LOG_ADVICE)


def _folders(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _matches(recorded: dict[str, Any] | None, data: bytes | None) -> bool:
    seen = mark(data)
    if recorded is None or seen is None:
        return recorded is seen
    return all(recorded[name] == seen[name] for name in seen)


def describe(line: Entry) -> str:
    """Return the name of a change for messages."""
    return f"{line['tool']} of {line['at']}"


def _too_few(count: int) -> UndoRefused:
    """Return the error that the log has only `count` changes to take back, fewer than requested."""
    if not count:
        return UndoRefused("The operation log has no changes that can be taken back", next_step=LOG_ADVICE)
    has = "1 change that can be taken back" if count == 1 else f"{count} changes that can be taken back"
    all_ = "takes that one back" if count == 1 else f"takes all {count} back"
    problem = f"The operation log has {has}, and more were asked for"
    return UndoRefused(problem, next_step=f"nexus-mcp undo {count} {all_}.")


def _refuse(found: list[Entry], problem: str, advice: str = "") -> UndoRefused:
    can = f"nexus-mcp undo {len(found)} takes back as much as possible." if found else LOG_ADVICE
    return UndoRefused(problem, next_step=can + advice)


def make_delta(before: bytes, after: bytes, *, is_known_text: bool = False) -> dict[str, Any] | None:
    """Return {prefix, suffix, text}, with which `apply_delta` turns `after` into `before`; None if `before` is not
    UTF-8.

    `prefix` and `suffix` count the bytes that both have in common at their beginning and at their end, rounded down to
    whole characters. With `is_known_text` the caller has decoded `before`.
    """
    if not (is_known_text or is_text(before)):
        return None  # None for the whole file, even if only the equal part is not UTF-8
    most = min(len(before), len(after))
    prefix = _common(before, after, most, "big")
    suffix = _common(before, after, most - prefix, "little")
    while prefix and before[prefix : prefix + 1] and before[prefix] in _CONTINUES:
        prefix -= 1
    while suffix and before[len(before) - suffix] in _CONTINUES:
        suffix -= 1
    return {"prefix": prefix, "suffix": suffix, "text": before[prefix : len(before) - suffix].decode("utf-8")}


def is_text(data: bytes) -> bool:
    """Return whether the bytes are UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def apply_delta(after: bytes, delta: dict[str, Any]) -> bytes:
    """Return the bytes before the change. `delta` may come from a file, so the caller has to check the result."""
    prefix, suffix = int(delta["prefix"]), int(delta["suffix"])
    text = str(delta["text"]).encode("utf-8", "replace")
    return after[:prefix] + text + after[max(0, len(after) - suffix) :]


def _common(one: bytes, other: bytes, most: int, order: Literal["big", "little"]) -> int:
    """Return how many bytes, at most `most`, both have in common: at their beginning ("big") or at their end
    ("little").

    It compares slices, because it is slow to compare single bytes. The first pair of different slices is read as two
    numbers in this `order`: their highest different bit lies in the different byte that is nearest to that beginning or
    end.
    """
    low = 0
    while low < most:
        end = min(low + _SLICE_BYTES, most)
        if order == "big":
            here, there = one[low:end], other[low:end]
        else:
            here, there = one[len(one) - end : len(one) - low], other[len(other) - end : len(other) - low]
        if here != there:
            differing = int.from_bytes(here, order) ^ int.from_bytes(there, order)
            return end - (differing.bit_length() + 7) // 8
        low = end
    return low
