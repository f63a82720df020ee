"""Stored text in Markdown stays text."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from nexus_mcp.rendering.markdown import block, code, inline
from tests.rendering.support import HOSTILE

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
MARKUP = {"html_block", "html_inline", "link_open", "image", "heading_open", "table_open", "em_open", "s_open"}
PIECES = (
    *("#", "# ", "=", "---", "===", "- ", "* ", "+ ", "1. ", "> ", "\n", "\n\n", "    ", "\t", "`", "``", "```", "~~~"),
    *(
        "[",
        "]",
        "(x)",
        "]: x",
        "<",
        ">",
        "<b>",
        "</",
        "<!--",
        "-->",
        "&lt;",
        "&",
        "\\",
        "*",
        "_",
        "**",
        "|",
        "|-|",
        "~~",
    ),
    *("@name", "@", "#12", "https://a.example/x", "www.a.example", "me@a.example", "GH-7", "/", ".", "-", "mailto:"),
    *("a", "b c", " ", "!", "![", "{", "}", "$", ":::", "!!!", "\r\n", "\x00", "\u2028", "é", "x_y"),
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def tokens(text: str) -> Iterator[Token]:
    """All tokens of a Markdown text, those within a line included."""
    for token in PARSER.parse(text):
        yield token
        yield from token.children or ()


# What a git host makes of the text of a finished page, outside of code: links, mentions and references.
HOST = re.compile(
    r"(?:https?|ftp)://[a-z0-9]|(?:^|[\s*_~(])www\.[a-z0-9]|(?:mailto|xmpp):[a-z0-9.+_-]+@|[a-z0-9.+_-]+@[a-z0-9-]+\.[a-z]|"
    r"(?:^|[^a-z0-9_])@[a-z0-9_]|#[0-9]|(?:^|[^a-z0-9_])gh-[0-9]",
    re.ASCII | re.IGNORECASE,
)


def found_by_host(text: str) -> list[str]:
    """What a git host finds in the texts between the elements of a page."""
    found = []
    for token in PARSER.parse(text):
        runs = [""]
        for child in token.children or ():
            if child.type in ("text", "text_special"):
                runs[-1] += child.content
            else:
                runs.append("")
        found += [match[0] for run in runs for match in HOST.finditer(run)]
    return found


def kinds(text: str) -> set[str]:
    return {token.type for token in tokens(text)}


@given(TEXTS)
def test_a_line_of_stored_text_is_no_markup(text: str) -> None:
    """In a heading, an item, a link and a paragraph of ours, a stored line adds no element but code and text."""
    shown = inline(text)
    assert "\n" not in shown
    assert kinds(shown) & MARKUP == set()
    assert kinds(f"- [ ] **{shown}** x\n") & MARKUP == set()
    assert [token.type for token in tokens(f"# {shown}\n\nx\n") if token.type in MARKUP] == ["heading_open"]
    assert [token.type for token in tokens(f"[a {shown} b](file.md)") if token.type in MARKUP] == ["link_open"]


@given(TEXTS)
def test_a_stored_text_of_several_lines_is_no_markup(text: str) -> None:
    """A stored text may have lists, quotations and code, and ends with its quotation."""
    shown = f"{block(text)}\n\nafter\n"
    assert kinds(shown) & MARKUP == set()
    last = list(PARSER.parse(shown))[-2]
    assert (last.content, last.level) == ("after", 1)


@given(TEXTS)
def test_a_stored_text_below_an_item_is_no_markup(text: str) -> None:
    """The same holds within an item of a list."""
    shown = f"- **x**\n\n{block(text, '  > ')}\n\n- after\n"
    assert kinds(shown) & MARKUP == set()
    assert [token.content for token in PARSER.parse(shown) if token.type == "inline"][-1] == "after"


@given(TEXTS)
def test_a_git_host_finds_no_reference_in_stored_text(text: str) -> None:
    """No address, name or number of a stored text is outside of code, on a line, in a link and in a quotation."""
    assert found_by_host(f"# {inline(text)}\n") == []
    assert found_by_host(f"[a {inline(text)} b](file.md)") == []
    assert found_by_host(block(text)) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("See https://a.example/x_y?z=1, please.", "See `https://a.example/x_y?z=1`, please."),
        ("(www.a.example) and me@a.example!", "(`www.a.example`) and `me@a.example`!"),
        ("Ask @octo-cat or @org/team.", "Ask `@octo-cat` or `@org/team`."),
        ("日本@name, _@name_", "日本`@name`, \\_`@name`\\_"),
        ("Fixes #12 as owner/repo#7 and GH-3", "Fixes `#12` as owner/repo`#7` and `GH-3`"),
        ("`run`@name ``https://a.example", "`run@name` \\`&#96;`https://a.example`"),
        ("C#, a # b, x @ y", "C#, a # b, x @ y"),
        ("https://a.example/{{ x }}|y", "`https://a.example`/\\{\\{ x \\}\\}\\|y"),
    ],
)
def test_a_reference_is_code(text: str, shown: str) -> None:
    """An address, a name and a number that a git host would link are code; marks of the sentence stay outside."""
    assert inline(text) == shown


def test_a_long_word_takes_linear_time() -> None:
    """No word makes the search for references slow: 200 000 characters of each kind are done before the test ends."""
    for word in ("a", "a1", "a.", "@", "a@", "#", "www.", "/", "-"):
        assert inline(word * 200_000)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_and_does_nothing(text: str) -> None:
    """Each hostile text is no markup, without characters that cannot be seen."""
    assert kinds(inline(text)) & MARKUP == set()
    assert kinds(block(text)) & MARKUP == set()
    assert "\x1b" not in block(text)
    assert "\u202e" not in inline(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Use `os.replace` in store_file", "Use `os.replace` in store_file"),
        ("a  b\n c", "a b c"),
        ("1. first", "1\\. first"),
        ("# x", "\\# x"),
        ("*x* <b> [y]", "\\*x\\* &lt;b> \\[y\\]"),
        ("R&D &amp; more", "R&D &amp;amp; more"),
        ("{: onclick=x} {{ y }}", "\\{: onclick=x\\} \\{\\{ y \\}\\}"),
    ],
)
def test_a_line_is_escaped_no_more_than_it_has_to_be(text: str, shown: str) -> None:
    """Inline code and names with underscores stay as they are; marks of templates and attributes are escaped, too."""
    assert inline(text) == shown


def test_lists_and_code_stay() -> None:
    """Lists and fenced code of a stored text stay; a fence names no language, and an unclosed one is text."""
    text = "Why:\n- one\n  - two\n\n```mermaid\ngraph <x> ``` y\n```\n~~~\nopen"
    assert block(text) == ("> Why:\n> - one\n>   - two\n>\n> ````\n> graph <x> ``` y\n> ````\n> \\~\\~\\~\n> open")


def test_code_of_a_name_is_longer_than_its_backticks() -> None:
    """A name with backticks is between more of them."""
    assert (code("a"), code("a`b")) == ("`a`", "`` a`b ``")
