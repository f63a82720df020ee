"""Make stored text inert on a page: control and bidirectional characters become visible, Markdown becomes safe HTML."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

from nexus_mcp.log import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

_JOINERS = "\u200c\u200d"
"""Joiners that Arabic, Indic scripts and emoji need between their characters."""
_TAB = 4
LONGEST = 1 << 18
"""Maximum characters of a text to render as Markdown. A longer text would take seconds, and is shown as plain text."""
DEEPEST = 40
"""Nesting level from which a text is shown as plain text, because the parser would leave out the deeper content. Each
list counts as two levels, each quotation as one.
"""
_LONGEST_KEPT = 1 << 14
"""Maximum characters of a text whose HTML is cached for the next page."""
_TAGS = {
    *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code", "em", "strong", "s"),
    *("ul", "ol", "li", "a", "table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
_SCHEMES = {"http", "https", "mailto"}


def visible(text: str) -> str:
    """Return `text` on one line, with every character that cannot be seen, or that reorders others, as an escape.

    A joiner between two characters that are not ASCII stays.
    """
    return text if text.isprintable() and text.isascii() else "".join(_escape_invisible(text))


def _escape_invisible(text: str) -> Iterator[str]:
    for at, char in enumerate(text):
        if char in _JOINERS and 0 < at < len(text) - 1 and not (text[at - 1].isascii() or text[at + 1].isascii()):
            yield char
        else:
            yield printable(char)


def visible_lines(text: str) -> str:
    """Return `text` with `visible` applied to each line, and spaces for tabs."""
    return "\n".join(visible(line.expandtabs(_TAB)) for line in text.replace("\r\n", "\n").split("\n"))


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    # No HTML, and no images: a page of the board loads nothing from elsewhere.
    options = {"html": False, "breaks": True, "maxNesting": DEEPEST}
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"]).disable("image")


def markdown(text: str) -> Markup:
    """Return stored Markdown as HTML without scripts, styles, images, ids and classes. Links open in a new tab.

    A text with more than LONGEST characters, or nested to the level DEEPEST, is returned as `plain` returns it.
    """
    return _kept(text) if len(text) <= _LONGEST_KEPT else _html(text)


def _html(text: str) -> Markup:
    shown = visible_lines(text)
    if len(shown) > LONGEST:
        return plain(text)
    parser = _parser()
    tokens = parser.parse(shown)
    if any(token.level + max(token.nesting, 0) >= DEEPEST for token in tokens):
        return plain(text)
    html = nh3.clean(
        parser.renderer.render(tokens, parser.options, {}),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )
    return Markup(_with_directions(html))  # noqa: S704 - cleaned


_kept = lru_cache(maxsize=256)(_html)


def _with_directions(html: str) -> str:
    """Return the HTML of nh3, in which a browser takes the direction of each paragraph, list item, heading, table cell
    and quotation from its text, and the keyboard can scroll a code block.
    """
    for tag in ("p", "li", "h1", "h2", "h3", "h4", "h5", "h6", "td", "th", "blockquote"):
        html = html.replace(f"<{tag}>", f'<{tag} dir="auto">')
    # A code block may be wider than the page. With tabindex it can get the focus, so that the keyboard scrolls it.
    return html.replace("<pre>", '<pre tabindex="0">')


def plain(text: str) -> Markup:
    """Return `text` as preformatted HTML."""
    return Markup('<pre class="plain" dir="auto" tabindex="0">{}</pre>').format(visible_lines(text))


def file_size(size: int) -> str:
    """Return a number of bytes as people read it."""
    if size < 1 << 10:
        return f"{size} B"
    return f"{size / (1 << 10):.0f} KB" if size < 1 << 20 else f"{size / (1 << 20):.1f} MB"
