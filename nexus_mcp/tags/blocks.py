"""The blocks of a message in Markdown, as far as tags need them: fenced code and link definitions are left out.

Follows CommonMark (https://spec.commonmark.org/0.31.2/, sections 4.5 to 5.3), leniently: a fence counts at any indent,
and indented code is text, because people indent what they type.
"""

from __future__ import annotations

LONGEST_LABEL = 1000
_BLANKS = " \t\r"
_BULLETS = "-*+"
_FENCES = ("```", "~~~")
_TITLES = {'"': '"', "'": "'", "(": ")"}


def split(text: str) -> tuple[list[tuple[int, int]], set[str]]:
    """(start and end of each run of lines in which inline marks may span lines, the labels that are defined)."""
    pieces: list[tuple[int, int]] = []
    labels: set[str] = set()
    fence, fence_quoted, fence_indent = "", False, 0
    begun, before_quoted = -1, False
    at, length = 0, len(text)

    def end_piece(end: int) -> None:
        nonlocal begun
        if begun >= 0:
            pieces.append((begun, end))
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
                end_piece(at)
                fence_quoted, fence_indent = quoted, inner - at if is_item and not quoted else 0
                labels.add(label)
            else:
                is_heading = text[inner] == "#"
                if is_item or is_heading or quoted != before_quoted:
                    end_piece(at)
                if begun < 0:
                    begun = at
                if is_heading:
                    end_piece(stop)
        before_quoted = quoted
        at = stop + 1
    end_piece(length)
    return pieces, labels - {""}


def label_of(text: str) -> str:
    """A label as labels are compared: without case, blanks as one."""
    return " ".join(text.casefold().split())


def _indent(text: str, at: int, stop: int) -> int:
    """How many blanks the line begins with."""
    begun = at
    while at < stop and text[at] in _BLANKS:
        at += 1
    return at - begun


def _content(text: str, at: int, stop: int) -> tuple[int, bool, bool]:
    """(where the line's own text begins, behind marks of quotes and lists; whether there is one of each)."""
    quoted = is_item = False
    while at < stop:
        char = text[at]
        if char in _BLANKS:
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
    """Where the mark of a list item that begins at `at` ends; `at` itself when there is none."""
    end = at
    if text[at] in _BULLETS:
        end += 1
    else:
        while end < stop and end - at < 9 and "0" <= text[end] <= "9":
            end += 1
        if end == at or text[end : end + 1] not in (".", ")"):
            return at
        end += 1
    return end + 1 if end < stop and text[end] in _BLANKS else at


def _fence(text: str, at: int, stop: int) -> str:
    """The marks that open a fence there, "" when there are none."""
    if not text.startswith(_FENCES, at, stop):
        return ""
    mark, end = text[at], at
    while end < stop and text[end] == mark:
        end += 1
    is_span = mark == "`" and text.find("`", end, stop) >= 0
    return "" if is_span else mark * (end - at)


def _label(text: str, at: int, stop: int) -> str:
    """The label that the line defines, "" when it defines none.

    What is defined has to look like an address: `[d]: SQLite` is how somebody types a decision.
    """
    if not text.startswith("[", at, stop):
        return ""
    close = text.find("]", at + 1, min(stop, at + LONGEST_LABEL))
    if close < 0 or not text.startswith("]:", close, stop) or text.find("[", at + 1, close) >= 0:
        return ""
    target, _, title = text[close + 2 : stop].strip().partition(" ")
    title = title.strip()
    is_address = "/" in target or target.startswith(("#", "<", "mailto:"))
    is_title = not title or (len(title) > 1 and _TITLES.get(title[0]) == title[-1])
    return label_of(text[at + 1 : close]) if is_address and is_title else ""
