"""JSON files as a look reads them: the value where it can be used, and what is wrong with the file where it cannot."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from nexus_mcp import schemas
from nexus_mcp.doctor import dates, places
from nexus_mcp.doctor.finding import CAP, Finding
from nexus_mcp.errors import NewerVersion, PathRefused, StateError, StorageError
from nexus_mcp.state import shapes
from nexus_mcp.store.codec import decode
from nexus_mcp.store.history_file import HistoryFile
from nexus_mcp.store.journal import HISTORY_LIMIT, SESSION_LIMIT, SHOWN_HISTORY

if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.doctor.site import Site
    from nexus_mcp.doctor.survey import Entry

T = TypeVar("T")
_WHERE = re.compile(r"line (\d+)(?:, (?:column|byte) (\d+))?")
_BEGIN, _MIDDLE, _END = b"<<<<<<<", b"=======", b">>>>>>>"
_SHORT = re.compile(rb"^<<<+(?=[ \r\n]|\Z)", re.MULTILINE)  # no JSON has that, so it need not be of git's usual length
_REPAIR = "Run nexus-mcp history repair --dry-run: it tells what can be kept, and changes nothing."


@dataclass
class Document:
    """`value` is None when the file is absent or of no use; `findings` then say why."""

    value: Any = None
    findings: list[Finding] = field(default_factory=list)


@dataclass
class Past:
    """The history; `file` is None when it is absent or of no use."""

    file: HistoryFile | None = None
    findings: list[Finding] = field(default_factory=list)


def load(site: Site, entry: Entry, limit: int, parse: Callable[[bytes], T]) -> tuple[T | None, list[Finding]]:
    """What `parse` makes of the file's bytes, None when nothing, and what is wrong with it."""
    path = entry.path
    if entry.size > limit:
        most = f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit >> 10} KiB"
        return None, [Finding("too-large", path, f"has more than the {most} that are read")]
    try:
        data = site.read(entry, limit)
    except StorageError as error:
        return None, [Finding("unreadable", path, f"cannot be read: {error.reason}")]
    except (PathRefused, StateError):
        return None, []  # replaced by something else, or grown, since it was seen: the next look will tell
    if data is None:
        return None, []
    try:
        return parse(data), []
    except StateError as error:
        return None, [_unparsable(path, data, error)]
    except MemoryError:
        return None, [Finding("too-large", path, "takes more memory to read than there is")]


def _unparsable(path: str, data: bytes, error: StateError) -> Finding:
    torn = _SHORT.search(data)
    if torn is not None:
        return _torn(path, data.count(b"\n", 0, torn.start()) + 1)
    found = _WHERE.match(error.where)
    line, column = (int(found[1]), int(found[2]) if found[2] else None) if found else (None, None)
    return Finding("unparsable", path, error.problem, line=line, column=column, advice=_repair(path))


def conflict(path: str, data: bytes) -> Finding | None:
    """The conflict that git left in a text, with all its marks: some of them may be prose."""
    if _BEGIN not in data:
        return None
    begun, divided = 0, False
    for number, line in enumerate(data.split(b"\n"), 1):
        mark = line[:7] if line[7:8] in (b"", b" ", b"\r") else b""
        if mark == _BEGIN:
            begun, divided = number, False
        elif mark == _MIDDLE:
            divided = begun > 0
        if begun and divided and mark == _END:
            return _torn(path, begun)
    return None


def _torn(path: str, line: int) -> Finding:
    return Finding("conflict-markers", path, "has git conflict markers", line=line, advice=_repair(path))


def _repair(path: str) -> str:
    return _REPAIR if path == SHOWN_HISTORY else ""


def session(site: Site, role: str, schema: str) -> Document:
    """The file of this role and schema. Its value has what every reader relies on."""
    entry = next(site.files(role), None)
    return Document() if entry is None else checked(site, entry, schema)


def checked(site: Site, entry: Entry, schema: str) -> Document:
    """A session file, how it keeps its schema, and the dates in it that cannot be."""
    document = _checked(site, entry, schema)
    document.findings += dates.findings(entry.path, schemas.load(schema), document.value, site.now)
    return document


def _checked(site: Site, entry: Entry, schema: str) -> Document:

    def parse(data: bytes) -> tuple[Any]:
        value = decode(data, entry.path)
        site.texts[entry.path] = data.decode("utf-8")
        return (value,)

    parsed, findings = load(site, entry, SESSION_LIMIT, parse)
    if parsed is None:
        return Document(None, findings)
    (value,) = parsed
    full = schemas.faults(schemas.load(schema), value, most=50 * CAP)
    if not full:  # and so none of those that follow
        newer = newer_version(value, entry.path)
        return Document(value, [] if newer is None else [newer])
    broken = against(schemas.readable(schema), value, entry.path)
    if broken:
        return Document(None, broken)
    newer = newer_version(value, entry.path)
    if newer is not None:
        return Document(value, [newer])
    odd = against(opened(schemas.load(schema)), value, entry.path, "schema-odd")
    unknown = [fault for fault in full if fault.message == schemas.UNKNOWN_FIELD]
    return Document(value, odd + [Finding("unknown-field", entry.path, f.message, f.pointer) for f in unknown])


def past(site: Site) -> Past:
    """history.json."""
    entry = next(site.files(places.HISTORY), None)
    if entry is None:
        return Past()
    file, findings = load(site, entry, HISTORY_LIMIT, lambda data: HistoryFile(data, entry.path))
    if file is None:
        return Past(None, findings)
    site.texts[entry.path] = file.text
    newer = newer_version(file.members, entry.path)
    return Past(file, [] if newer is None else [newer])


def newer_version(value: Any, path: str) -> Finding | None:
    """That the file is only read, when it is."""
    if not isinstance(value, dict):
        return None
    try:
        shapes.check_writable(value, path)
    except NewerVersion as error:
        return Finding("newer-version", path, error.problem, "/schema_version")
    return None


def against(schema: dict[str, Any], value: object, path: str, code: str = "schema", pointer: str = "") -> list[Finding]:
    """The faults of the value as findings, not many more than are told."""
    found = schemas.faults(schema, value, pointer, CAP + 1)
    return [Finding(code, path, fault.message, fault.pointer) for fault in found]


def opened(schema: Any) -> Any:
    """The schema without a word about fields that it does not know."""
    if not isinstance(schema, dict):
        return schema
    out = {key: member for key, member in schema.items() if (key, member) != ("additionalProperties", False)}
    if "properties" in out:
        out["properties"] = {name: opened(member) for name, member in out["properties"].items()}
    if "anyOf" in out:
        out["anyOf"] = [opened(branch) for branch in out["anyOf"]]
    return {**out, **{key: opened(out[key]) for key in ("items", "additionalProperties") if key in out}}
