"""Change a YAML file and keep its comments, with ruamel.yaml.

ruamel.yaml attaches to a key or list item the comment on its line and the comments below, up to the next key or item.
A leaf is a scalar or a collection in flow style, such as `[a, b]`. An item that is added at the end of a collection
takes over the comments below the collection's last leaf, because otherwise they would come before the new item.

The same functions change the plain value of the file, too: dicts and lists without comments. `changed_file` returns the
new text only if it parses to exactly the changed plain value.
"""

from __future__ import annotations

import copy
import io
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import CommentMark
from ruamel.yaml.scalarstring import DoubleQuotedScalarString
from ruamel.yaml.tokens import CommentToken
from yaml import MarkedYAMLError, SafeLoader, ScalarToken, scan

from nexus_mcp.catalog import yaml_file
from nexus_mcp.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The index of the comment behind a list item, and behind the value of a mapping, in the list that ruamel.yaml keeps for
# an item or a key.
_BEHIND_ITEM, _BEHIND_VALUE = 0, 2
_BOM = b"\xef\xbb\xbf"
_LAYOUTS = ((2, 2, 0), (2, 4, 2), (4, 2, 0), (4, 4, 2), (4, 6, 4))
"""Indentation of mappings, of lists, and of the dash of a list item."""
_UNBROKEN = 1 << 20
_BY_HAND = "Make this change in the file by hand; nothing was changed."


def append(items: list[Any], item: str) -> None:
    """Add an item at the end of a list. Do nothing if the list has the item: another process may have added it."""
    if item in items:
        return
    tail = _take(items)
    if isinstance(items, CommentedSeq) and not items:
        items.fa.set_flow_style()  # an empty list in a file is written as [], so write [item]
    items.append(_scalar(item) if isinstance(items, CommentedSeq) else item)
    _give(items, tail)


def put(members: dict[str, Any], name: str, value: Any) -> None:
    """Add a new field at the end. Its value is a list, which is written on one line, or an object."""
    tail = _take(members)
    members[name] = _with_comments(value) if isinstance(members, CommentedMap) else value
    _give(members, tail)


def take_out(items: list[Any], item: str) -> None:
    """Remove an item of a list, if it is there, and the comment on its line. Comments below it stay, except below the
    first item: `changed_file` then refuses the change.
    """
    if item not in items:
        return
    at = items.index(item)
    token = _token(items, at) if isinstance(items, CommentedSeq) else None
    rest = _split(token) if token is not None else ""
    del items[at]
    if rest.strip() and at:
        _add(items, at - 1, rest)


def remove(members: dict[str, Any], name: str) -> None:
    """Remove a field. The comments below its last line stay, after the field before it. If there is no field before it,
    they are lost, and `changed_file` refuses the change.
    """
    at, keys = list(members).index(name), list(members)
    token = _token(*_end(members, name)) if isinstance(members, CommentedMap) else None
    rest = _split(token) if token is not None else ""
    del members[name]
    if rest.strip() and at:
        _add(*_end(members, keys[at - 1]), rest)


def _end(members: Any, name: str) -> tuple[Any, Any]:
    """Return (the collection that holds the last leaf of a field, the key or index of that leaf)."""
    return (None if _is_flow(members[name]) else _leaf(members[name])) or (members, name)


def _with_comments(value: Any) -> Any:
    if isinstance(value, dict):
        new_map = CommentedMap()
        for name, member in value.items():
            new_map[name] = _with_comments(member)
        return new_map
    if isinstance(value, list):
        items = CommentedSeq(_with_comments(item) for item in value)
        items.fa.set_flow_style()
        return items
    return _scalar(value)


def _scalar(value: Any) -> Any:
    """Return the value. Put a text between quotation marks if YAML 1.1 would not read it as this text, e.g. `on`."""
    if not isinstance(value, str):
        return value
    import yaml

    try:
        is_plain = yaml.safe_load(value) == value
    except yaml.YAMLError:
        is_plain = False
    return value if is_plain else DoubleQuotedScalarString(value)


def _leaf(collection: Any) -> tuple[Any, Any] | None:
    """Return (the collection of the last leaf, the leaf's key or index there); None for a value that is empty or not a
    collection of ruamel.yaml.
    """
    if not isinstance(collection, (CommentedMap, CommentedSeq)) or not collection:
        return None
    key = list(collection)[-1] if isinstance(collection, CommentedMap) else len(collection) - 1
    below = collection[key]
    deeper = _leaf(below) if not _is_flow(below) else None
    return deeper or (collection, key)


def _is_flow(value: Any) -> bool:
    return isinstance(value, (CommentedMap, CommentedSeq)) and bool(value.fa.flow_style())


def _take(collection: Any) -> str:
    """Remove and return the comments below the line of the last leaf."""
    if _is_flow(collection):
        return ""
    leaf = _leaf(collection)
    token = None if leaf is None else _token(*leaf)
    return "" if token is None else _split(token)


def _give(collection: Any, tail: str) -> None:
    leaf = _leaf(collection) if tail else None
    if leaf is not None:
        _add(*leaf, tail)


