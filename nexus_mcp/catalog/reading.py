"""Read catalog files, validate them, and check the references between them.

Most faults are functions that return their text, because only the first few of thousands of faults are listed, and
to find similar names takes time.
"""

from __future__ import annotations

from functools import partial

from nexus_mcp import schemas
from nexus_mcp.catalog.placeholders import COMMANDS, OPEN, find_faults, find_placeholders, suggestion
from nexus_mcp.catalog.sources import BODY, BODY_TOO_LARGE, META, PLACEHOLDERS, TEXT_BYTES, TOO_MANY_PLACEHOLDERS, Over
from nexus_mcp.errors import CatalogError, NexusError
from nexus_mcp.log import printable
from nexus_mcp.quoting import quoted_name
from nexus_mcp.wording import line_and_column, line_and_column_of_byte

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from nexus_mcp.catalog.faults import Faults
    from nexus_mcp.catalog.sources import Room, Source
    from nexus_mcp.catalog.yaml_file import Document

    FaultText = Callable[[], str]

VOCABULARY = ("capabilities", "categories", "resume-tiers", "tags", "invocations", "memory-policy", "task-exceptions")
SCHEMAS = {"agents": "catalog/agent", "skills": "catalog/skill"}
_REWORDED = {
    r"must match \S": "must not be blank",
    r"must match ^([^\n]+\n?){0,3}$": "must have three lines at most, none of them empty",
}

# (field of an agent, vocabulary with its values)
_FIELDS = (("category", "categories"), ("resume_tier", "resume_tiers"))


class Entry:
    """An agent or a skill as read: `document` (meta.yml), and `body` and `text` (body.md), are None when unreadable or
    absent.
    """

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
    """Return the entry `name` of a kind as read, and add its faults to `faults` under its path.

    An entry that is not `is_whole` overrides a shipped one, and needs only its id: no other field, and no text. The
    sizes of the files are subtracted from `room`; a file that does not fit is a fault.
    """
    entry = Entry(kind, name)
    path = entry.path
    if "." in name:
        shown = source.format_path(printable(path))
        problem = (
            f"{shown}: the name of this folder must be an id, which has no dot; rename the folder, or move it away"
        )
        faults.add(path, shown, problem)
        return entry
    document = document_at(
        source, f"{path}/{META}", SCHEMAS[kind], faults, entry=path, required=None if is_whole else ["id"], room=room
    )
    if document is not None and document.keeps("/id") and document.value["id"] != name:
        problem = f"the id must be the name of its folder, {quoted_name(name)}"
        faults.add(path, document.shown, document.fault_at("/id", problem))
    shown = source.format_path(f"{path}/{BODY}")
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
    """Subtract the size of a text and the number of its placeholders from `room`. A text that does not fit, or has too
    many placeholders, is a fault.
    """
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
    """Return the file at `path` as read; None when it is absent (a fault when `is_needed`), unreadable, empty, or
    broken as a whole, such as a list in place of a mapping (always a fault).

    `faults` gets the faults under `entry`, by default the path. `required` replaces the required fields of the schema.
    Fields that break the schema stay in the document; `Document.keeps` tells them apart. The size of the file is
    subtracted from `room`; a file that does not fit is a fault.
    """
    from nexus_mcp.catalog import yaml_file

    of, shown = entry or path, source.format_path(path)
    data = _bytes(source, path, of, faults, is_needed=is_needed)
    if data is None:
        return None
    try:
        document = yaml_file.read(data, shown, room)
    except CatalogError as error:
        faults.add_error(of, shown, error)
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
        message = _REWORDED.get(fault.message, fault.message)
        faults.add(of, shown, partial(_schema_fault, document, fault.pointer, message))
    document.broken = frozenset(fault.pointer for fault in broken)
    return document if document.keeps("") else None


def _schema_fault(document: Document, pointer: str, message: str) -> str:
    where = pointer.lstrip("/")
    return document.fault_at(pointer, f"{quoted_name(where)} {message}" if where else message)


def _bytes(source: Source, path: str, entry: str, faults: Faults, *, is_needed: bool) -> bytes | None:
    """Return the bytes of a file; None when it is absent (a fault when `is_needed`) or unreadable (always a fault)."""
    shown = source.format_path(path)
    try:
        data = source.read(path)
    except NexusError as error:
        faults.add_error(entry, shown, error)
        return None
    if data is None and is_needed:
        faults.add(entry, shown, f"{shown}: is missing")
    return data


def _body_fault(body: bytes) -> str:
    """Return the fault of the text of an entry, to append to its path; "" for none."""
    if len(body) > TEXT_BYTES:
        return f": {BODY_TOO_LARGE}"
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        return ":{}:{}: not UTF-8".format(*line_and_column_of_byte(body, error.start))
    if not text.strip():
        return ": is empty"
    at = text.find("\0")
    return "" if at < 0 else ":{}:{}: holds NUL".format(*line_and_column(text, at))


