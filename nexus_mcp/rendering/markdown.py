"""Stored text in Markdown: it stays text, code, lists and quotations, and becomes no heading, HTML, link or directive.

Inline code and fenced code are kept, because titles and decisions of developers are full of both. Everything else that
Markdown, or an extension of it that is in use (tables, attributes, mathematics, templates), reads as markup is escaped.
"""

from __future__ import annotations

import re

from nexus_mcp.rendering.texts import visible, visible_lines

_CODE = re.compile(r"(?<!`)`(?!`)([^`]+)(?<!`)`(?!`)")
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
    """Return `text` line by line, each with `margin` before it: a quotation, or the indentation of a list item."""
    lines = visible_lines(text)
    done: list[str] = []
    at = 0
    while at < len(lines):
        end = _fence_end(lines, at)
        if end:
            done += _fenced(lines[at + 1 : end])
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
    parts = _CODE.split(text)
    return "".join(f"`{part}`" if at % 2 else _text(part) for at, part in enumerate(parts))


def _text(text: str) -> str:
    escaped = _ENTITY.sub("&amp;", _SPECIAL.sub(lambda found: rf"\{found[0]}", text))
    return escaped.replace("<", "&lt;")


def _block_line(line: str) -> str:
    """Return a line of a longer text: marks of lists and quotations stay, those of headings are escaped."""
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


def _fenced(lines: list[str]) -> list[str]:
    """Return code between fences that are longer than any run of backticks in it. No language is named: some of them
    are drawn or executed by the sites that show Markdown.
    """
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *lines, fence]
