"""nexus_mcp/quoting.py: quoted text begins no tag, line or fence, and is otherwise unchanged."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.errors import PathRefused
from nexus_mcp.log import UNSEEN, printable
from nexus_mcp.quoting import MARK, fault, fence, inert, inert_lines, line, marked_lines, quote, quoted_name
from tests.conftest import CHECKOUT
from tests.quoting.attacks import ATTACKS, tags, unseen

MORE = "(more)"
texts = st.text(st.characters() | st.sampled_from('<\uff1c\ufe64/!?|`~"\\&\n\r\ufe0f\u200b'), max_size=60)


@pytest.mark.requirement("quoting.tags")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a < b", "a < b"),
        ("a <= b << 3 <- c -> d => <> <3", "a <= b << 3 <- c -> d => <> <3"),
        ("</system-reminder>", "&lt;/system-reminder>"),
        ("<div>", "&lt;div>"),
        ("<!-- x -->", "&lt;!-- x -->"),
        ("<?xml?>", "&lt;?xml?>"),
        ("<|im_start|>", "&lt;|im_start|>"),
        ("<<a>", "<&lt;a>"),
        ("ends with <", "ends with &lt;"),
        ("<\u00e9t\u00e9>", "&lt;\u00e9t\u00e9>"),
        ("\uff1ca\uff1e", "&lt;a\uff1e"),
        ("&lt;a>", "&lt;a>"),
        ("\u2039a\u203a \u27e8a\u27e9", "\u2039a\u203a \u27e8a\u27e9"),
    ],
)
def test_less_than_is_escaped_only_where_a_tag_could_begin(text: str, shown: str) -> None:
    """Comparisons, arrows and angle brackets that no normalisation turns into `<` stay unchanged."""
    assert inert(text) == shown


@pytest.mark.requirement("quoting.tags", "quoting.unseen")
@given(texts)
def test_inert_text_has_no_tag_and_nothing_unseen(text: str) -> None:
    """Whatever the text is, it is one printable line without a tag, and a second pass changes nothing."""
    shown = inert(text)
    assert (tags(shown), unseen(shown), shown.count("\n")) == ([], [], 0)
    assert inert(shown) == shown
    assert inert_lines(inert_lines(text)) == inert_lines(text)


@given(texts, texts)
def test_adjacent_quotations_form_no_tag(one: str, other: str) -> None:
    """A `<` at the end of a text and a letter at the beginning of the next are no tag, however they are joined."""
    assert tags(inert(one) + inert(other)) == []
    assert tags(quote(one, 60) + quote(other, 60)) == []


@pytest.mark.requirement("quoting.lines")
@given(texts, st.integers(0, 70))
def test_a_cut_leaves_no_half_of_an_escape(text: str, most: int) -> None:
    """The text is truncated before it is escaped: every `&` of ours is whole, and the closing mark is present."""
    shown = quote(text, most)
    body = shown.removesuffix("\u2026")
    assert body[0] == body[-1] == '"'
    assert body[1:-1] == inert(text[:most].replace("\\", "\\\\").replace('"', '\\"'))
    assert tags(line(text, most)) == []


@pytest.mark.requirement("quoting.lines")
@given(texts)
def test_marked_lines_begin_with_the_mark(text: str) -> None:
    """No line of a text of several lines begins as a heading, a list, a fence or a section of ours."""
    lines = marked_lines(text, 40, MORE).split("\n")
    assert all(one == MORE or one.startswith(MARK.rstrip()) for one in lines)
    assert (tags("\n".join(lines)), unseen("".join(lines))) == ([], [])


def test_a_fence_that_the_cut_left_open_ends_with_the_quotation() -> None:
    """Text after a truncated quotation is outside of the marked lines, where CommonMark ends the fence."""
    assert marked_lines(f"```\n{'a' * 100}\n```", 10, MORE).split("\n") == ["> ```", "> aaaaaa", MORE]


@pytest.mark.requirement("quoting.fence")
@given(texts)
def test_a_fence_is_longer_than_any_inside(text: str) -> None:
    """The text in the fence is unchanged, and no run of backticks in it, plain or of full width, is as long as the
    fence.
    """
    shown = fence(text)
    marks = shown.partition("\n")[0]
    assert set(marks) == {"`"}
    assert shown == f"{marks}\n{text}\n{marks}"
    assert marks not in text.replace("\uff40", "`").replace("\u1fef", "`")


@pytest.mark.parametrize("text", ATTACKS.values(), ids=ATTACKS)
def test_names_of_attacks_are_quoted(text: str) -> None:
    """A name stays without quotation marks only where it is made of letters, digits and a few marks of paths."""
    assert quoted_name(text) == quote(text, 200)


@pytest.mark.parametrize("name", ["engineer", "src/a.py", "mcp__nexus__task_add", "a-b_c.d:e@f+g*~", "0"])
def test_plain_names_are_not_quoted(name: str) -> None:
    """Ids, tools and paths as they usually are stay readable."""
    assert quoted_name(name) == name


def test_empty_and_long_names_are_quoted() -> None:
    """An empty name is shown as one, and a long one is cut."""
    assert (quoted_name(""), quoted_name("a" * 9, 8)) == ('""', f'"{"a" * 8}"\u2026')


def test_the_path_in_an_error_is_quoted() -> None:
    """The name of a foreign file is data and quoted; names of ours are plain."""
    assert fault(PathRefused(".nexus/memory/a b.md", "is a link", next_step="")) == '".nexus/memory/a b.md" is a link'
    assert fault(PathRefused(".nexus/state/plan.json", "is a link", next_step="")) == ".nexus/state/plan.json is a link"


def test_unseen_characters_are_visible() -> None:
    """Fillers, joiners and variation selectors are escaped, except the one that emoji have in ordinary text."""
    assert not any(char in printable("".join(UNSEEN)) for char in UNSEEN)
    assert inert("\u26a0\ufe0f ok") == "\u26a0\ufe0f ok"
    assert inert("\u26a0\ufe0e\U000e0100") == "\u26a0\\ufe0e\\U000e0100"


ROOMS = ("briefing", "knowledge", "lifecycle", "server", "tags", "tools")
FOR_PEOPLE = "server/http/"
"""The room whose texts are for the person who starts the server, and for clients: the SDK writes what models get."""
OTHER_WAYS = re.compile(r"import printable|\bprintable\(|!r\}|\.context\.append|\.context \+=|warnings\.append\(")
ALLOWED = {
    "knowledge/notes.py": "the name in a path, which whoever shows the error quotes",
    "lifecycle/definition.py": "the door itself",
    "server/protocol.py": "names of our own",
}


@pytest.mark.requirement("quoting.everywhere")
def test_there_is_no_second_way_to_quote() -> None:
    """The rooms that write for models quote by quoting.py alone, and put texts into an answer by its door alone."""
    package = CHECKOUT / "nexus_mcp"
    paths = {path.relative_to(package).as_posix(): path for room in ROOMS for path in (package / room).rglob("*.py")}
    written = {name: path for name, path in paths.items() if not name.startswith(FOR_PEOPLE)}
    found = {name for name, path in written.items() if OTHER_WAYS.search(path.read_text(encoding="utf-8"))}
    assert found == ALLOWED.keys()
