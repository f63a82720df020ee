"""Read a YAML file as plain values, with the line and the column of each of them.

Strict: text keys, each once; no aliases (a few lines of them stand for gigabytes), no tags of its own, and no types but
those of YAML 1.2's core schema (core_schema.py). Bounded in bytes, values and depth (bounds.py): the parser hands over
one event at a time, so a file is left as soon as it is over a bound, and a signal or a deadline is heeded in between.

Loading this takes longer than all else that a hook does, so that hooks and servers go without (load.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from nexus_mcp.catalog import core_schema
from nexus_mcp.catalog.bounds import DEPTH, KEY, TOO_MANY_VALUES, YAML_BYTES, YAML_VALUES
from nexus_mcp.errors import CatalogError
from nexus_mcp.schemas import escape

if TYPE_CHECKING:
    from nexus_mcp.catalog.bounds import Room

# libyaml reads twenty times as fast as PyYAML alone, and its time is linear where PyYAML's is quadratic.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEXT, _PREFIX = "tag:yaml.org,2002:str", "tag:yaml.org,2002:"
_TYPES = {"null": type(None), "bool": bool, "int": int, "float": float}


class Document:
    """A file that was read. `shown` is its path for messages; `value` what it holds, None when it is empty.

    `broken`: JSON pointers of what was found to break its schema.
    """

    __slots__ = ("_places", "broken", "shown", "value")

    def __init__(self, shown: str, value: Any, places: dict[str, tuple[int, int]]) -> None:
        self.shown = shown
        self.value = value
        self._places = places
        self.broken: frozenset[str] = frozenset()

    def keeps(self, pointer: str) -> bool:
        """Whether what the JSON pointer names, itself, keeps its schema."""
        return pointer not in self.broken

    def has(self, pointer: str) -> bool:
        return pointer in self._places

    def told(self, pointer: str, message: str) -> str:
        """`path:line:column: message`, where what the JSON pointer names stands, or the nearest that is there."""
        place = pointer
        while place and place not in self._places:
            place = place.rpartition("/")[0]
        line, column = self._places.get(place, (1, 1))
        return f"{self.shown}:{line}:{column}: {message}"


def read(data: bytes, shown: str, room: Room | None = None) -> Document:
    """Return the file with these bytes; what it takes is taken from `room`.

    Raises CatalogError, which says where, and Over when it does not fit into `room`.
    """
    if len(data) > YAML_BYTES:
        raise CatalogError([f"{shown}: larger than the {YAML_BYTES >> 10} KiB that are read"])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        seen = error.object  # without the mark that it may begin with
        start = seen.rfind(b"\n", 0, error.start) + 1
        column = len(seen[start : error.start].decode()) + 1
        raise CatalogError([f"{shown}:{seen.count(10, 0, start) + 1}:{column}: not UTF-8"]) from error
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
        problem = problem.replace("<", "").replace(">", "")  # of "<stream end>", which is no tag
        raise CatalogError([f"{shown}:{line}:{column}: {problem}"]) from error
    except yaml.YAMLError as error:  # a character that YAML does not allow
        character = getattr(error, "character", None)
        position = max(0, text.find(chr(character)) if isinstance(character, int) else 0)
        line, column = text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
        raise CatalogError([f"{shown}:{line}:{column}: not YAML: {getattr(error, 'reason', 'unreadable')}"]) from error
    finally:
        if room is not None and composer is not None:
            room.take_values(composer.count)
    return Document(shown, value, composer.places)


class _Composer:
    """Makes values of events, counts them, and notes where each begins."""

    def __init__(self, text: str) -> None:
        self._events = LOADER(text)
        self.count = 0
        self.places: dict[str, tuple[int, int]] = {}

    def document(self) -> Any:
        """The value of the one document of the stream; None for an empty stream."""
        next_event = self._events.get_event
        next_event()  # the start of the stream
        if isinstance(next_event(), yaml.StreamEndEvent):
            return None
        value = self._value(next_event(), "", 0)
        next_event()  # the end of the document
        after = next_event()
        if not isinstance(after, yaml.StreamEndEvent):
            raise _fault("a second document, where one is read", after)
        return value

    def _value(self, event: Any, pointer: str, depth: int) -> Any:
        self._counted(event)
        mark: Any = event.start_mark
        self.places[pointer] = (mark.line + 1, mark.column + 1)
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event)
        if isinstance(event, yaml.AliasEvent):
            raise _fault("aliases are not used here", event)
        if depth >= DEPTH:
            raise _fault("nested too deeply", event)
        is_list = isinstance(event, yaml.SequenceStartEvent)
        if event.tag not in (None, "!", f"{_PREFIX}{'seq' if is_list else 'map'}"):
            raise _fault("tags of its own are not used here", event)
        return self._list(pointer, depth + 1) if is_list else self._members(pointer, depth + 1)

    def _list(self, pointer: str, depth: int) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := self._events.get_event(), yaml.SequenceEndEvent):
            items.append(self._value(event, f"{pointer}/{len(items)}", depth))
        return items

    def _members(self, pointer: str, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        while not isinstance(key := self._events.get_event(), yaml.MappingEndEvent):
            self._counted(key)
            if not isinstance(key, yaml.ScalarEvent):
                raise _fault("a key has to be a text", key)
            mark: Any = key.start_mark
            name: str = key.value
            if len(name) > KEY:  # each value below it would take as much again for its pointer
                raise _fault(f"a key longer than {KEY} characters", key)
            if name in members:
                raise _fault("the key stands there twice", key)  # not by name: a model may be told of it
            at = f"{pointer}/{escape(name)}"
            members[name] = self._value(self._events.get_event(), at, depth)
            self.places[at] = (mark.line + 1, mark.column + 1)
        return members

    def _counted(self, event: Any) -> None:
        self.count += 1
        if self.count > YAML_VALUES:
            raise _fault(TOO_MANY_VALUES, event)


def _place(text: str, mark: Any) -> tuple[int, int]:
    """Line and column of a mark. The end of the text is on its last line, where libyaml has it on one behind that."""
    if mark is None:
        return 1, 1
    last = text.count("\n")
    if mark.line > last:
        return last + 1, len(text) - text.rfind("\n")
    return mark.line + 1, mark.column + 1


def _scalar(event: Any) -> Any:
    """The value of a scalar. One with a tag of the core schema has to be what the tag says."""
    if event.tag in ("!", _TEXT) or (event.tag is None and not event.implicit[0]):
        return event.value
    try:
        value = core_schema.value_of(event.value)
    except core_schema.Refused as error:
        raise _fault(str(error), event) from error
    if event.tag is not None:
        wanted = _TYPES.get(event.tag.removeprefix(_PREFIX))
        if wanted is None:
            raise _fault("tags of its own are not used here", event)
        if type(value) is not wanted:
            raise _fault("a value that is not of the type of its tag", event)
    return value


def _fault(problem: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
