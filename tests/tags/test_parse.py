"""The tags of a message, and text that only looks like a tag."""

from __future__ import annotations

import pytest

from nexus_mcp.tags.parse import LONGEST, parse
from tests.tags.support import NAMES, found


@pytest.mark.requirement("tags.found")
@pytest.mark.parametrize(
    ("message", "tags"),
    [
        ("[plan] a cache", [("plan", "", "a cache")]),
        ("[plan]", [("plan", "", "")]),
        ("Please [plan] a cache.", [("plan", "", "a cache.")]),
        ("[PLAN:Auto] a cache", [("plan", "auto", "a cache")]),
        ("[rule:frontend] Use grid.", [("rule", "frontend", "Use grid.")]),
        ("[m:gc]", [("m", "gc", "")]),
        (
            "[d] SQLite.\n[m] Locks are slow.\n\n[run]",
            [("d", "", "SQLite."), ("m", "", "Locks are slow."), ("run", "", "")],
        ),
        ("[d][m] both", [("d", "", ""), ("m", "", "both")]),
        ("([plan]) **[run]**", [("plan", "", ") **"), ("run", "", "**")]),
        ("[plan]: a cache", [("plan", "", "a cache")]),
        ("[plan]:a", [("plan", "", ":a")]),
        ("[d: use SQLite]", [("d", "use sqlite", "")]),
        ("[plan:]", [("plan", "", "")]),
        ("- [d] SQLite\n- [m] slow", [("d", "", "SQLite\n-"), ("m", "", "slow")]),
        ("> [plan] quoted", [("plan", "", "quoted")]),
        ("# [plan] heading\n    [run] indented", [("plan", "", "heading"), ("run", "", "indented")]),
        ("計画[plan]です", [("plan", "", "です")]),
        ("[nothing] [plan ] [ plan] [pl\nan] [plann]", []),
        ("[rule:a\nb]", []),
        ("", []),
        ("]plan[", []),
    ],
)
def test_tags_are_returned_in_lower_case_with_their_text(message: str, tags: list[tuple[str, str, str]]) -> None:
    """A tag and its variant are returned in lower case, with the text up to the next tag."""
    assert found(message) == tags


@pytest.mark.requirement("tags.not-code")
@pytest.mark.parametrize(
    ("message", "tags"),
    [
        ("type `[plan]` first", []),
        ("type `` ` [plan] `` first", []),
        ("type `[plan]\nacross` lines", []),
        ("an open ` [plan]", ["plan"]),
        ("an open ` in one paragraph\n\n[plan] `", ["plan"]),
        ("- an open `\n- [plan] `", ["plan"]),
        ("# an open `\n[plan] `", ["plan"]),
        ("` [plan] `` [run] `", []),
        ("`` [plan] ` [run] ``` [d]", ["plan", "run", "d"]),
        ("\\`[plan]`", ["plan"]),
        ("`\\`[plan]`", ["plan"]),
        ("```\n[plan]\n```\n[run]", ["run"]),
        ("~~~ python\n[plan]\n```\n~~~~\n[run]", ["run"]),
        ("````\n```\n[plan]\n````", []),
        ("```\n[plan]\n``` more\n[run]", []),
        ("    ```\n    [plan]\n    ```", []),
        ("so:\n    ```\n    [plan]\n\n    [d]\n    ```\n[run]", ["run"]),
        ("`x`\n\n[run]\n\n```\n[plan]\n```", ["run"]),
        ("- ```\n  [plan]\n  ```\n- [run]", ["run"]),
        ("- so\r\n\r\n  `a[0]` [plan]\r\n  > [d] `[m]`\r\n", ["plan", "d"]),
        ("# `a[0]` [plan] ##\n`x` [run]\n---", ["plan", "run"]),
        ("> ```\n> [plan]\n\n[run]", ["run"]),
        ("- ```\n  [plan]\n\n  [d]\n[run]", ["run"]),
        ("> 1. ~~~\n>    [plan]\n[run]", ["run"]),
        ("~~~\n> ~~~\n[plan]\n- ~~~\n[run]", []),
        ("> ```\n> [plan]\n> ```\n[run]", ["run"]),
        ("``` `\n[plan]", ["plan"]),
        ("```\r\n[plan]\r\n```\r\n[run]", ["run"]),
        ("open to the end\n```\n[plan]", []),
    ],
)
def test_code_has_no_tags(message: str, tags: list[str]) -> None:
    """Code spans and fences are skipped as in Markdown; an unclosed backtick begins no span, but an unclosed fence
    counts.
    """
    assert [tag for tag, _, _ in found(message)] == tags


