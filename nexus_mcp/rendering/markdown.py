"""Escape stored text for Markdown: it may contain code, lists and quotations, but no heading, HTML, link or directive.

Inline code and fenced code are kept, because titles and decisions of developers are full of both. `block` also keeps
the marks of lists and quotations. Everything else that Markdown, or an extension of it that is in use (tables,
attributes, mathematics, templates), reads as markup is escaped.

Addresses, names behind an @ and numbers behind a # become inline code. A git host makes links of them, notifies people
and adds references to issues. It looks for them in the finished text, so a backslash does not stop it, but it leaves
code alone. An invisible character would stop it, too, but would be in everything that is copied from the page.
"""

from __future__ import annotations

import re

from nexus_mcp.rendering.texts import visible, visible_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_CODE = re.compile(r"(?<!`)`(?!`)([^`]+)(?<!`)`(?!`)")
_REFERENCE = re.compile(
    r"""
    (?:(?<![a-z])[a-z][a-z0-9+.-]{0,30}://|www\.|mailto:|xmpp:)(?:(?!\{[{%\#])[^\s`<|])+
    | (?<![a-z0-9.+_-])[a-z0-9.+_-]+@[a-z0-9-]+(?:\.[a-z0-9_-]+)+
    | @[a-z0-9_][a-z0-9_.-]*(?:/[a-z0-9_.-]+)*
    | \#[0-9]+
    | GH-[0-9]+
    """,
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)
"""A web address, a mail address, the name of a user or a team, or the number of an issue, as git hosts find them."""
_AFTER = "?!.,:;*_~'\")-/"
"""Characters at the end of a reference that belong to the sentence around it."""
_SPECIAL = re.compile(r"[\\`*\[\]{}~|$]|(?<![^\W_])_|_(?![^\W_])")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_LEADS = r"(?:[>+*-]\s+|[>]|\d+[.)]\s+|\s)*"
"""Marks of lists and quotations before the text of a line."""
_HEADING = re.compile(rf"^({_LEADS})#")
_UNDERLINE = re.compile(r"^([\s>]*)([=-])(?=[=\s-]*$)")
_ADMONITION = re.compile(rf"^({_LEADS})([!?:]{{3}}|\+\+\+)")
_BLOCK = re.compile(r"^(\d+)([.)])(?=\s|$)|^([+>#=-])")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^`]*)$")


def inline(text: str) -> str:
    """Return `text` on one line, for any place on a line of Markdown."""
    line = _line(visible(text))
    return _BLOCK.sub(lambda found: rf"{found[1]}\{found[2]}" if found[1] else rf"\{found[3]}", line)


def block(text: str, margin: str = "> ") -> str:
    """Return the lines of `text`, each after `margin`: the mark of a quotation, or the indentation of a list item."""
    lines = visible_lines(text)
    done: list[str] = []
    at = 0
    while at < len(lines):
        end = _fence_end(lines, at)
        if end:
            done += _fence(lines[at + 1 : end])
            at = end + 1
            continue
        done.append(_block_line(lines[at]))
        at += 1
    return "\n".join(f"{margin}{line}".rstrip() for line in done)


def code(text: str) -> str:
    """Return `text` as inline code."""
    shown = visible(text)
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {shown} {fence}" if longest else f"`{shown}`"


def _line(text: str) -> str:
    """Return a line with its markup escaped, but for inline code."""
    parts: list[tuple[bool, str]] = []
    for at, part in enumerate(_CODE.split(text)):
        for is_code, piece in [(True, part)] if at % 2 else _references(part):
            if is_code and parts and parts[-1][0]:  # two adjacent spans would not parse as code
                parts[-1] = (True, parts[-1][1] + piece)
            else:
                parts.append((is_code, piece))
    shown = [f"`{part}`" if is_code else _text(part) for is_code, part in parts]
    for at, (is_code, part) in enumerate(parts[:-1]):
        if not is_code and part.endswith("`"):  # an escaped backtick would still join the span after it
            shown[at] = f"{_text(part[:-1])}&#96;"
    return "".join(shown)


def _references(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a text that has no inline code: (whether the part becomes code, part). No part is empty."""
    at = 0
    for found in _REFERENCE.finditer(text):
        end = found.start() + len(found[0].rstrip(_AFTER))
        if found.start() > at:
            yield False, text[at : found.start()]
        yield True, text[found.start() : end]
        at = end
    if at < len(text):
        yield False, text[at:]


def _text(text: str) -> str:
    escaped = _ENTITY.sub("&amp;", _SPECIAL.sub(lambda found: rf"\{found[0]}", text))
    return escaped.replace("<", "&lt;")


def _block_line(line: str) -> str:
    """Return a line of a longer text: marks of lists and quotations stay (`*` becomes `-`), others are escaped."""
    bullet = re.match(r"^(\s*)\* (?=\S)", line)
    shown = f"{bullet[1]}- {_line(line[bullet.end() :])}" if bullet else _line(line)
    shown = _HEADING.sub(r"\1\\#", shown)
    shown = _ADMONITION.sub(r"\1\\\2", shown)
    return _UNDERLINE.sub(r"\1\\\2", shown)


def _fence_end(lines: list[str], at: int) -> int:
    """Return the number of the line that closes the fence opened in line `at`; 0 if none is opened or closed."""
    opened = _FENCE.match(lines[at])
    if opened is None:
        return 0
    mark = opened[1]
    closing = re.compile(rf"^ {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}\s*$")
    return next((number for number in range(at + 1, len(lines)) if closing.match(lines[number])), 0)


def _fence(lines: list[str]) -> list[str]:
    """Return code between fences that are longer than any run of backticks in it. The language of the fence is dropped,
    because some sites draw or execute code in certain languages.
    """
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *lines, fence]
