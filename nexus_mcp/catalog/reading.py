"""The files of a source, read and held against their schemas; what refers to what is checking.py's matter."""

from __future__ import annotations

from functools import partial

from nexus_mcp import schemas
from nexus_mcp.catalog.bounds import PLACEHOLDERS, TEXT_BYTES, TOO_MANY_PLACEHOLDERS, Over
from nexus_mcp.catalog.placeholders import OPEN
from nexus_mcp.catalog.sources import BODY, BODY_TOO_LARGE, META
from nexus_mcp.errors import CatalogError, NexusError
from nexus_mcp.log import printable
from nexus_mcp.quoting import quoted_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.bounds import Room
    from nexus_mcp.catalog.faults import Faults
    from nexus_mcp.catalog.sources import Source
    from nexus_mcp.catalog.yaml_file import Document

VOCABULARY = (
    "capabilities",
    "categories",
    "resume-tiers",
    "tags",
    "invocations",
    "memory-policy",
    "task-exceptions",
)
SCHEMAS = {"agents": "catalog/agent", "skills": "catalog/skill"}
_SAID = {r"must match \S": "must not be blank"}


class Entry:
    """An agent or a skill as far as it can be read: `document` and `text` are None where they cannot, or are absent."""

    __slots__ = ("body", "document", "kind", "name", "text")

    def __init__(self, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name
        self.document: Document | None = None
        self.body: bytes | None = None
        self.text: str | None = None

    @property
    def path(self) -> str:
        return f"{self.kind}/{self.name}"


def entry_at(
    source: Source, kind: str, name: str, faults: Faults, *, is_whole: bool, room: Room | None = None
) -> Entry:
    """The entry `name` of a kind; `faults` gets what is wrong with it, by its path.

    One that is not `is_whole` is put over a shipped one, and may leave out everything but its id. What is read is taken
    from `room`; what does not fit is a fault.
    """
    entry = Entry(kind, name)
    path = entry.path
    if "." in name:
        shown = source.shown(printable(path))
        told = f"{shown}: a folder here is called by an id, which has no dot; rename it, or move it away"
        faults.add(path, shown, told)
        return entry
    document = document_at(
        source, f"{path}/{META}", SCHEMAS[kind], faults, entry=path, required=None if is_whole else ["id"], room=room
    )
    if document is not None and document.keeps("/id") and document.value["id"] != name:
        told = f"the id has to be the name of its folder, {quoted_name(name)}"
        faults.add(path, document.shown, document.told("/id", told))
    shown = source.shown(f"{path}/{BODY}")
    body = _bytes(source, f"{path}/{BODY}", path, faults, is_needed=is_whole)
    problem = "" if body is None else _body_fault(body)
    if problem:
        faults.add(path, shown, f"{shown}{problem}")
    elif body is not None:
        entry.body, entry.text = body, body.decode()
        if room is not None:
            _take(room, shown, entry, faults)
    entry.document = document
    return entry


def _take(room: Room, shown: str, entry: Entry, faults: Faults) -> None:
    """Take a text from the room. One that does not fit, or has too many placeholders, is at fault, not looked into."""
    assert entry.body is not None
    assert entry.text is not None
    number = entry.text.count(OPEN)
    problem = TOO_MANY_PLACEHOLDERS if number > PLACEHOLDERS else ""
    try:
        room.take_text(len(entry.body))
        room.take_values(min(number, PLACEHOLDERS))
    except Over as error:
        problem = str(error)
    if problem:
        faults.add(entry.path, shown, f"{shown}: {problem}")
        entry.text = None


def document_at(
    source: Source,
    path: str,
    schema: str,
    faults: Faults,
    *,
    entry: str = "",
    required: list[str] | None = None,
    is_needed: bool = True,
    room: Room | None = None,
) -> Document | None:
    """The file at `path`; None when it cannot be read, or is absent, which is a fault when `is_needed`.

    `faults` says why, and which members break the schema; those are in it all the same, `Document.keeps` tells which.
    `entry` is the path when left out. What is read is taken from `room`; a file that does not fit is at fault.
    """
    from nexus_mcp.catalog import yaml_file

    of, shown = entry or path, source.shown(path)
    data = _bytes(source, path, of, faults, is_needed=is_needed)
    if data is None:
        return None
    try:
        document = yaml_file.read(data, shown, room)
    except CatalogError as error:
        faults.raised(of, shown, error)
        return None
    except Over as error:
        faults.add(of, shown, f"{shown}: {error}")
        return None
    if document.value is None:
        faults.add(of, shown, f"{shown}: is empty")
        return None
    wanted: dict[str, Any] = schemas.load(schema)
    if required is not None:
        wanted = {**wanted, "required": required}
    broken = schemas.faults(wanted, document.value)
    for fault in broken:
        said = _SAID.get(fault.message, fault.message)
        faults.add(of, shown, partial(_told, document, fault.pointer, said))
    document.broken = frozenset(fault.pointer for fault in broken)
    return document if document.keeps("") else None


def _told(document: Document, pointer: str, message: str) -> str:
    where = pointer.lstrip("/")
    return document.told(pointer, f"{quoted_name(where)} {message}" if where else message)


def _bytes(source: Source, path: str, entry: str, faults: Faults, *, is_needed: bool) -> bytes | None:
    """A file; None when it is absent, which is a fault when `is_needed`, or cannot be read, which is one always."""
    shown = source.shown(path)
    try:
        data = source.read(path)
    except NexusError as error:
        faults.raised(entry, shown, error)
        return None
    if data is None and is_needed:
        faults.add(entry, shown, f"{shown}: is missing")
    return data


def _body_fault(body: bytes) -> str:
    """What is wrong with the text of an entry, behind its path; "" for nothing."""
    if len(body) > TEXT_BYTES:
        return f": {BODY_TOO_LARGE}"
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        start = body.rfind(b"\n", 0, error.start) + 1
        return f":{body.count(10, 0, start) + 1}:{len(body[start : error.start].decode()) + 1}: not UTF-8"
    if not text.strip():
        return ": is empty"
    at = text.find("\0")
    return "" if at < 0 else f":{text.count(chr(10), 0, at) + 1}:{at - text.rfind(chr(10), 0, at)}: holds NUL"