def _token(collection: Any, key: Any) -> CommentToken | None:
    comments = collection.ca.items.get(key)
    found = None if comments is None else comments[_slot(collection)]
    return found if isinstance(found, CommentToken) else None


def _split(token: CommentToken) -> str:
    """Keep in the token only the comment on the token's own line, and return the comments below it."""
    first, newline, rest = token.value.partition("\n")
    token.value = first + newline
    return rest


def _add(collection: Any, key: Any, rest: str) -> None:
    token = _token(collection, key)
    if token is not None:
        token.value = token.value.rstrip("\n") + "\n" + rest
        return
    comments = collection.ca.items.setdefault(key, [None, None, None, None])
    comments[_slot(collection)] = CommentToken("\n" + rest, CommentMark(0), None)


def _slot(collection: Any) -> int:
    return _BEHIND_ITEM if isinstance(collection, CommentedSeq) else _BEHIND_VALUE


def new_file(start: dict[str, Any], head: str, change: Callable[[Any], None]) -> bytes:
    """Return a new file: the comment `head`, then `start` with `change` made to it."""
    value = CommentedMap(start)
    change(value)
    return f"# {head}\n{_dump(_writer(*_LAYOUTS[0]), value)}".encode()


def changed_file(data: bytes, shown: str, change: Callable[[Any], None], *, removing: str = "") -> bytes:
    """Return the file with `change` made to its value, a mapping. `change` uses the functions of this module.

    `removing` is the list item that `change` removes, together with the comment on its line. Raise CatalogError if the
    file is not valid or not a mapping, or if the change would lose another value or comment.
    """
    before = yaml_file.read(data, shown).value
    if not isinstance(before, dict):
        raise CatalogError([f"{shown}:1:1: must be a mapping"])
    text = data.removeprefix(_BOM).decode()
    newline = "\r\n" if "\r\n" in text else "\n"
    text = text.replace("\r\n", "\n")
    text = text if text.endswith("\n") else f"{text}\n"
    wanted = copy.deepcopy(before)
    change(wanted)
    try:
        changed = _change_text(text, change)
    except Exception as error:  # ruamel.yaml fails in many ways at comments in unusual places
        problem = f"{shown}:1:1: the comments in it cannot be kept by a command ({type(error).__name__})"
        raise CatalogError([problem], next_step=_BY_HAND) from error
    out = (_BOM if data.startswith(_BOM) else b"") + changed.replace("\n", newline).encode()
    place = _place_of_loss(text, changed, removing)
    if not place and value_of(out, shown) == wanted:
        return out
    problem = f"{shown}:{place}:1: the comment there would be lost" if place else f"{shown}:1:1: a value would be lost"
    raise CatalogError([problem], next_step=_BY_HAND)


def comments_in(data: bytes) -> list[str]:
    """Return the comments of a valid file, in order."""
    return [comment for _, comment, _ in _comments(data.removeprefix(_BOM).decode().replace("\r\n", "\n"))]


def value_of(data: bytes, shown: str) -> Any:
    """Return the value of a file; None when it is not valid. ruamel.yaml writes invalid YAML, for example, when the
    only item of a list is removed and has a comment above it.
    """
    try:
        return yaml_file.read(data, shown).value
    except CatalogError:
        return None


def _change_text(text: str, change: Callable[[Any], None]) -> str:
    """Return the changed text, in the layout that reproduces the old text, or in the default layout if none does."""
    writers = [_writer(*layout) for layout in _LAYOUTS]
    for yaml in writers:
        yaml.explicit_start = any(line.startswith("---") for line in text.split("\n"))
    yaml = next((one for one in writers if _dump(one, one.load(text)) == text), writers[0])
    value = yaml.load(text)
    change(value)
    return _dump(yaml, value)


def _writer(mapping: int, sequence: int, offset: int) -> YAML:
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = _UNBROKEN
    yaml.indent(mapping=mapping, sequence=sequence, offset=offset)
    return yaml


def _dump(yaml: YAML, value: Any) -> str:
    stream = io.StringIO()
    yaml.dump(value, stream)
    return stream.getvalue()


def _place_of_loss(before: str, after: str, removing: str) -> int:
    """Return the line of the first lost comment, 0 for none. The comment beside the removed item may be lost."""
    remaining = [comment for _, comment, _ in _comments(after)]
    is_removed = False
    for line, comment, item in _comments(before):
        if comment in remaining:
            remaining.remove(comment)
        elif removing and item == removing and not is_removed:
            is_removed = True
        else:
            return line
    return 0


def _comments(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line from 1, the comment, the scalar directly before it on its line or "")."""
    end, last = 0, ""
    for token in _tokens(text):
        for place, line in enumerate(text[end : token.start_mark.index].split("\n")):
            if line.strip().startswith("#"):
                number = text.count("\n", 0, end) + 1 + place
                yield number, line.strip(), last if place == 0 else ""
        end = max(end, token.end_mark.index)
        last = token.value if isinstance(token, ScalarToken) else ""


def _tokens(text: str) -> Iterator[Any]:
    """Yield the tokens of a text up to the first place that is not YAML."""
    with suppress(MarkedYAMLError):
        yield from scan(text, Loader=SafeLoader)
