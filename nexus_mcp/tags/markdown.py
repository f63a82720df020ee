"""Find the brackets of a Markdown message that are plain text: outside code, links, images, addresses and escapes.

Follows CommonMark (https://spec.commonmark.org/0.31.2/, sections 2.4, 4.5 to 5.3, 6.1, 6.3 to 6.5), with two
exceptions, because people indent what they type: a fence counts at any indent, and indented code is plain text.
Everything is one pass with remembered lookaheads, so the time is linear in the length of any message.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Container

MAX_LABEL = 1000
"""Characters of a link label; CommonMark allows 999."""
_BLANKS = " \t\r\n"
_LINE_BLANKS = " \t\r"
_BULLETS = "-*+"
_FENCES = ("```", "~~~")
_TITLES = {'"': '"', "'": "'", "(": ")"}
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_MARKS = frozenset("\\`<:[]")
_ENDS_ADDRESS = '<"`'
_PAIRS = {")": "(", "]": "["}


class Lookahead:
    """Find the next occurrence of a character before `end`; the positions must not decrease."""

    __slots__ = ("_char", "_end", "_known", "_text")

    def __init__(self, text: str, char: str, end: int) -> None:
        self._text = text
        self._char = char
        self._end = end
        self._known = -1

    def next_from(self, at: int) -> int:
        """Return the position of the first occurrence from `at` on; `end` if there is none."""
        if self._known < at:
            found = self._text.find(self._char, at, self._end)
            self._known = self._end if found < 0 else found
        return self._known


def split_blocks(text: str) -> tuple[list[tuple[int, int]], set[str]]:
    """Return the (start, end) of each block of text without fenced code and link definitions, and the labels defined.

    Inline markup may span the lines of a block, but not blocks.
    """
    blocks: list[tuple[int, int]] = []
    labels: set[str] = set()
    fence, fence_quoted, fence_indent = "", False, 0
    begun, before_quoted = -1, False
    at, length = 0, len(text)

    def end_block(end: int) -> None:
        nonlocal begun
        if begun >= 0:
            blocks.append((begun, end))
        begun = -1

    while at < length:
        newline = text.find("\n", at)
        stop = length if newline < 0 else newline
        inner, quoted, is_item = _content(text, at, stop)
        # A fence ends with the quotation or the list item that it is in, closed or not.
        begin = at + _indent(text, at, stop)
        left = (fence_quoted and not quoted) or (begin < stop and begin - at < fence_indent)
        if fence and not left:
            rest = text[inner if fence_quoted else begin : stop].strip()
            if len(rest) >= len(fence) and not rest.strip(fence[0]):
                fence = ""
        else:
            fence = _fence(text, inner, stop)
            label = "" if fence else _label(text, inner, stop)
            if fence or label or inner == stop:
                end_block(at)
                fence_quoted, fence_indent = quoted, inner - at if is_item and not quoted else 0
                labels.add(label)
            else:
                is_heading = text[inner] == "#"
                if is_item or is_heading or quoted != before_quoted:
                    end_block(at)
                if begun < 0:
                    begun = at
                if is_heading:
                    end_block(stop)
        before_quoted = quoted
        at = stop + 1
    end_block(length)
    return blocks, labels - {""}


def find_plain_brackets(
    text: str, start: int, end: int, candidates: Container[int], labels: Container[str]
) -> list[int]:
    """Return the positions in `candidates` of opening brackets in the block from `start` to `end` that are plain text.

    `labels` are the labels of the link definitions of the message.
    """
    block = _Block(text, start, end)
    found: list[int] = []
    opened: list[int] = []
    at = start
    while at < end:
        char = text[at]
        if char not in _MARKS:
            at += 1
        elif char == "[":
            opened.append(at)
            if at in candidates and not _is_index(text, at, start):
                found.append(at)
            at += 1
        elif char == "]":
            at += 1
            begun = opened.pop() if opened else end
            after = block.link_end(begun, at, labels)
            if after:
                while found and found[-1] >= begun:
                    found.pop()
                if text[begun - 1 : begun] != "!":  # a link is in no link, an image may be
                    opened.clear()
                at = after
        else:
            at = block.after(char, at)
    return found


def _indent(text: str, at: int, stop: int) -> int:
    """Return how many blanks the line begins with."""
    begun = at
    while at < stop and text[at] in _LINE_BLANKS:
        at += 1
    return at - begun


def _content(text: str, at: int, stop: int) -> tuple[int, bool, bool]:
    """Return (start of the text behind quote and list markers, has a quote marker, has a list marker) of a line."""
    quoted = is_item = False
    while at < stop:
        char = text[at]
        if char in _LINE_BLANKS:
            at += 1
        elif char == ">":
            quoted = True
            at += 1
        else:
            after = _after_marker(text, at, stop)
            if after == at:
                break
            is_item = True
            at = after
    return at, quoted, is_item


def _after_marker(text: str, at: int, stop: int) -> int:
    """Return the end of the list marker at `at`; `at` itself if there is none."""
    end = at
    if text[at] in _BULLETS:
        end += 1
    else:
        while end < stop and end - at < 9 and "0" <= text[end] <= "9":
            end += 1
        if end == at or text[end : end + 1] not in (".", ")"):
            return at
        end += 1
    return end + 1 if end < stop and text[end] in _LINE_BLANKS else at


def _fence(text: str, at: int, stop: int) -> str:
    """Return the characters that open a code fence at `at`; "" if none does."""
    if not text.startswith(_FENCES, at, stop):
        return ""
    mark, end = text[at], at
    while end < stop and text[end] == mark:
        end += 1
    is_span = mark == "`" and text.find("`", end, stop) >= 0
    return "" if is_span else mark * (end - at)


def _label(text: str, at: int, stop: int) -> str:
    """Return the label of the link definition on the line; "" if there is none.

    The target has to look like an address, because `[d]: SQLite` is how people type a decision.
    """
    if not text.startswith("[", at, stop):
        return ""
    close = text.find("]", at + 1, min(stop, at + MAX_LABEL))
    if close < 0 or not text.startswith("]:", close, stop) or text.find("[", at + 1, close) >= 0:
        return ""
    target, _, title = text[close + 2 : stop].strip().partition(" ")
    title = title.strip()
    is_address = "/" in target or target.startswith(("#", "<", "mailto:"))
    is_title = not title or (len(title) > 1 and _TITLES.get(title[0]) == title[-1])
    return _normalize_label(text[at + 1 : close]) if is_address and is_title else ""


def _normalize_label(text: str) -> str:
    """Return a label in the form in which labels are compared: case-folded, with single blanks."""
    return " ".join(text.casefold().split())


def _find_targets(text: str, start: int, end: int) -> dict[int, int]:
    """Map the position of each `(` that opens a link target to the position behind its `)`.

    A target follows a `]`. It is an address without blanks and with balanced parentheses, or an address in < and >;
    a title may follow. In one pass: a blank ends all open addresses, and only the last of them can have a title.
    """
    found: dict[int, int] = {}
    opened: list[int] = []
    ahead, beyond = _lookaheads(text, end), _lookaheads(text, end)  # each only moves forward
    at = start
    while at < end:
        char = text[at]
        if char == "\\":
            at += 2
            continue
        if char == "(":
            after = _angled(text, at, end, beyond) if text.startswith("](<", at - 1) else 0
            if after:
                found[at] = after
                at = after
                continue
            opened.append(at)
        elif char == ")":
            if opened:
                _add_target(found, text, opened.pop(), at + 1)
        elif char in _BLANKS:
            if opened:
                _add_target(found, text, opened[-1], _after_title(text, at, end, ahead))
                opened.clear()
            at = _after_blanks(text, at, end)
            continue
        at += 1
    return found


def _lookaheads(text: str, end: int) -> dict[str, Lookahead]:
    return {char: Lookahead(text, char, end) for char in ('"', "'", ")", ">", "\n")}


def _add_target(found: dict[int, int], text: str, begun: int, after: int) -> None:
    if after and begun and text[begun - 1] == "]":
        found[begun] = after


def _angled(text: str, at: int, end: int, ahead: dict[str, Lookahead]) -> int:
    """Return the end of the `(<…>)` or `(<…> "title")` at `at`; 0 if there is none."""
    close = ahead[">"].next_from(at)
    return 0 if close == end or ahead["\n"].next_from(at) < close else _after_title(text, close + 1, end, ahead)


def _after_title(text: str, at: int, end: int, ahead: dict[str, Lookahead]) -> int:
    """Return the end of an optional title and the `)` of a target; 0 if no `)` follows."""
    at = _after_blanks(text, at, end)
    if at < end and text[at] in _TITLES:
        close = ahead[_TITLES[text[at]]].next_from(at + 1)
        if close == end:
            return 0
        at = _after_blanks(text, close + 1, end)
    return at + 1 if at < end and text[at] == ")" else 0


def _after_blanks(text: str, at: int, end: int) -> int:
    while at < end and text[at] in _BLANKS:
        at += 1
    return at


def _is_index(text: str, at: int, start: int) -> bool:
    """Return whether the bracket is an index, directly behind a name, as in `row[d]`."""
    before = text[at - 1] if at > start else " "
    return before.isascii() and (before.isalnum() or before == "_")


class _Block:
    """Skip the inline markup of one block; lookaheads over the whole block are computed once, when needed."""

    __slots__ = ("_angle", "_close", "_end", "_less", "_runs", "_start", "_targets", "_text")

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._start = start
        self._end = end
        self._angle = Lookahead(text, ">", end)
        self._less = Lookahead(text, "<", end)
        self._close = Lookahead(text, "]", end)
        self._runs: dict[int, list[int]] | None = None
        self._targets: dict[int, int] | None = None

    def after(self, char: str, at: int) -> int:
        """Return the end of the markup that begins at `at` with `char`, which is no bracket."""
        if char == "\\":
            return at + 2 if self._text[at + 1 : at + 2] in _PUNCTUATION else at + 1
        if char == "`":
            return self._after_code(at)
        return self._after_autolink(at) if char == "<" else self._after_address(at)

    def link_end(self, begun: int, after: int, labels: Container[str]) -> int:
        """Return the end of the link with its text in the brackets from `begun` to `after`; 0 if it is no link."""
        text, end = self._text, self._end
        if begun >= end:
            return 0
        follows = text[after : after + 1] if after < end else ""
        if follows == "(":
            if self._targets is None:
                self._targets = _find_targets(text, self._start, end)
            if after in self._targets:
                return self._targets[after]
        if not labels:
            return 0
        close = self._close.next_from(after) if follows == "[" else end
        if after + 1 < close < end:
            is_label = close - after < MAX_LABEL and text.find("[", after + 1, close) < 0
            return close + 1 if is_label and _normalize_label(text[after + 1 : close]) in labels else 0
        # A label has no brackets in it, so each character is read for one label only.
        is_label = after - begun < MAX_LABEL and text.find("[", begun + 1, after) < 0
        if is_label and _normalize_label(text[begun + 1 : after - 1]) in labels:
            return close + 1 if close < end else after
        return 0

    def _after_code(self, at: int) -> int:
        """Return the end of the code span at `at`; the end of its backticks if the span is not closed."""
        text, length = self._text, _backticks(self._text, at, self._end)
        if self._runs is None:
            self._runs = _backtick_runs(text, at, self._end)
        ends = self._runs.get(length, [])
        while ends and ends[-1] < at + length:
            ends.pop()
        return ends[-1] + length if ends else at + length

    def _after_autolink(self, at: int) -> int:
        close = self._angle.next_from(at)
        if close >= self._end or self._less.next_from(at + 1) < close:
            return at + 1
        inner = self._text[at + 1 : close]
        is_address = inner[:1].isalpha() and (":" in inner or "@" in inner) and not any(map(str.isspace, inner))
        return close + 1 if is_address else at + 1

    def _after_address(self, at: int) -> int:
        """Return the end of a bare address such as https://example.org/a[b]."""
        text, end = self._text, self._end
        if not (text.startswith("//", at + 1, end) and at > self._start and text[at - 1].isalnum()):
            return at + 1
        at += 3
        depth = {"(": 0, "[": 0}
        while at < end:
            char = text[at]
            if char.isspace() or char in _ENDS_ADDRESS:
                break
            if char in depth:
                depth[char] += 1
            elif char in _PAIRS:
                if not depth[_PAIRS[char]]:
                    break
                depth[_PAIRS[char]] -= 1
            at += 1
        return at


def _backticks(text: str, at: int, end: int) -> int:
    """Return the number of backticks at `at`."""
    after = at
    while after < end and text[after] == "`":
        after += 1
    return after - at


def _backtick_runs(text: str, at: int, end: int) -> dict[int, list[int]]:
    """Map the length of each run of backticks to its positions, last first; a backslash escapes no closing run."""
    found: dict[int, list[int]] = {}
    while 0 <= at < end:
        length = _backticks(text, at, end)
        found.setdefault(length, []).append(at)
        at = text.find("`", at + length, end)
    for places in found.values():
        places.reverse()
    return found
