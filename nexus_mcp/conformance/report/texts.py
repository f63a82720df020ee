"""Make values and texts of a target safe and short enough to show, and describe assertions in words.

A target may answer anything. Control, bidirectional and zero-width characters and lone surrogates are escaped as in
JSON, so that they cannot act on a terminal or disguise a text.
"""

from __future__ import annotations

import json
import re
from typing import IO, TYPE_CHECKING, Any

from nexus_mcp.conformance.authoring.contract import rules_of
from nexus_mcp.conformance.evidence import cut_value
from nexus_mcp.conformance.matchers import DIFFERS
from nexus_mcp.conformance.result import MISSING, Cut
from nexus_mcp.wording import join_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nexus_mcp.conformance.result import Assertion, Leftover

NAMED_RULES = 6
"""Rules of a fixture that are named."""
_PIECE = 1 << 16
_ALL = 1 << 60

_ADVICE = (
    "Unmount mounted file systems, or remove the immutable attribute (chattr -i); you may need to be root for this. "
    "Then delete the folder."
)
_HALF_NOTE = re.compile(r"…\"?(?: (?:\([0-9,]*(?: [a-z ]*)?)?)?\Z")
"""The beginning of the note about a cut value, which a second cut has left at the end of a text."""
_AT_THE_END = re.compile(r"[ \t]+(?=\n)")


def format_rules(test_id: str) -> str:
    """Return "rules: plan_update.5, files.6", the rules of the contract that a fixture judges, "" without any."""
    found = [rule.id for rule in rules_of(test_id)]
    return f"rules: {join_first(found, NAMED_RULES)}" if found else ""


def escape(text: str, keep: str = "") -> str:
    """Return the text with every unprintable character escaped, except those in `keep`."""
    if text.isprintable():
        return text
    # Escape in pieces: a list of all characters takes eight times as much memory as the text.
    pieces = (text[place : place + _PIECE] for place in range(0, len(text), _PIECE))
    return "".join(_escape_piece(piece, keep) for piece in pieces)


def block(text: str) -> str:
    """Return a text of several lines, escaped, with its newlines and tabs."""
    return escape(text, "\n\t")


def shorten(text: str, limit: int) -> str:
    """Return the text, or its first `limit` characters and the number of all its characters."""
    if len(text) <= limit:
        return text
    return f"{_HALF_NOTE.sub('', text[:limit])}… ({len(text):,} characters in all)"


def one_line(text: str, limit: int = 200) -> str:
    """Return the text on one line, escaped, at most `limit` characters of it."""
    return escape(shorten(text, limit))


def format_value(value: Any, limit: int = 200) -> str:
    """Return a value as JSON on one line, escaped, cut after `limit` characters; "missing" for MISSING."""
    if value is MISSING:
        return "missing"
    # A text is cut before it is encoded, so that its quotes stay and no escape is cut in two.
    if isinstance(value, str):
        end = f'…" ({len(value):,} characters in all)' if len(value) > limit else '"'
        return _json(value[:limit])[:-1] + end
    return shorten(_json(value), limit)


def format_indented(value: Any, limit: int) -> str:
    """Return a value as JSON on several lines, escaped, cut after `limit` characters."""
    return shorten(block(json.dumps(plain(value), ensure_ascii=False, indent=2)), limit)


def plain(value: Any) -> Any:
    """Return the value limited to JSON types and to a bounded depth."""
    return cut_value(value, _ALL)


def count_noun(number: int, one: str) -> str:
    """Return "1 fixture" or "2 fixtures"."""
    return f"{number:,} {one if number == 1 else one + 's'}"


def cut_note(cut: Cut) -> str:
    """Return the note about evidence that was left out."""
    return f"Left out of the evidence because of its size: {cut}."


def place(assertion: Assertion) -> str:
    """Return step and file, such as "step 2, .nexus/state/plan.json"; for an answer "answer" in place of a file."""
    subject = assertion.file or ("answer" if assertion.path else "")
    return one_line(", ".join(part for part in (assertion.step, subject) if part), 300)


def format_seen(assertion: Assertion, limit: int = 200) -> str:
    """Return the value that was seen; for a missing one "missing" and the nearest existing node above it."""
    if assertion.seen is not MISSING:
        return format_value(assertion.seen, limit)
    nearest = f"; nearest parent {one_line(assertion.parent)}" if assertion.parent else ""
    return f"missing{nearest}"


def in_words(assertion: Assertion, limit: int = 200) -> str:
    """Return one line of about `limit` characters at most: kind, place, path and fault."""
    head = ": ".join(dict.fromkeys(part for part in (assertion.kind, place(assertion)) if part))
    wrong = assertion.message
    if assertion.path:
        wrong = f"{assertion.path} {wrong or f'must be {format_value(assertion.expected, limit)}'}"
    if assertion.seen is MISSING and assertion.parent:
        wrong += f"; nearest parent {assertion.parent}"
    return one_line(f"{head}: {wrong}", limit)


def note(assertion: Assertion) -> str:
    """Return why a matcher, an array or a long text does not match, if the expected and the seen value do not show it.

    Return "" if they do.
    """
    if isinstance(assertion.expected, dict) and "keys" not in assertion.expected:
        # The message repeats both values, except where a pattern could not be matched at all.
        return assertion.message if "; the pattern " in assertion.message else ""
    differs = isinstance(assertion.expected, (dict, list)) or assertion.message.startswith(DIFFERS)
    return assertion.message if differs else ""


def format_leftovers(left: Sequence[Leftover]) -> list[str]:
    """Return a line for each path that a run left behind, and the next step; no lines when everything is deleted."""
    if not left:
        return []
    return ["Left behind, because it could not be deleted:", *(f"  {_line(one)}" for one in left), _ADVICE]


class TrimmedFile:
    """A text file that drops blanks before newlines, because tables are padded. Lines must be written whole."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        self._file.write(_AT_THE_END.sub("", text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _escape_piece(piece: str, keep: str) -> str:
    if piece.isprintable():
        return piece
    return "".join(char if char.isprintable() or char in keep else _escape(char) for char in piece)


def _json(value: Any) -> str:
    return escape(json.dumps(plain(value), ensure_ascii=False))


def _escape(char: str) -> str:
    return "\\u007f" if char == "\x7f" else json.dumps(char)[1:-1]


def _line(left: Leftover) -> str:
    return f"{one_line(left.path, 500)}: {one_line(left.reason)}"
