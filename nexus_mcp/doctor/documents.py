"""Read the JSON files of a workspace for the checks, and locate JSON pointers in their text.

A file that cannot be used becomes findings, not an exception.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from nexus_mcp import schemas
from nexus_mcp.doctor import places, values
from nexus_mcp.doctor.finding import CAP, Finding
from nexus_mcp.errors import NewerVersion, PathRefused, StateError, StorageError
from nexus_mcp.state import shapes
from nexus_mcp.store.codec import decode
from nexus_mcp.store.history.frame import HistoryFile, skip
from nexus_mcp.store.journal import HISTORY_LIMIT, SESSION_LIMIT, SHOWN_HISTORY
from nexus_mcp.wording import line_and_column_of_byte

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nexus_mcp.doctor.survey import Entry

# Numbers stay text, so that a number that Python cannot represent has a position, too.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)


def find_value(text: str, pointer: str, start: int = 0) -> int:
    """Return the offset of the value that `pointer` names in the JSON value at or after the offset `start`.

    For a pointer to a missing value, return the offset of the innermost value that exists. Raise ValueError or
    IndexError when `text` is not JSON from `start` on.
    """
    at = skip(text, start)
    for part in pointer.split("/")[1:]:
        inner = _inner(text, at, part.replace("~1", "/").replace("~0", "~"))
        if inner is None:
            break
        at = inner
    return at


def _inner(text: str, at: int, name: str) -> int | None:
    """Return the offset of the field or item `name` of the container at `at`, None if there is none."""
    kind = text[at]
    if kind not in "{[":
        return None
    at = skip(text, at + 1)
    number = 0
    while text[at] not in "}]":
        key = str(number)
        if kind == "{":
            key, at = scanstring(text, at + 1)
            at = skip(text, skip(text, at) + 1)
        if key == name:
            return at
        _, end = _DECODER.raw_decode(text, at)
        at = skip(text, end)
        if text[at] == ",":
            at = skip(text, at + 1)
        number += 1
    return None


T = TypeVar("T")
_WHERE = re.compile(r"line (\d+)(?:, column (\d+))?")
_BEGIN, _MIDDLE, _END = b"<<<<<<<", b"=======", b">>>>>>>"
# No line of valid JSON matches, so a marker of three or more characters counts, not only git's seven.
_SHORT = re.compile(rb"^<<<+(?=[ \r\n]|\Z)", re.MULTILINE)
_REPAIR = "Run nexus-mcp history repair --dry-run. It shows what can be repaired, and changes nothing."


class Source(Protocol):
    """The part of a Site that is needed to read a file."""

    texts: dict[str, str]
    now: float

    def files(self, *roles: str) -> Iterator[Entry]: ...
    def read(self, entry: Entry, limit: int) -> bytes | None: ...


@dataclass
class Document:
    """A parsed file with its `findings`. `value` is None when the file is absent or unusable."""

    value: Any = None
    findings: list[Finding] = field(default_factory=list)


@dataclass
class History:
    """The parsed history.json with its `findings`. `file` is None when it is absent or unusable."""

    file: HistoryFile | None = None
    findings: list[Finding] = field(default_factory=list)


def load(site: Source, entry: Entry, limit: int, parse: Callable[[bytes], T]) -> tuple[T | None, list[Finding]]:
    """Read and parse a file. Return (the result of `parse`, None when the file is unusable; the findings)."""
    path = entry.path
    if entry.size > limit:
        most = f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit >> 10} KiB"
        return None, [Finding("too-large", path, f"is larger than {most}, the limit for reading it")]
    try:
        data = site.read(entry, limit)
    except StorageError as error:
        return None, [Finding("unreadable", path, f"cannot be read: {error.reason}")]
    except (PathRefused, StateError):
        return None, []  # the file was replaced or grew after the listing: the next pass reports it
    if data is None:
        return None, []
    try:
        return parse(data), []
    except StateError as error:
        return None, [_parse_finding(path, data, error)]
    except MemoryError:
        return None, [Finding("too-large", path, "needs more memory than is available")]


def _parse_finding(path: str, data: bytes, error: StateError) -> Finding:
    marker = _SHORT.search(data)
    if marker is not None:
        return _conflict_finding(path, line_and_column_of_byte(data, marker.start())[0])
    found = _WHERE.match(error.where)
    line, column = (int(found[1]), int(found[2]) if found[2] else None) if found else (None, None)
    return Finding("unparsable", path, error.problem, line=line, column=column, advice=_repair_advice(path))


def find_conflict(path: str, data: bytes) -> Finding | None:
    """Find a git conflict with all its markers; a single marker may be prose. Return a finding or None."""
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
            return _conflict_finding(path, begun)
    return None


def _conflict_finding(path: str, line: int) -> Finding:
    return Finding("conflict-markers", path, "has git conflict markers", line=line, advice=_repair_advice(path))


def _repair_advice(path: str) -> str:
    return _REPAIR if path == SHOWN_HISTORY else ""


def load_session(site: Source, role: str, schema: str) -> Document:
    """Read the session file of this role. If `value` is not None, it has all required fields."""
    entry = next(site.files(role), None)
    return Document() if entry is None else load_checked(site, entry, schema)


def load_checked(site: Source, entry: Entry, schema: str) -> Document:
    """Read a session file or a tracker, and check its schema and its dates."""
    document = _check_document(site, entry, schema)
    document.findings += values.find_bad_times(entry.path, schemas.load(schema), document.value, site.now)
    return document


def _check_document(site: Source, entry: Entry, schema: str) -> Document:

    def parse(data: bytes) -> tuple[Any]:
        value = decode(data, entry.path)
        site.texts[entry.path] = data.decode("utf-8")
        return (value,)

    parsed, findings = load(site, entry, SESSION_LIMIT, parse)
    if parsed is None:
        return Document(None, findings)
    (value,) = parsed
    full = schemas.faults(schemas.load(schema), value, most=50 * CAP)
    if not full:  # a file that passes the schema can only be too new
        newer = _check_version(value, entry.path)
        return Document(value, [] if newer is None else [newer])
    broken = validate(schemas.readable(schema), value, entry.path)
    if broken:
        return Document(None, broken)
    newer = _check_version(value, entry.path)
    if newer is not None:
        return Document(value, [newer])
    odd = validate(allow_unknown_fields(schemas.load(schema)), value, entry.path, "schema-odd")
    unknown = [fault for fault in full if fault.message == schemas.UNKNOWN_FIELD]
    return Document(value, odd + [Finding("unknown-field", entry.path, f.message, f.pointer) for f in unknown])


def load_history(site: Source) -> History:
    """Read history.json."""
    entry = next(site.files(places.HISTORY), None)
    if entry is None:
        return History()
    file, findings = load(site, entry, HISTORY_LIMIT, lambda data: HistoryFile(data, entry.path))
    if file is None:
        return History(None, findings)
    site.texts[entry.path] = file.text
    newer = _check_version(file.members, entry.path)
    return History(file, [] if newer is None else [newer])


def _check_version(value: Any, path: str) -> Finding | None:
    """Return a finding when the file has a newer major version, which nexus-mcp does not write; else None."""
    if not isinstance(value, dict):
        return None
    try:
        shapes.check_writable(value, path)
    except NewerVersion as error:
        return Finding("newer-version", path, error.problem, "/schema_version")
    return None


def validate(
    schema: dict[str, Any], value: object, path: str, code: str = "schema", pointer: str = ""
) -> list[Finding]:
    """Validate the value. Return at most CAP + 1 findings."""
    found = schemas.faults(schema, value, pointer, CAP + 1)
    return [Finding(code, path, fault.message, fault.pointer) for fault in found]


def allow_unknown_fields(schema: Any) -> Any:
    """Return the schema with unknown fields allowed."""
    if not isinstance(schema, dict):
        return schema
    out = {key: member for key, member in schema.items() if (key, member) != ("additionalProperties", False)}
    if "properties" in out:
        out["properties"] = {name: allow_unknown_fields(member) for name, member in out["properties"].items()}
    if "anyOf" in out:
        out["anyOf"] = [allow_unknown_fields(branch) for branch in out["anyOf"]]
    return {**out, **{key: allow_unknown_fields(out[key]) for key in ("items", "additionalProperties") if key in out}}
