"""Stored Markdown in HTML pages: only named elements, and nothing that loads or runs."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from nexus_mcp.rendering.html import markdown, page, text
from tests.rendering.support import HOSTILE


class Reader(HTMLParser):
    """The elements of a page with their attributes, and its texts."""

    def __init__(self, shown: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(shown)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("stored", HOSTILE)
def test_hostile_markdown_loses_what_acts(stored: str) -> None:
    """No script, image or handler is left; links lead to http, https and mail only."""
    for tag, attributes in Reader(markdown(stored)).elements:
        assert tag in {"p", "strong", "em", "code", "a", "pre", "ul", "li", "hr"}
        assert set(attributes) <= {"href", "rel"}
        assert (attributes.get("href") or "http:").startswith(("http:", "https:", "mailto:"))


@pytest.mark.parametrize("stored", HOSTILE)
def test_a_line_is_one_element(stored: str) -> None:
    """A stored line is text in an element that isolates its direction."""
    read = Reader(text(stored))
    assert [tag for tag, _ in read.elements] == ["bdi"]
    assert "\x1b" not in text(stored)


def test_deep_markdown_is_not_cut() -> None:
    """Twelve lists in each other are formatted; a text that is too deep for that is preformatted."""
    twelve, deep = ("\n".join(f"{'- ' * depth}level {depth}" for depth in range(1, most)) for most in (13, 101))
    assert "<pre" not in markdown(twelve)
    assert "level 12" in markdown(twelve)
    assert markdown(deep).startswith("<pre>")
    assert "level 100" in markdown(deep)


def test_markdown_keeps_what_it_says() -> None:
    """Lists, code, tables and links stay; a heading is a bold line, and a picture its description."""
    stored = (
        "# Why\n\n- `a`\n- [b](https://example.invalid)\n\n| x |\n|---|\n| 1 |\n\n![a plan](x.png)\n\n```js\n<b>\n```"
    )
    shown = markdown(stored)
    tags = [tag for tag, _ in Reader(shown).elements]
    assert not {"h1", "img"} & set(tags)
    assert {"strong", "ul", "li", "code", "a", "table", "pre"} <= set(tags)
    assert "<p><strong>Why</strong></p>" in shown
    assert "a plan" in shown
    assert "&lt;b&gt;" in shown
    assert 'rel="noopener noreferrer nofollow"' in shown


def test_a_page_forbids_what_it_does_not_need() -> None:
    """A page has a policy that loads and runs nothing, a title, and styles for a dark screen and for paper."""
    shown = page("<title>", "<p>x</p>\n")
    read = Reader(shown)
    metas = [attributes for tag, attributes in read.elements if tag == "meta"]
    policy = next(attributes["content"] for attributes in metas if "http-equiv" in attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert "<title>&lt;title&gt;</title>" in shown
    assert "@media print" in shown
    assert "prefers-color-scheme:dark" in shown
