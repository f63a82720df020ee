"""A YAML file with a change in it: read strictly, changed with its comments, and held against what was meant."""

from __future__ import annotations

import copy
import io
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from yaml import MarkedYAMLError, SafeLoader, ScalarToken, scan

from nexus_mcp.catalog import yaml_file
from nexus_mcp.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BOM = b"\xef\xbb\xbf"
_LAYOUTS = ((2, 2, 0), (2, 4, 2), (4, 2, 0), (4, 4, 2), (4, 6, 4))
"""Indentation of mappings, of lists, and of the dash in those."""
_UNBROKEN = 1 << 20
_BY_HAND = "Make this change in the file by hand; nothing was changed."


def written(start: dict[str, Any], head: str, change: Callable[[Any], None]) -> bytes:
    """A new file: the line `head` as a comment, then `start` with `change` made to it."""
    value = CommentedMap(start)
    change(value)
    return f"# {head}\n{_dumped(_writer(*_LAYOUTS[0]), value)}".encode()


def rewritten(data: bytes, shown: str, change: Callable[[Any], None], *, removing: str = "") -> bytes:
    """The file with `change` made to its value, a mapping; `change` uses the functions of comments.py.

    The comment on the line of the item that it is `removing` goes with that. Raises CatalogError when the file cannot
    be read, or not be written without losing something.
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
        made = _made(text, change)
    except Exception as error:  # ruamel.yaml fails in many ways at comments in places that nobody thought of
        told = f"{shown}:1:1: the comments in it cannot be told apart by a command ({type(error).__name__})"
        raise CatalogError([told], next_step=_BY_HAND) from error
    out = (_BOM if data.startswith(_BOM) else b"") + made.replace("\n", newline).encode()
    place = _place_of_loss(text, made, removing)
    if not place and value_of(out, shown) == wanted:
        return out
    told = (
        f"{shown}:{place}:1: the comment there would be lost" if place else f"{shown}:1:1: it could not be written so"
    )
    raise CatalogError([told], next_step=_BY_HAND)


def comments_in(data: bytes) -> list[str]:
    """The comments of a file that can be read, in order."""
    return [comment for _, comment, _ in _comments(data.removeprefix(_BOM).decode().replace("\r\n", "\n"))]


def value_of(data: bytes, shown: str) -> Any:
    """What a reader would make of it; None when that is nothing, as happens where a list lost its last item."""
    try:
        return yaml_file.read(data, shown).value
    except CatalogError:
        return None


def _made(text: str, change: Callable[[Any], None]) -> str:
    """The text with the change, in the layout that gives it back as it is, where there is one, or else the usual."""
    writers = [_writer(*layout) for layout in _LAYOUTS]
    for yaml in writers:
        yaml.explicit_start = any(line.startswith("---") for line in text.split("\n"))
    yaml = next((one for one in writers if _dumped(one, one.load(text)) == text), writers[0])
    value = yaml.load(text)
    change(value)
    return _dumped(yaml, value)


def _writer(mapping: int, sequence: int, offset: int) -> YAML:
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = _UNBROKEN
    yaml.indent(mapping=mapping, sequence=sequence, offset=offset)
    return yaml


def _dumped(yaml: YAML, value: Any) -> str:
    stream = io.StringIO()
    yaml.dump(value, stream)
    return stream.getvalue()


def _place_of_loss(before: str, after: str, removing: str) -> int:
    """The line of the first comment that is no more, 0 for none; one beside the item that was removed may go."""
    kept = [comment for _, comment, _ in _comments(after)]
    gone = False
    for line, comment, item in _comments(before):
        if comment in kept:
            kept.remove(comment)
        elif removing and item == removing and not gone:
            gone = True
        else:
            return line
    return 0


def _comments(text: str) -> Iterator[tuple[int, str, str]]:
    """(line from 1, the comment, the item of a list that stands before it on its line or "")."""
    end, last = 0, ""
    for token in _tokens(text):
        for place, line in enumerate(text[end : token.start_mark.index].split("\n")):
            if line.strip().startswith("#"):
                number = text.count("\n", 0, end) + 1 + place
                yield number, line.strip(), last if place == 0 else ""
        end = max(end, token.end_mark.index)
        last = token.value if isinstance(token, ScalarToken) else ""


def _tokens(text: str) -> Iterator[Any]:
    """The tokens of a text, as far as it is YAML: what was written is looked at before it is known to be."""
    with suppress(MarkedYAMLError):
        yield from scan(text, Loader=SafeLoader)
