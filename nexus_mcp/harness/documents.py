"""Open the configuration files into which our entries are spliced, and restore the entries that ours replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nexus_mcp.harness.definition import TOML, pointer_of
from nexus_mcp.harness.json_document import JsonDocument
from nexus_mcp.harness.jsonc import Unreadable
from nexus_mcp.harness.toml_document import TomlDocument, table_lines

if TYPE_CHECKING:
    from collections.abc import Collection

    from nexus_mcp.harness.definition import Site, Spliced

Document = JsonDocument | TomlDocument


def open_document(path: str, data: bytes | None) -> Document:
    """Return the document of a configuration file. Raise Unreadable, Unsuitable."""
    try:
        text = (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not text in UTF-8 (byte {error.start})") from error
    return TomlDocument(text) if path.endswith(".toml") else JsonDocument(text)


def put_back(document: Document, path: tuple[str, ...], former: Any) -> None:
    """Replace the present entry by `former`; if that is None or cannot be written, remove the present entry."""
    if former is not None and (isinstance(document, JsonDocument) or _is_writable(path, former)):
        document.set(path, former)
    else:
        document.remove(path)


def _is_writable(path: tuple[str, ...], value: dict[str, Any]) -> bool:
    """Return whether we can write a table: not with a value such as a date, which our entries never have. The vault has
    a copy then.
    """
    try:
        return bool(TomlDocument("\n".join(table_lines(path, value))).get(path) == value)
    except (TypeError, Unreadable):
        return False


def replaced(path: str, pointers: list[str], before: tuple[str, bytes | None] | None) -> dict[str, Any]:
    """Return pointer → the user's entry that ours replaced because of --force."""
    if before is None or before[1] is None:
        return {}
    old = open_document(path, before[1])
    parts = {pointer: pointer_of(pointer) for pointer in pointers}
    return {pointer: old.get(names) for pointer, (names, is_item) in parts.items() if not is_item and old.get(names)}


def remove_empty(document: Document, made: Collection[str]) -> None:
    """Remove the objects and arrays that we made, if they are empty now; the deepest first.

    `made` are their pointers in the record.
    """
    if not isinstance(document, JsonDocument):
        return
    for pointer in sorted((one for one in made if one), key=len, reverse=True):
        parts = tuple(pointer.split("/")[1:])
        if document.get(parts) in ({}, []):
            document.remove(parts)


def is_empty(document: Document, text: str) -> bool:
    """Return whether the document has only brackets and white space."""
    return not document.value and text.strip().lstrip("\ufeff") in ("", "{}", "{\n}", "{\r\n}")


def lines_to_paste(site: Site, rows: list[Spliced]) -> dict[str, str]:
    """Return path → the lines that a user can paste into the file in place of the rows."""
    if not rows:
        return {}
    if rows[0].format == TOML:
        text = "\n".join(line for row in rows for line in table_lines(row.pointer, row.value))
        return {site.shown(rows[0].path): text}
    document = JsonDocument("")
    for row in rows:
        if row.is_item:
            document.append(row.pointer, row.value)
        else:
            document.set(row.pointer, row.value)
    return {site.shown(rows[0].path): document.finish().rstrip()}
