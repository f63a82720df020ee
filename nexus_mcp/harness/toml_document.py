"""Edit TOML by adding, replacing and removing tables: all other bytes stay unchanged (docs/decisions/0074).

Each edit changes both the text and its parsed value; at the end the text must parse to exactly that value.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from nexus_mcp.harness.json_document import Path, Unsuitable
from nexus_mcp.harness.jsonc import BOM, Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+"{3,5}|\'\'\'(?:[^\']++|\'(?!\'\'))*+\'{3,5}'
    r'|"(?:[^"\\\n]++|\\.)*+"|\'[^\'\n]*+\'|\#[^\n]*+|\n|[\[\]{}]',
    re.DOTALL,
)
_NAN = math.nan
"""The one object for every nan in a text: tables compare as equal only if they hold the same nan object."""
_BREAK = re.compile(r"\r?\n")
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


class _Section:
    """A table: its path, where its header line starts, and where its last key ends."""

    __slots__ = ("end", "path", "start")

    def __init__(self, path: Path, start: int, end: int) -> None:
        self.path = path
        self.start = start
        self.end = end


class TomlDocument:
    """A TOML text with its parsed value. Entries are whole tables; `finish` compares text and value, and returns the
    text.
    """

    def __init__(self, text: str) -> None:
        self.value = _parse(text)
        self._text = text
        self._newline = "\r\n" if "\r\n" in text else "\n"

    def finish(self) -> str:
        """Return the edited text. Raise Unreadable if its value differs from the edited value."""
        if _parse(self._text) != self.value:
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

    def set(self, path: Path, value: dict[str, Any]) -> list[Path]:
        """Put the table `value` at the path: it replaces the present table, or is added at the end of the file.

        Return [], because no other table has to be created: a header needs no tables above it. Raise Unsuitable if the
        table, or the one above it, is inline or has dotted keys, or if the value above is no table.
        """
        found = self.get(path)
        lines = self._newline.join(table_lines(path, value))
        if found is not None:
            first, *rest = self._sections(path)
            for section in reversed(rest):
                self._cut(section)
            self._text = f"{self._text[: first.start]}{lines}{self._text[first.end :]}"
        else:
            self._check_open(path)
            body = self._text.removeprefix(BOM)
            ends = not body or body.endswith("\n")
            gap = "" if not body else self._newline if ends else self._newline * 2
            self._text = f"{self._text}{gap}{lines}{self._newline if ends else ''}"
        target = self.value
        for key in path[:-1]:
            target = target.setdefault(key, {})
        target[path[-1]] = deepcopy(value)
        return []

    def remove(self, path: Path) -> None:
        """Remove the table at the path with the tables below it, and the empty line that `set` put before it.

        Raise Unsuitable if the table has no header.
        """
        for section in reversed(self._sections(path)):
            self._cut(section)
        above: list[tuple[dict[str, Any], str]] = []
        target = self.value
        for key in path:
            above.append((target, key))
            target = target[key]
        holder, key = above.pop()
        del holder[key]
        # A header `[a.b]` also creates the table `a`, so `a` disappears with it unless another header creates it.
        there = _parse(self._text)
        while above and not above[-1][0][above[-1][1]]:
            holder, key = above.pop()
            if _has(there, [one for _, one in above] + [key]):
                break
            del holder[key]

    def has_comment(self, path: Path) -> bool:
        """Return whether a comment is among the lines of the table at the path, or of the tables below it.

        Raise Unsuitable if the table has no header.
        """
        texts = (self._text[one.start : one.end] for one in self._sections(path))
        return any(token[0].startswith("#") for text in texts for token in _TOKEN.finditer(text))

    def _sections(self, path: Path) -> list[_Section]:
        """Return the tables at and below the path. Raise Unsuitable if the table at the path has no header."""
        found = [one for one in _scan(self._text) if one.path[: len(path)] == path]
        if not any(one.path == path for one in found):
            raise Unsuitable(f"has {'.'.join(path)} as an inline table or with dotted keys")
        return found

    def _check_open(self, path: Path) -> None:
        above = self.get(path[:-1])
        if above is None:
            return
        if not isinstance(above, dict):
            raise Unsuitable(f"has no table at {'.'.join(path[:-1])}")
        probe = f"{self._text.removeprefix(BOM)}\n[{_join_path(path)}]\n"
        try:
            tomllib.loads(probe.replace("\r\n", "\n"))
        except tomllib.TOMLDecodeError:
            raise Unsuitable(f"has {'.'.join(path[:-1])} as an inline table or with dotted keys") from None

    def _cut(self, section: _Section) -> None:
        # A file may have line breaks of both kinds, so each one is looked at.
        text, start, end = self._text, section.start, section.end
        above = start - _break_before(text, start)
        blank = above - _break_before(text, above)  # the end of the line above an empty line
        if after := _BREAK.match(text, end):
            end = after.end()
            start = above if blank < above else start
        elif end == len(text):  # the file has no newline at its end
            start = blank
        self._text = text[:start] + text[end:]


def table_lines(path: Path, value: dict[str, Any]) -> list[str]:
    """Return the lines of a table and of the tables in it."""
    plain = {name: one for name, one in value.items() if not isinstance(one, dict)}
    lines = [f"[{_join_path(path)}]", *(f"{_key(name)} = {_literal(one)}" for name, one in plain.items())]
    for name, one in value.items():
        if isinstance(one, dict):
            below = table_lines((*path, name), one)
            # A table that has only tables in it needs no header.
            lines += below[1:] if below[1:2] == [""] else ["", *below]
    return lines


def _literal(value: object) -> str:
    """Return a text, number, boolean, or a list of these, in TOML."""
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)


def inline(value: object) -> str:
    """Return a value on one line as TOML writes it: also a table, and a list of tables."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(name)} = {inline(one)}' for name, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    return _literal(value)


