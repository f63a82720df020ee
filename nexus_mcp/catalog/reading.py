"""The files of a source, read and held against their schemas; what refers to what is checking.py's matter."""

from __future__ import annotations

from nexus_mcp import schemas
from nexus_mcp.catalog.sources import BODY, BODY_LIMIT, META
from nexus_mcp.errors import CatalogError
from nexus_mcp.log import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

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


class Entry:
    """An agent or a skill as it is written. `body` is None when there is no file for it."""

    __slots__ = ("body", "document", "kind", "name")

    def __init__(self, kind: str, name: str, document: Document, body: bytes | None) -> None:
        self.kind = kind
        self.name = name
        self.document = document
        self.body = body

    @property
    def path(self) -> str:
        return f"{self.kind}/{self.name}"


def entries(
    source: Source, kind: str, faults: list[str], below: Mapping[str, object] | None = None
) -> dict[str, Entry]:
    """The entries of a kind that can be used, by id; `faults` gets what is wrong with the others.

    One that is put over an entry of `below` may leave out everything but its id.
    """
    found: dict[str, Entry] = {}
    for name in source.folders(kind):
        if "." in name:
            shown = source.shown(f"{kind}/{printable(name)}")
            faults.append(f"{shown}: a folder here is called by an id, which has no dot; rename it, or move it away")
            continue
        complete = name not in (below or ())
        path = f"{kind}/{name}/{META}"
        document = document_at(source, path, SCHEMAS[kind], faults, required=None if complete else ["id"])
        if document is None:
            continue
        if document.value["id"] != name:
            faults.append(document.told("/id", f"the id has to be the name of its folder, {name}"))
            continue
        body = source.read(f"{kind}/{name}/{BODY}")
        shown = source.shown(f"{kind}/{name}/{BODY}")
        if body is None and complete:
            faults.append(f"{shown}: is missing")
        elif body is not None and (problem := _body_fault(body)):
            faults.append(f"{shown}{problem}")
        else:
            found[name] = Entry(kind, name, document, body)
    return found


def document_at(
    source: Source, path: str, schema: str, faults: list[str], *, required: list[str] | None = None
) -> Document | None:
    """The file at `path` when it is there and keeps its schema; else None, and `faults` says why."""
    from nexus_mcp.catalog import yaml_file

    data = source.read(path)
    if data is None:
        faults.append(f"{source.shown(path)}: is missing")
        return None
    try:
        document = yaml_file.read(data, source.shown(path))
    except CatalogError as error:
        faults.extend(error.faults)
        return None
    wanted: dict[str, Any] = schemas.load(schema)
    if required is not None:
        wanted = {**wanted, "required": required}
    broken = schemas.faults(wanted, document.value, most=20)
    faults.extend(
        document.told(fault.pointer, f"{fault.pointer.lstrip('/')} {fault.message}".strip()) for fault in broken
    )
    return None if broken else document


def _body_fault(body: bytes) -> str:
    """What is wrong with the text of an entry, behind its path; "" for nothing."""
    if len(body) > BODY_LIMIT:
        return f": larger than the {BODY_LIMIT >> 10} KiB of a text that leaves room for the work"
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        return f":{body.count(10, 0, error.start) + 1}:1: not UTF-8"
    if not text.strip():
        return ": is empty"
    return ": holds NUL" if "\0" in text else ""
