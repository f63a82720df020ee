"""Edit JSON by splicing its text: all bytes outside of the edit stay unchanged (docs/decisions/0074).

Each edit changes both the text and its parsed value; at the end the text must parse to exactly that value.
"""

from __future__ import annotations

import json
import re
from typing import Any

from nexus_mcp.harness import jsonc
from nexus_mcp.harness.jsonc import Container, Unreadable, container_at, is_blank

Path = tuple[str, ...]
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*)?(?=\r?\n)")
_LINE_START = re.compile(r"(?:\r?\n)?[ \t]*\Z")
_INDENT = "  "


class Unsuitable(ValueError):
    """The file has a value of another type where the entry belongs, such as a text in place of an object."""


class JsonDocument:
    """A JSON text with its parsed value. Edits change both; `finish` compares them and returns the text.

    With `tidy` the removal of an entry also removes the line break and the indent before it.
    """

    def __init__(self, text: str, *, tidy: bool = True) -> None:
        self.value = jsonc.parse(text)
        self._text = text
        self._tidy = tidy
        self._newline = "\r\n" if "\r\n" in text else "\n"
        if not isinstance(self.value, dict):
            raise Unsuitable("is not an object")

    def finish(self) -> str:
        """Return the edited text. Raise Unreadable if its value differs from the edited value."""
        if jsonc.parse(self._text) != self.value:
            raise Unreadable("cannot be changed safely: its layout is unusual")
        return self._text

    def get(self, path: Path) -> Any:
        """Return the value at the path; None without one."""
        value: Any = self.value
        for key in path:
            if not isinstance(value, dict) or key not in value:
                return None
            value = value[key]
        return value

    def set(self, path: Path, value: Any) -> list[Path]:
        """Put `value` at the path; return the paths of the objects that had to be created for it. Raise Unsuitable."""
        self._start_if_empty()
        at, target = jsonc.start_of(self._text), self.value
        for depth, key in enumerate(path):
            container = container_at(self._text, at)
            item = container.item(key)
            rest = path[depth + 1 :]
            if item is None:
                new = value
                for name in reversed(rest):
                    new = {name: new}
                self._insert(container, new, key)
                target[key] = new
                return [path[: depth + 1 + count] for count in range(len(rest))]
            if not rest:
                margin = self._margin(item.start)
                written = self._write_entry(new=value, margin=margin, is_inline=margin is None)
                self._text = f"{self._text[: item.value]}{written}{self._text[item.end :]}"
                target[key] = value
                return []
            if not isinstance(target[key], dict):
                raise Unsuitable(f"has no object at {'.'.join(path[: depth + 1])}")
            at, target = item.value, target[key]
        return []

    def append(self, path: Path, value: Any) -> list[Path]:
        """Append `value` to the array at the path; return the paths of the containers that had to be created for it.

        Raise Unsuitable.
        """
        if self.get(path) is None:
            return [*self.set(path, [value]), path]
        found = self.get(path)
        if not isinstance(found, list):
            raise Unsuitable(f"has no array at {'.'.join(path)}")
        self._insert(self._container(path), value)
        found.append(value)
        return []

    def replace_item(self, path: Path, index: int, value: Any) -> None:
        """Replace an item of the array at the path."""
        item = self._container(path).items[index]
        margin = self._margin(item.start)
        written = self._write_entry(new=value, margin=margin, is_inline=margin is None)
        self._text = f"{self._text[: item.value]}{written}{self._text[item.end :]}"
        self.get(path)[index] = value

    def remove(self, path: Path) -> None:
        """Remove the member at the path, which exists."""
        container = self._container(path[:-1])
        self._delete(container, [item.key for item in container.items].index(path[-1]))
        del self.get(path[:-1])[path[-1]]

    def has_comment(self, path: Path, index: int = -1) -> bool:
        """Return whether the value at the path, or item `index` of the array there, contains a comment or a trailing
        comma.
        """
        container = self._container(path if index >= 0 else path[:-1])
        item = container.items[index] if index >= 0 else container.item(path[-1])
        if item is None:
            return False
        try:
            json.loads(self._text[item.value : item.end])
        except ValueError:  # a comment, or a comma at the end
            return True
        return False

    def remove_item(self, path: Path, index: int) -> None:
        """Remove an item of the array at the path."""
        self._delete(self._container(path), index)
        del self.get(path)[index]

    def _container(self, path: Path) -> Container:
        at = jsonc.start_of(self._text)
        for key in path:
            item = container_at(self._text, at).item(key)
            if item is None:
                raise Unsuitable(f"has nothing at {'.'.join(path)}")
            at = item.value
        return container_at(self._text, at)

    def _start_if_empty(self) -> None:
        if jsonc.start_of(self._text) == len(self._text):
            gap = "" if self._text in ("", jsonc.BOM) or self._text.endswith("\n") else self._newline
            self._text = f"{self._text}{gap}{{}}{self._newline}"

    def _insert(self, container: Container, value: Any, key: str | None = None) -> None:
        """Insert a member or an item at the end of the container."""
        text = self._text
        if not container.items:
            self._insert_first(container, value, key)
            return
        last = container.items[-1]
        margin = self._margin(container.items[0].start)
        new = self._write_entry(key=key, new=value, margin=margin, is_inline=margin is None)
        at = (last.comma if last.comma >= 0 else last.end) + (last.comma >= 0)
        place = at
        if margin is not None and (rest := _REST_OF_LINE.match(text, at)) and rest.end() <= container.end:
            place = rest.end()
        gap = " " if margin is None else f"{self._newline}{margin}"
        if last.comma >= 0:
            self._text = f"{text[:place]}{gap}{new},{text[place:]}"
        else:
            self._text = f"{text[: last.end]},{text[last.end : place]}{gap}{new}{text[place:]}"

    def _insert_first(self, container: Container, value: Any, key: str | None) -> None:
        text = self._text
        outer = _leading(text, container.start)
        new = self._write_entry(key=key, new=value, margin=outer + self._unit(), is_inline=False)
        place = container.start + 1
        if (rest := _REST_OF_LINE.match(text, place)) and rest.end() <= container.end:
            place = rest.end()
        closing = "" if "\n" in text[place : container.end] else f"{self._newline}{outer}"
        gap = f"{self._newline}{outer}{self._unit()}"
        self._text = f"{text[:place]}{gap}{new}{closing}{text[place:]}"

    def _delete(self, container: Container, index: int) -> None:
        item = container.items[index]
        spans = [self._span(container, index)]
        if item.comma >= 0:
            first, last = spans[0]
            if is_blank(self._text[last : item.comma]):
                spans = [(first, item.comma + 1)]
            else:
                spans.append((item.comma, item.comma + 1))
        elif index > 0:
            before = container.items[index - 1].comma
            spans.insert(0, (before, before + 1))
        text = self._text
        for start, end in reversed(spans):
            text = text[:start] + text[end:]
        size = len(self._text) - len(text)
        if self._tidy and is_blank(text[container.start + 1 : container.end - size]):
            text = text[: container.start + 1] + text[container.end - size :]
        self._text = text

    def _span(self, container: Container, index: int) -> tuple[int, int]:
        """Return (begin, end) of the text that the deletion of an item removes, without its comma."""
        item = container.items[index]
        if not self._tidy:
            return item.start, item.end
        floor = container.start + 1
        blank = _LINE_START.search(self._text, floor, item.start)
        return (item.start if blank is None else blank.start()), item.end

    def _margin(self, start: int) -> str | None:
        """Return the indent of the item that begins at `start`; None if it does not begin its line, or is in line 1."""
        line = self._text[self._text.rfind("\n", 0, start) + 1 : start]
        return line if line.strip(" \t") == "" and self._text.find("\n", 0, start) >= 0 else None

    def _unit(self) -> str:
        """Return one level of indent: the indent of the file's first member, or _INDENT if that has none."""
        return self._margin(jsonc.start_of(self._text, jsonc.start_of(self._text) + 1)) or _INDENT

    def _write_entry(self, *, new: Any, margin: str | None, is_inline: bool, key: str | None = None) -> str:
        head = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
        if is_inline:
            return head + json.dumps(new, ensure_ascii=False)
        lines = json.dumps(new, ensure_ascii=False, indent=self._unit()).split("\n")
        return head + f"{self._newline}{margin}".join(lines)


def _leading(text: str, at: int) -> str:
    """Return the indent of the line that contains the position `at`."""
    start = text.rfind("\n", 0, at) + 1
    line = text[start:at]
    return line[: len(line) - len(line.lstrip(" \t"))]