def agent_faults(entry: Entry, vocabulary: Mapping[str, Any]) -> Iterator[FaultText]:
    """Yield the faults of an agent that its schema does not find: names missing in the vocabulary, and capabilities
    that are listed twice.
    """
    document = entry.document
    if document is None:
        return
    for field, words in _FIELDS:
        value = document.value.get(field)
        if value is not None and document.keeps(f"/{field}") and value not in vocabulary[words]:
            problem = f"{field} {value!r} is not in the vocabulary"
            yield partial(_unknown, document, f"/{field}", problem, value, vocabulary[words])
    seen: set[str] = set()
    for place, name in _capabilities(document):
        if name not in vocabulary["capabilities"]:
            problem = f"there is no capability {name!r}"
            yield partial(_unknown, document, f"/capabilities/{place}", problem, name, vocabulary["capabilities"])
        elif name in seen:
            yield partial(document.fault_at, f"/capabilities/{place}", f"the capability {name} is listed twice")
        seen.add(name)


def canonical_faults(entry: Entry, canonical: list[str]) -> Iterator[FaultText]:
    """Yield a fault for each canonical capability that a project removes from a shipped agent; adding is allowed."""
    document = entry.document
    if document is None or "capabilities" not in document.value or not document.keeps("/capabilities"):
        return
    listed = {name for _, name in _capabilities(document)}
    for name in canonical:
        if name not in listed:
            yield partial(
                document.fault_at,
                "/capabilities",
                f"{name} is a restriction of the shipped agent {entry.name} and cannot be removed; list it here, give "
                "the work to another agent, or write one of your own under another id",
            )


def manual_faults(entry: Entry, shipped: Mapping[str, Any]) -> Iterator[FaultText]:
    """Yield a fault when a project lets models start a shipped skill that is manual only."""
    document = entry.document
    if document is not None and shipped["manual_only"] and document.value.get("manual_only") is False:
        yield partial(
            document.fault_at,
            "/manual_only",
            f"the shipped skill {entry.name} is started by users only, and a project cannot change that; remove this "
            "field, or write a skill of your own under another id",
        )


def trigger_faults(entry: Entry, merged: Mapping[str, Any]) -> Iterator[FaultText]:
    """Yield a fault when a skill has triggers or a hint without the other, or has one of them and is manual only.

    `merged` has the fields of the skill, completed with those of the shipped skill.
    """
    document = entry.document
    if document is None or not all(map(document.keeps, ("/triggers", "/hint", "/manual_only"))):
        return
    own = [name for name in ("triggers", "hint") if document.value.get(name)]
    if not own:
        return
    if merged.get("manual_only"):
        yield partial(
            document.fault_at,
            f"/{own[0]}",
            f"a skill that only users start has no hint; remove {' and '.join(own)}, or set manual_only: false",
        )
    elif not merged.get("triggers"):
        yield partial(document.fault_at, "/hint", "a hint needs triggers, the words of a message that trigger it")
    elif not merged.get("hint"):
        yield partial(document.fault_at, "/triggers", "triggers need a hint, the text for the model")


def tag_faults(document: Document, skills: Mapping[str, object]) -> Iterator[FaultText]:
    """Yield faults in the table of tags that its schema does not find."""
    for name, tag in document.value.items():
        kind = tag["kind"]
        if kind not in tag:
            yield partial(document.fault_at, f"/{name}", f"a tag of the kind {kind} needs the field {kind}")
        elif kind == "skill" and tag["skill"] not in skills:
            yield partial(
                _unknown, document, f"/{name}/skill", f"there is no skill {tag['skill']!r}", tag["skill"], skills
            )


def capability_faults(document: Document) -> Iterator[FaultText]:
    """Yield a fault for each class that a capability lists twice."""
    for name, capability in document.value.items():
        classes = capability["classes"]
        for place, one in enumerate(classes):
            if one in classes[:place]:
                yield partial(document.fault_at, f"/{name}/classes/{place}", f"{one} is listed twice")


def body_faults(
    shown: str,
    text: str,
    agents: Mapping[str, object] | None,
    skills: Mapping[str, object] | None,
    vocabulary: Mapping[str, Mapping[str, object]],
) -> Iterator[FaultText]:
    """Yield a fault for each malformed or unknown placeholder of a text. `agents` or `skills` is None if the names are
    unknown; then each name counts as known.
    """
    known: dict[str, Mapping[str, object] | tuple[str, ...]] = {
        "tool": vocabulary["tools"],
        "agent": _placeholder_names(text, "agent") if agents is None else agents,
        "skill": _placeholder_names(text, "skill") if skills is None else skills,
        "action": vocabulary["invocations"],
        "command": COMMANDS,
    }
    for offset, problem in find_faults(text, known):
        yield partial(_format_place, shown, text, offset, problem)


def _placeholder_names(text: str, kind: str) -> dict[str, object]:
    return {name: None for _, _, of, name in find_placeholders(text) if of == kind}


def _capabilities(document: Document) -> Iterator[tuple[int, str]]:
    """Yield the valid capabilities, each with its index."""
    if document.keeps("/capabilities"):
        for place, name in enumerate(document.value.get("capabilities", ())):
            if document.keeps(f"/capabilities/{place}"):
                yield place, name


def _unknown(
    document: Document, pointer: str, problem: str, name: str, known: Mapping[str, object] | tuple[str, ...]
) -> str:
    return document.fault_at(pointer, f"{problem}{suggestion(name, known)}")


def _format_place(shown: str, text: str, offset: int, problem: FaultText) -> str:
    line, column = line_and_column(text, offset)
    return f"{shown}:{line}:{column}: {problem()}"
