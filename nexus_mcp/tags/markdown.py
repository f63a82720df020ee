"""Find the brackets of a Markdown message that are plain text, not code, links, images, addresses or escapes.

markdown-it-py parses the message as CommonMark, with exceptions, because people indent what they type, and paste HTML
and addresses. Indented code and HTML are plain text. A fence counts at any indent. A bare address such as
https://example.org/a[b] is markup. A link definition counts only if its target looks like an address, because people
type decisions as `[d]: SQLite`.

The library takes 30 ms to load, as long as a whole hook. In a text without a match of `_MARKUP` all brackets are plain
text, and the library is not loaded.
"""

from __future__ import annotations

import re
from itertools import accumulate

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_DEFINITION = r"\[[^\[\]]+\]:[ \t\n]*(?:[#<]|mailto:|\S*/)"
"""A link definition with a target that looks like an address."""
_MARKUP = re.compile(rf"[`\\]|~~~|\]\(|<[a-zA-Z]|://|{_DEFINITION}")
_TARGET = re.compile(_DEFINITION)
_INDENTED_FENCE = re.compile(r"\n(?=[ \t]{4,}(?:```|~~~))")
"""The newline before a line that looks like a fence, but in Markdown continues the paragraph above."""
_PARAGRAPH_END = re.compile(r"\n[ \t\r]*\n")
_PAIRS = {")": "(", "]": "["}
_BLOCKS = ("blockquote", "fence", "heading", "hr", "lheading", "list", "reference")
_SPANS = ("autolink", "backticks", "escape", "image", "link")
_BRACKET = "bracket"

_parse: Callable[[str], list[Any]] | None = None


def find_plain_brackets(text: str, last: int) -> Iterator[int]:
    """Yield the positions up to `last` of opening brackets that are plain text, in order."""
    if not _MARKUP.search(text):
        yield from _places(text, 0, last + 1)
        return
    # Text after the paragraph of the last bracket matters only if it defines a link.
    end = _PARAGRAPH_END.search(text, last)
    if end and not _TARGET.search(text, end.start()):
        text = text[: end.start()]
    prepared = _INDENTED_FENCE.sub("\n\n", text.replace("\r", ""))
    lines = [0, *accumulate(len(line) + 1 for line in prepared.split("\n"))]
    places = dict(zip(_places(prepared), _places(text), strict=True))
    for block in _parser()(prepared):
        if block.type == "inline":
            # The parser drops from a block only indents, markers and blanks, which contain no brackets.
            begin, end_line = (lines[number] for number in block.map)
            there = dict(zip(_places(block.content), _places(prepared, begin, end_line), strict=True))
            for token in block.children:
                if token.type == _BRACKET and not token.level:  # the level is 1 in the text of a link
                    yield places[there[token.meta["at"]]]


def _places(text: str, begin: int = 0, end: int | None = None) -> Iterator[int]:
    """Yield the positions of the opening brackets."""
    stop = len(text) if end is None else min(end, len(text))
    at = text.find("[", begin, stop)
    while at >= 0:
        yield at
        at = text.find("[", at + 1, stop)


def _parser() -> Callable[[str], list[Any]]:
    """Return the function that parses a text into blocks; the library is loaded at the first call."""
    global _parse  # noqa: PLW0603 - once a process
    if _parse is None:
        from markdown_it import MarkdownIt
        from markdown_it.rules_block.reference import reference

        def define(state: Any, line: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
            at = state.bMarks[line] + state.tShift[line]
            return _TARGET.match(state.src, at) is not None and reference(state, line, end, silent)

        parser = MarkdownIt("zero").enable([*_BLOCKS, *_SPANS])
        parser.block.ruler.at("reference", define)
        parser.inline.ruler.after("link", _BRACKET, _note_bracket)
        parser.inline.ruler.push("address", _skip_address)
        _parse = parser.parse
    return _parse


def _note_bracket(state: Any, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    """Add a token for an opening bracket at which no link begins."""
    if state.src[state.pos] != "[":
        return False
    if not silent:
        state.push(_BRACKET, "", 0).meta = {"at": state.pos}
    state.pos += 1
    return True


def _skip_address(state: Any, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    """Skip the rest of a bare address, from its `://` on."""
    text, at, end = state.src, state.pos, state.posMax
    if not (text.startswith("://", at) and at and text[at - 1].isalnum()):
        return False
    at += 3
    depth = {"(": 0, "[": 0}
    while at < end:
        char = text[at]
        if char.isspace() or char in '<"`':
            break
        if char in depth:
            depth[char] += 1
        elif char in _PAIRS:
            if not depth[_PAIRS[char]]:
                break
            depth[_PAIRS[char]] -= 1
        at += 1
    if not silent:
        state.pending += text[state.pos : at]
    state.pos = at
    return True
