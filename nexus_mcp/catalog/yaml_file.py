"""A YAML file as plain values, with the line and the column of each of them.

Strict: text keys, each once; no aliases (a few lines of them stand for gigabytes), no tags of its own, nothing but
text, whole and decimal numbers, true, false and null. Loading this takes longer than all else that a hook does, so that
hooks and servers go without (load.py).
"""

from __future__ import annotations

from typing import Any

import yaml

from nexus_mcp.errors import CatalogError
from nexus_mcp.schemas import escape

LIMIT = 1 << 20  # bytes; a whole catalog has a twentieth of it
DEPTH = 32
_PLAIN = {
    "tag:yaml.org,2002:str": yaml.SafeLoader.construct_scalar,
    "tag:yaml.org,2002:int": yaml.SafeLoader.construct_yaml_int,
    "tag:yaml.org,2002:float": yaml.SafeLoader.construct_yaml_float,
    "tag:yaml.org,2002:bool": yaml.SafeLoader.construct_yaml_bool,
    "tag:yaml.org,2002:null": yaml.SafeLoader.construct_yaml_null,
    "tag:yaml.org,2002:timestamp": yaml.SafeLoader.construct_scalar,  # a date is a text
    "tag:yaml.org,2002:value": yaml.SafeLoader.construct_scalar,
    "tag:yaml.org,2002:merge": yaml.SafeLoader.construct_scalar,
}


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


class _Loader(yaml.SafeLoader):
    """Composes nodes, and counts how deep."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="aliases are not used here", problem_mark=event.start_mark)
        if self.depth >= DEPTH:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="nested too deeply", problem_mark=event.start_mark)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def read(data: bytes, shown: str) -> Document:
    """The file with these bytes. Raises CatalogError, which says where."""
    if len(data) > LIMIT:
        raise CatalogError([f"{shown}: larger than the {LIMIT >> 20} MiB that are read"])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        seen = error.object  # without the mark that it may begin with
        start = seen.rfind(b"\n", 0, error.start) + 1
        column = len(seen[start : error.start].decode()) + 1
        raise CatalogError([f"{shown}:{seen.count(10, 0, start) + 1}:{column}: not UTF-8"]) from error
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        places: dict[str, tuple[int, int]] = {}
        value = None if node is None else _value(loader, node, "", places)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
        problem = error.problem or error.context or "not YAML"
        if problem.startswith("but ") and error.context:
            problem = f"{error.context}, {problem}"
        problem = problem.replace("<", "").replace(">", "")  # of "<stream end>", which is no tag
        raise CatalogError([f"{shown}:{line}:{column}: {problem}"]) from error
    except yaml.YAMLError as error:  # a character that YAML does not allow
        position = getattr(error, "position", 0)
        line, column = text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
        raise CatalogError([f"{shown}:{line}:{column}: not YAML: {getattr(error, 'reason', 'unreadable')}"]) from error
    return Document(shown, value, places)


def _value(loader: _Loader, node: yaml.Node, pointer: str, places: dict[str, tuple[int, int]]) -> Any:
    places[pointer] = (node.start_mark.line + 1, node.start_mark.column + 1)
    if isinstance(node, yaml.SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
        return [_value(loader, item, f"{pointer}/{place}", places) for place, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode) and node.tag == "tag:yaml.org,2002:map":
        members: dict[str, Any] = {}
        for key, item in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else None
            if name is None:
                raise _fault("a key has to be a text", key)
            if name in members:
                raise _fault("the key stands there twice", key)  # not by name: a model may be told of it
            members[name] = _value(loader, item, f"{pointer}/{escape(name)}", places)
            places[f"{pointer}/{escape(name)}"] = (key.start_mark.line + 1, key.start_mark.column + 1)
        return members
    made = _PLAIN.get(node.tag)
    if not isinstance(node, yaml.ScalarNode) or made is None:
        raise _fault("tags of its own are not used here", node)
    try:
        return made(loader, node)
    except (ValueError, OverflowError) as error:
        raise _fault("a number that cannot be read", node) from error


def _fault(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
