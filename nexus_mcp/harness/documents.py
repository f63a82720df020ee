"""Open the configuration files into which our entries are spliced, and restore the entries that ours replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nexus_mcp.harness.definition import TOML, pointer_of
from nexus_mcp.harness.json_document import JsonDocument
from nexus_mcp.harness.jsonc import Unreadable
from nexus_mcp.harness.toml_document import TomlDocument, table_lines
from nexus_mcp.wording import place_of_byte

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from nexus_mcp.harness.definition import Site, SplicedEntry
    from nexus_mcp.harness.files import FoundFile

    Entries = list[tuple[str, Any]]

Document = JsonDocument | TomlDocument


def open_document(path: str, data: bytes | None) -> Document:
    """Return the document of a configuration file. Raise Unreadable, Unsuitable."""
    try:
        text = (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not text in UTF-8: {place_of_byte(error.object, error.start)}") from error
    return TomlDocument(text) if path.endswith(".toml") else JsonDocument(text)


def put_back(document: Document, path: tuple[str, ...], former: Any) -> None:
    """Replace the present entry by `former`; if that is None or cannot be written, remove the present entry."""
    if former is not None and (isinstance(document, JsonDocument) or _is_writable(path, former)):
        document.set(path, former)
    else:
        document.remove(path)


def _is_writable(path: tuple[str, ...], value: dict[str, Any]) -> bool:
    """Return whether we can write a table. A table of the user may have a value that we cannot write, such as a date;
    the vault has a copy of the file.
    """
    try:
        return bool(TomlDocument("\n".join(table_lines(path, value))).get(path) == value)
    except (TypeError, Unreadable):
        return False


def replaced_entries(path: str, pointers: list[str], before: tuple[str, bytes | None] | None) -> dict[str, Any]:
    """Return pointer → the user's entry, no item of an array, that ours replaced.

    `before` is the row of the file in the vault, None without such a row.
    """
    if before is None or before[1] is None:
        return {}
    old = open_document(path, before[1])
    parts = {pointer: pointer_of(pointer) for pointer in pointers}
    return {pointer: old.get(names) for pointer, (names, is_item) in parts.items() if not is_item and old.get(names)}


def remove_empty(document: Document, made: Collection[str]) -> None:
    """Remove the objects and arrays that we made in a JSON file, if they are empty now and have no comment; the deepest
    first. `made` are their pointers in the record.
    """
    if not isinstance(document, JsonDocument):
        return
    for pointer in sorted((one for one in made if one), key=len, reverse=True):
        parts = tuple(pointer.split("/")[1:])
        if document.get(parts) in ({}, []) and not document.has_comment(parts):
            document.remove(parts)


def find_entries(document: Document, pointers: Iterable[str], index_of: Callable[[Any, str], int]) -> Entries:
    """Return the pointers that have a value now, with these values, in the order of the file.

    `index_of(array, pointer)` returns the index of the item that a pointer stands for, -1 for none.
    """
    found = []
    for pointer in pointers:
        parts, is_item = pointer_of(pointer)
        value = document.get(parts)
        if is_item:
            at = index_of(value, pointer)
            value = value[at] if at >= 0 else None
        if value is not None:
            places, holder = [], document.value
            for name in parts:
                places.append([*holder].index(name))
                holder = holder[name]
            found.append((places, pointer, value))
    return [(pointer, value) for _, pointer, value in sorted(found, key=lambda one: one[0])]


def with_blanks_of(found: FoundFile, text: str, before: bytes | None, entries: Entries, made: Collection[str]) -> str:
    """Return `text` with the blanks that the file had before the installation, or `text` if they cannot be restored.

    `text` is the file `found` without our entries, and `before` are the bytes of the file before the installation.
    `entries` are the pointers and values of our entries in the order of the file, `made` is as for `remove_empty`. The
    removal of our entries alone may leave other blanks around an entry than `before` has.
    """
    if before is None:
        return text
    path = found.path
    try:
        old = before.decode()
        gap = "\r\n" if "\r\n" in old else "\n"
        if path.endswith(".toml") and all(
            one.startswith(f"{old}{gap}#") for one in ((found.data or b"").decode(), text)
        ):
            # The user wrote a comment between the empty line that we added and our table: remove that empty line.
            return old + text[len(old + gap) :]
        document = open_document(path, before)
        for pointer, value in entries:
            parts, is_item = pointer_of(pointer)
            document.append(parts, value) if is_item and isinstance(document, JsonDocument) else document.set(
                parts, value
            )
        document = open_document(path, document.finish().encode())
        for pointer, _ in reversed(entries):
            parts, is_item = pointer_of(pointer)
            if is_item and isinstance(document, JsonDocument):
                document.remove_item(parts, len(document.get(parts)) - 1)
            else:
                document.remove(parts)
        remove_empty(document, made)
        fixed = _move_change(document.finish(), old, text)
        return fixed if open_document(path, fixed.encode()).value == open_document(path, text.encode()).value else text
    except (ValueError, TypeError, KeyError, IndexError):  # our entries do not fit into the old text
        return text


def _move_change(left: str, old: str, text: str) -> str:
    """Return `text` with the change from `left` to `old` made at the same place, if the change adds only blanks and
    removes only blanks or `{}`; else return `text`.
    """
    start = _common(left, old)
    end = _common(left[start:][::-1], old[start:][::-1])
    head, tail = left[:start], left[len(left) - end :]
    gone, new = left[start : len(left) - end], old[start : len(old) - end]
    if new.strip() or gone.strip() not in ("", "{}"):
        return text
    if text.startswith(head + gone + tail[:1]):
        return f"{head}{new}{text[len(head + gone) :]}"
    if text.endswith(head[-1:] + gone + tail):
        return f"{text[: len(text) - len(gone + tail)]}{new}{tail}"
    return text


def _common(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def is_empty(document: Document, text: str) -> bool:
    """Return whether the document has only brackets and white space."""
    return not document.value and text.strip().lstrip("\ufeff") in ("", "{}", "{\n}", "{\r\n}")


def lines_to_paste(site: Site, rows: list[SplicedEntry]) -> dict[str, str]:
    """Return path → the lines that a user can paste into the file of the `rows`, which all have the same path."""
    if not rows:
        return {}
    if rows[0].format == TOML:
        text = "\n".join(line for row in rows for line in table_lines(row.pointer, row.value))
        return {site.format_path(rows[0].path): text}
    document = JsonDocument("")
    for row in rows:
        if row.is_item:
            document.append(row.pointer, row.value)
        else:
            document.set(row.pointer, row.value)
    return {site.format_path(rows[0].path): document.finish().rstrip()}
