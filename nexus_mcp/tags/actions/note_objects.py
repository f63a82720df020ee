"""Check that git can give notes back byte for byte: their objects can be read, and no attribute rewrites them.

`git checkout COMMIT -- NOTE` reads the commit, the trees on the way and the note's object, then converts the bytes as
.gitattributes says. The index and the trees name an object also where the object store lost it, so only reading
it shows that it is there. Nothing is fetched and no filter is run: what git would have to fetch or filter is refused.
"""

from __future__ import annotations

import hashlib

from nexus_mcp.errors import UNCHANGED, NexusError
from nexus_mcp.quoting import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Protocol

    class Ask(Protocol):
        """Run git with these words: (exit code, stdout, why it failed)."""

        def __call__(self, *words: str, data: bytes = b"") -> tuple[int, bytes, str]: ...


_BATCH = 1 << 25  # bytes of notes that are read from git at a time
_REWRITING = ("filter", "working-tree-encoding", "ident")
_OFF = ("unspecified", "unset")
_DRIVER = ("smudge", "process", "required")
"""Settings of a filter that act when a file is checked out; one with `clean` alone leaves it as it is."""
_NAMED, _LONGEST = 5, 100
FETCH = (
    "See what git fsck says, and get the missing objects back: from another clone, or by git fetch. Then call again."
)
_BY_HAND = "Delete by hand what is not needed, if it may be gone for good."


def is_blob(data: bytes | None, name: str | None) -> bool:
    """Whether git's object of this name is these bytes."""
    if data is None or not name:
        return False
    make = hashlib.sha256 if len(name) == 64 else hashlib.sha1
    return make(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest() == name


def check_readable(ask: Ask, objects: Mapping[str, str], contents: Mapping[str, bytes | None]) -> None:
    """Raise NexusError unless git can read the object of each note, and it is what its name says.

    `objects` has the name of each note's object in the commit, `contents` the bytes of the notes: their sizes say how
    many are read at a time.
    """
    unreadable: list[str] = []
    why = ""
    for names in _batches(contents):
        asked = b"".join(objects[name].encode() + b"\n" for name in names)
        _, answer, complaint = ask("cat-file", "--batch", data=asked)
        at = 0
        for name in names:
            found, at = _next_blob(answer, at)
            if not is_blob(found, objects[name]):
                unreadable.append(name)
                why = why or complaint
            if at < 0:  # a corrupt object ends git, or what it says: nothing is known of the notes behind it
                break
    if unreadable:
        reason = f" ({quoted(why, 3 * _LONGEST)})" if why else ""
        raise _refused("cannot be read from git's object store", unreadable, FETCH, reason)


def check_unchanged(ask: Ask, contents: Mapping[str, bytes | None]) -> None:
    """Raise NexusError when git would write other bytes than those of the object when a note is checked out."""
    code, answer, complaint = ask("config", "--null", "--get-regexp", r"^filter\.")
    if code > 1:  # 1: there is none
        raise NexusError(f"git config failed: {quoted(complaint, 3 * _LONGEST)}", effect=UNCHANGED, next_step=_BY_HAND)
    keys = [entry.partition(b"\n")[0].decode("utf-8", "surrogateescape") for entry in answer.split(b"\0")]
    drivers = {key[len("filter.") :].rpartition(".")[0] for key in keys if key.rpartition(".")[2] in _DRIVER}
    rewritten: dict[str, str] = {}
    # git checkout takes .gitattributes from the index where it is there, and from the working tree where it is not.
    for source in ((), ("--cached",)):
        for name, attribute, value in _attributes(ask, source, list(contents)):
            is_filter = attribute == "filter" and value in drivers
            is_encoding = attribute == "working-tree-encoding" and value not in (*_OFF, "set")
            is_keyword = attribute == "ident" and value == "set" and b"$Id" in (contents[name] or b"")
            if is_filter or is_encoding or is_keyword:
                rewritten.setdefault(name, attribute)
    if rewritten:
        listed = ", ".join(dict.fromkeys(rewritten.values()))
        reason = f" (attribute {listed} in .gitattributes)"
        raise _refused("are rewritten by git when it checks them out", list(rewritten), _BY_HAND, reason)


def _attributes(ask: Ask, source: tuple[str, ...], names: list[str]) -> Iterator[tuple[str, str, str]]:
    """(note, attribute, value) for each attribute that rewrites. Raises NexusError."""
    code, answer, complaint = ask("check-attr", *source, "-z", *_REWRITING, "--", *names)
    told = answer.split(b"\0")[:-1]
    if code or len(told) != 3 * len(names) * len(_REWRITING):
        raise NexusError(
            f"git check-attr failed: {quoted(complaint, 3 * _LONGEST)}", effect=UNCHANGED, next_step=_BY_HAND
        )
    # In the order in which they were asked for: a name comes back in git's own spelling.
    for number, name in enumerate(names):
        for place, attribute in enumerate(_REWRITING):
            value = told[3 * (number * len(_REWRITING) + place) + 2]
            yield name, attribute, value.decode("utf-8", "surrogateescape")


def _batches(contents: Mapping[str, bytes | None]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for name, data in contents.items():
        batch.append(name)
        size += len(data or b"")
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _next_blob(answer: bytes, at: int) -> tuple[bytes | None, int]:
    """(the blob that `git cat-file --batch` tells of at `at`, None when it has none; where the next one begins).

    The second is -1 where git's answer ends, or has less of an object than it announced.
    """
    end = answer.find(b"\n", at)
    if end < 0:
        return None, -1
    words = answer[at:end].split(b" ")
    if words[-1] == b"missing":
        return None, end + 1
    if len(words) != 3 or not words[2].isdigit():
        return None, -1
    begin = end + 1
    behind = begin + int(words[2])
    if answer[behind : behind + 1] != b"\n":
        return None, -1
    return answer[begin:behind] if words[1] == b"blob" else None, behind + 1


def _refused(problem: str, names: list[str], next_step: str, reason: str) -> NexusError:
    listed = ", ".join(quoted(name, _LONGEST) for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    text = f"Some of the notes {problem}, and could not be had back: {listed}{more}{reason}"
    return NexusError(text, effect=UNCHANGED, next_step=next_step)
