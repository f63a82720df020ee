"""Read a YAML file as plain values, with the line and column of each.

It is strict: each key is a scalar, which is read as a text, and no key is repeated; no aliases, because a few lines of
them can expand to gigabytes; no values with custom tags; only the types of the core schema of YAML 1.2.2 (section
10.3). Bytes, values, depth and the length of keys have bounds (sources.py). The parser delivers one event at a time, so
reading stops at a bound, and signals and deadlines are handled in between. Importing PyYAML takes longer than the rest
of a hook, so load.py caches what was parsed (cache.py).

PyYAML resolves by YAML 1.1: `off` is false, `010` is 8, `1:30` is 90, and a long base-60 number takes minutes. Here the
only booleans are `true` and `false`, also written as `True`, `TRUE`, `False` and `FALSE`. Numbers in base 60, and
integers with a leading zero, are refused, because YAML 1.1 and 1.2 read them differently.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from nexus_mcp.catalog.sources import DEPTH, KEY, TOO_MANY_VALUES, YAML_BYTES, YAML_TOO_LARGE, YAML_VALUES
from nexus_mcp.errors import CatalogError
from nexus_mcp.schemas import escape
from nexus_mcp.wording import line_and_column, line_and_column_of_byte

if TYPE_CHECKING:
    from nexus_mcp.catalog.sources import Room

LONGEST_NUMBER = 64
"""The maximum number of characters of a number. The time to parse a number grows with the square of its length."""
_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_FIRST = frozenset("+-.0123456789")
_INTEGER = re.compile(r"[-+]?[0-9]++\Z|0o[0-7]++\Z|0x[0-9a-fA-F]++\Z")
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?)(?:[eE][-+]?[0-9]++)?\Z")
_INFINITE = frozenset(sign + word for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF"))
_NAN = frozenset((".nan", ".NaN", ".NAN"))
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]++\Z")
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*+(?::[0-9]{1,2}+)++(?:\.[0-9_]*+)?\Z")


class ScalarRefused(ValueError):
    """A scalar that is ambiguous or invalid. The message is the reason, without the scalar."""


def value_of(text: str) -> str | int | float | bool | None:
    """Return the value of the plain scalar `text`. Raise ScalarRefused."""
    if text in _NULL:
        return None
    if text[0] not in _FIRST:
        return _BOOLEANS.get(text, text)
    if text in _INFINITE:
        return float(text.replace(".", ""))
    if text in _NAN:
        return float("nan")
    if _BASE_60.match(text):
        raise ScalarRefused("a number in base 60, which YAML 1.2 does not have: put it between quotation marks")
    if _LEADING_ZERO.match(text):
        raise ScalarRefused("a number with a leading zero: remove leading zeros, or put it between quotation marks")
    is_integer = _INTEGER.match(text) is not None
    if not is_integer and _DECIMAL.match(text) is None:
        return text
    if len(text) > LONGEST_NUMBER:
        raise ScalarRefused("a number that cannot be read")
    if is_integer:
        return int(text, 0 if text[:2] in ("0o", "0x") else 10)
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ScalarRefused("a number that cannot be read")
    return number


# libyaml is 20 times as fast as PyYAML alone, and takes linear time for texts for which PyYAML takes quadratic time.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEXT, _PREFIX = "tag:yaml.org,2002:str", "tag:yaml.org,2002:"
_TYPES = {"null": type(None), "bool": bool, "int": int, "float": float}


class Document:
    """A parsed file. `shown`: its path for messages. `value`: its content, None when it is empty.

    `broken`: JSON pointers of the values that break its schema.
    """

    __slots__ = ("_places", "broken", "shown", "value")

    def __init__(self, shown: str, value: Any, places: dict[str, tuple[int, int]]) -> None:
        self.shown = shown
        self.value = value
        self._places = places
        self.broken: frozenset[str] = frozenset()

    def keeps(self, pointer: str) -> bool:
        """Return whether the value at the JSON pointer itself matches its schema."""
        return pointer not in self.broken

    def has(self, pointer: str) -> bool:
        return pointer in self._places

    def fault_at(self, pointer: str, message: str) -> str:
        """Return `path:line:column: message` for the value at the JSON pointer, or its nearest existing parent."""
        place = pointer
        while place and place not in self._places:
            place = place.rpartition("/")[0]
        line, column = self._places.get(place, (1, 1))
        return f"{self.shown}:{line}:{column}: {message}"


def read(data: bytes, shown: str, room: Room | None = None) -> Document:
    """Parse the bytes of a file, and subtract its size and the number of its values from `room`.

    Raise CatalogError with the path and, unless the file is too large, the line and column; Over if the file does not
    fit into `room`.
    """
    if len(data) > YAML_BYTES:
        raise CatalogError([f"{shown}: {YAML_TOO_LARGE}"])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = line_and_column_of_byte(error.object, error.start)  # the bytes after the byte order mark
        raise CatalogError([f"{shown}:{line}:{column}: not UTF-8"]) from error
    if room is not None:
        room.take_yaml(len(data))
    composer = None
    try:
        composer = _Composer(text)
        value = composer.document()
    except yaml.MarkedYAMLError as error:
        line, column = _place(text, error.problem_mark or error.context_mark)
        problem = error.problem or error.context or "not YAML"
        if problem.startswith(("but ", "did not find ", "found ")) and error.context:
            problem = f"{error.context}: {problem}"
        problem = problem.replace("<", "").replace(">", "")  # "<stream end>" would look like a tag
        raise CatalogError([f"{shown}:{line}:{column}: {problem}"]) from error
    except yaml.YAMLError as error:  # a character that YAML does not allow
        character = getattr(error, "character", None)
        position = max(0, text.find(chr(character)) if isinstance(character, int) else 0)
        line, column = line_and_column(text, position)
        raise CatalogError([f"{shown}:{line}:{column}: not YAML: {getattr(error, 'reason', 'unreadable')}"]) from error
    finally:
        if room is not None and composer is not None:
            room.take_values(composer.count)
    return Document(shown, value, composer.places)


class _Composer:
    """Builds values from events, counts them, and records the position of each."""

    def __init__(self, text: str) -> None:
        self._events = LOADER(text)
        self.count = 0
        self.places: dict[str, tuple[int, int]] = {}

    def document(self) -> Any:
        """Return the value of the only document of the stream; None for an empty stream."""
        next_event = self._events.get_event
        next_event()  # the start of the stream
        if isinstance(next_event(), yaml.StreamEndEvent):
            return None
        value = self._value(next_event(), "", 0)
        next_event()  # the end of the document
        after = next_event()
        if not isinstance(after, yaml.StreamEndEvent):
            raise _fault("a second YAML document; a file may have only one", after)
        return value

    def _value(self, event: Any, pointer: str, depth: int) -> Any:
        self._count_event(event)
        mark: Any = event.start_mark
        self.places[pointer] = (mark.line + 1, mark.column + 1)
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event)
        if isinstance(event, yaml.AliasEvent):
            raise _fault("YAML aliases are not supported", event)
        if depth >= DEPTH:
            raise _fault("nested too deeply", event)
        is_list = isinstance(event, yaml.SequenceStartEvent)
        if event.tag not in (None, "!", f"{_PREFIX}{'seq' if is_list else 'map'}"):
            raise _fault("custom YAML tags are not supported", event)
        return self._list(pointer, depth + 1) if is_list else self._members(pointer, depth + 1)

    def _list(self, pointer: str, depth: int) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := self._events.get_event(), yaml.SequenceEndEvent):
            items.append(self._value(event, f"{pointer}/{len(items)}", depth))
        return items

    def _members(self, pointer: str, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        while not isinstance(key := self._events.get_event(), yaml.MappingEndEvent):
            self._count_event(key)
            if not isinstance(key, yaml.ScalarEvent):
                raise _fault("a key must be a text", key)
            mark: Any = key.start_mark
            name: str = key.value
            if len(name) > KEY:  # the pointer of each value below repeats the key
                raise _fault(f"a key longer than {KEY} characters", key)
            if name in members:
                raise _fault("this key is repeated", key)  # no key in the message: a model may read it
            at = f"{pointer}/{escape(name)}"
            members[name] = self._value(self._events.get_event(), at, depth)
            self.places[at] = (mark.line + 1, mark.column + 1)
        return members

    def _count_event(self, event: Any) -> None:
        self.count += 1
        if self.count > YAML_VALUES:
            raise _fault(TOO_MANY_VALUES, event)


def _place(text: str, mark: Any) -> tuple[int, int]:
    """Return line and column of a mark. The end of the text counts as a place on its last line; libyaml reports the
    next line.
    """
    if mark is None:
        return 1, 1
    last = text.count("\n")
    if mark.line > last:
        return last + 1, len(text) - text.rfind("\n")
    return mark.line + 1, mark.column + 1


def _scalar(event: Any) -> Any:
    """Return the value of a scalar. If it has a tag of the core schema, it must be of that type."""
    if event.tag in ("!", _TEXT) or (event.tag is None and not event.implicit[0]):
        return event.value
    try:
        value = value_of(event.value)
    except ScalarRefused as error:
        raise _fault(str(error), event) from error
    if event.tag is not None:
        wanted = _TYPES.get(event.tag.removeprefix(_PREFIX))
        if wanted is None:
            raise _fault("custom YAML tags are not supported", event)
        if type(value) is not wanted:
            raise _fault("a value that is not of the type of its tag", event)
    return value


def _fault(problem: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