def _join_path(path: Path) -> str:
    return ".".join(map(_key, path))


def _key(name: str) -> str:
    return name if _BARE.match(name) else _literal(name)


def _parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix(BOM), parse_float=_float)
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(f"is not TOML: {error}") from error
    except RecursionError as error:
        raise Unreadable("is nested too deeply to be read") from error


def _float(text: str) -> float:
    value = float(text)
    return _NAN if math.isnan(value) else value


def _break_before(text: str, at: int) -> int:
    """Return the length of the line break that ends at `at`; 0 without one."""
    return 2 if text.endswith("\r\n", 0, at) else int(text.endswith("\n", 0, at))


def _has(value: Any, path: list[str]) -> bool:
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True


def _scan(text: str) -> list[_Section]:
    """Return the tables of the text in their order."""
    found: list[_Section] = []
    for start, end in _statements(text):
        if text[start] == "[":
            found.append(_Section(_path_of(text[start:end]), start, end))
        elif found:
            found[-1].end = end
    return found


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each header and each `key = value`, without the comments and white space around it."""
    depth = 0
    start = after = len(BOM) if text.startswith(BOM) else 0
    for token in _TOKEN.finditer(text, start):
        char = token[0][0]
        if char in "[{":
            depth += 1
        elif char in "]}":
            depth -= 1
        elif char == "#":
            if depth == 0 and not text[start : token.start()].strip():
                start = token.end()
            continue
        elif char == "\n" and depth == 0:
            yield from _trim(text, start, max(after, _end_before_comment(text, after, token.start())))
            start = token.end()
        after = token.end()
    yield from _trim(text, start, _end_before_comment(text, after, len(text)))


def _end_before_comment(text: str, start: int, end: int) -> int:
    """Return the start of the comment between `start` and `end`, or `end` if there is no comment."""
    at = text.find("#", start, end)
    return end if at < 0 else at


def _trim(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    part = text[start:end]
    if part.strip():
        yield start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def _path_of(header: str) -> Path:
    value: Any = tomllib.loads(header.strip())
    path: list[str] = []
    while value:
        ((key, value),) = value.items()
        path.append(key)
        if isinstance(value, list):
            value = value[0]
    return tuple(path)