@pytest.mark.requirement("tags.not-link")
@pytest.mark.parametrize(
    ("message", "tags"),
    [
        ("[plan](https://example.org)", []),
        ("[plan]()", []),
        ("![plan](a.png)", []),
        ("[see [plan] there](x)", []),
        ("[![plan](a.png) [run]](x)", []),
        ("[text](http://x/[plan]) [run]", ["run"]),
        ("[plan](x 'a title')", []),
        ('[plan](x "a title") [run]', ["run"]),
        ("[plan](<a b>) [run]", ["run"]),
        ("[plan](a(b)c) [run]", ["run"]),
        ("[plan](see the note)", ["plan"]),
        ("[plan](open", ["plan"]),
        ("[plan] (x)", ["plan"]),
        ("[plan](a\\)b) [run]", ["run"]),
        ("[plan][ref]\n\n[REF]: https://example.org", []),
        ("[plan][ref]", ["plan"]),
        ("[plan][]\n\n[plan]: /there 'Title'", []),
        ("[plan]\n\n[plan]: <there>", []),
        ("[x][plan]\n\n[plan]: /there", []),
        ("[d]: SQLite", ["d"]),
        ("[plan]\n\nmore\n\n[plan]: https://example.org", []),
        ("[d]: https://example.org is where", ["d"]),
        ("<https://example.org/[plan]> [run]", ["run"]),
        ("a < b [plan] > c", ["plan"]),
        ("see https://example.org/[plan] [run]", ["run"]),
        ("(https://example.org)[plan]", ["plan"]),
        ("[see https://example.org/a](x)[plan]", ["plan"]),
        ("key://", []),
    ],
)
def test_links_have_no_tags(message: str, tags: list[str]) -> None:
    """Links in all of Markdown's spellings, images, autolinks, addresses and definitions are skipped."""
    assert [tag for tag, _, _ in found(message)] == tags


@pytest.mark.requirement("tags.not-escaped")
@pytest.mark.parametrize(
    ("message", "tags"),
    [
        ("\\[plan]", []),
        ("\\\\[plan]", ["plan"]),
        ("C:\\[plan]", []),
        ("- [x] done [plan]", ["plan"]),
        ("- [ ] open", []),
        ("row[d] = 3", []),
        ("f_[d]", []),
        ("f()[d]", ["d"]),
    ],
)
def test_escaped_brackets_and_indexes_are_no_tags(message: str, tags: list[str]) -> None:
    """An escaped bracket, a check box and an index into something are left alone."""
    assert [tag for tag, _, _ in found(message)] == tags


def test_a_check_box_is_none_even_when_there_is_such_a_tag() -> None:
    """No table makes a tag of `[x]`."""
    assert parse("- [x] done", ["x"]) == []


@pytest.mark.requirement("tags.exact")
def test_span_covers_tag_and_brackets() -> None:
    """A span includes the brackets and the text between them."""
    message = "Now [PLAN:auto] it, then [d]."
    assert parse(message, NAMES) == [
        {"tag": "plan", "variant": "auto", "start": 4, "end": 15, "text": "it, then"},
        {"tag": "d", "variant": "", "start": 25, "end": 28, "text": "."},
    ]


def test_a_variant_has_a_longest() -> None:
    """Longer text between brackets is no tag."""
    assert found(f"[m:{'x' * (LONGEST - 2)}]") == [("m", "x" * (LONGEST - 2), "")]
    assert found(f"[m:{'x' * (LONGEST - 1)}]") == []
