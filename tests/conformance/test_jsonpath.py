"""Singular queries of RFC 9535 and the `.length` rule; the cases follow the RFC's sections 2.1 to 2.7."""

from __future__ import annotations

import json
from typing import Any

import jsonpath_rfc9535
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexus_mcp.conformance import jsonpath
from nexus_mcp.conformance.jsonpath import FoundNode
from nexus_mcp.conformance.result import MISSING

OBJECT = {
    "o": {"j j": {"k.k": 3}},
    "'": {"@": 2},
    '"': 4,
    "\\": 5,
    "": 6,
    "a": ["x", "y"],
    "null": None,
    "☺": 7,
    "é": 8,
    "😀": 9,
    "\n": 10,
    "_9": 11,
    "/": 12,
    "\b\f\r\t": 13,
}


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("$", OBJECT),
        ("$.o['j j']", {"k.k": 3}),
        ("$.o['j j']['k.k']", 3),
        ('$.o["j j"]["k.k"]', 3),
        ('$["\'"]["@"]', 2),
        (r"$['\'']['@']", 2),
        ("$['\"']", 4),
        (r'$["\""]', 4),
        (r"$['\\']", 5),
        ("$['']", 6),
        ("$.null", None),
        ("$.☺", 7),
        ("$['☺']", 7),
        (r"$['\u263A']", 7),
        (r"$['\u263a']", 7),
        ("$.é", 8),
        ("$.😀", 9),
        (r'$["\uD83D\uDE00"]', 9),
        (r"$['\n']", 10),
        ("$._9", 11),
        (r"$['\/']", 12),
        (r"$['\b\f\r\t']", 13),
        ("$.a[0]", "x"),
        ("$.a[1]", "y"),
        ("$.a[-1]", "y"),
        ("$.a[-2]", "x"),
        ("$['a'][0]", "x"),
        ("$ .a", ["x", "y"]),
        ("$\n\t\r [ 'a' ] [ 0 ]", "x"),
        ("$.a\n[1]", "y"),
    ],
)
def test_query_selects_the_node_of_the_rfc(query: str, value: Any) -> None:
    """A query selects the nodes that the RFC specifies."""
    assert jsonpath.compile(query).find(OBJECT) == FoundNode(value)


@pytest.mark.parametrize(
    ("query", "parent"),
    [
        ("$.b", "$"),
        ("$.O", "$"),
        ("$.b.c[3]", "$"),
        ("$.a[2]", "$['a']"),
        ("$.a[-3]", "$['a']"),
        ("$.a[9007199254740991]", "$['a']"),
        ("$.a['0']", "$['a']"),
        ("$.a.x", "$['a']"),
        ("$.a[-1][0]", "$['a'][1]"),
        ("$.o[0]", "$['o']"),
        ("$.o['j j'].x.y", "$['o']['j j']"),
        ("$.null.x", "$['null']"),
        ('$["\'"].x', "$['\\'']"),
        (r"$['\\'].x", "$['\\\\']"),
        (r"$['\n'].x", "$['\\n']"),
        ("$['e\u0301']", "$"),
    ],
)
def test_missing_value_reports_its_nearest_parent(query: str, parent: str) -> None:
    """A missing node is MISSING, with the normalized path of the deepest existing node on the way."""
    assert jsonpath.compile(query).find(OBJECT) == FoundNode(MISSING, parent)


def test_normalized_path_writes_control_characters_as_numbers() -> None:
    """A normalized path spells a control character by its number, in lowercase."""
    assert jsonpath.compile(r"$['\u001F'].x").find({"\x1f": 1}) == FoundNode(MISSING, r"$['\u001f']")


@pytest.mark.parametrize(
    "query",
    ["", "a", ".a", " $", "$ ", "$.", "$.a.", "$. a", "$.a-b", "$.1", "$.'a'", "$a", "$['a'", "$.a]", "$.a b", "@.a",
     "$[]", "$[a]", "$['a]", "$['a\"]", "$[\"a']", r"$['\"']", r'''$["\'"]''', r"$['\x']", r"$['\u12']", "$['\n']",
     r"$['\uD800']", r"$['\uDC00\uD800']", "$[01]", "$[-01]", "$[-0]", "$[+1]", "$[1.0]", "$[1e2]", "$[- 1]",
     "$[9007199254740992]", "$[-9007199254740992]", "$[" + "9" * 5000 + "]", "$.length()"],
)  # fmt: skip
def test_text_that_is_no_query_is_refused(query: str) -> None:
    """A text outside of the grammar is refused."""
    with pytest.raises(ValueError, match=r"\S"):
        jsonpath.compile(query)


@pytest.mark.parametrize(
    "query", ["$.*", "$[*]", "$..a", "$..[0]", "$['a','b']", "$[0,1]", "$[1:2]", "$[:]", "$[::2]", "$[?@.a]", "$.a.*.b"]
)
def test_query_for_several_nodes_is_refused(query: str) -> None:
    """A query that may select several nodes is refused with that reason."""
    with pytest.raises(ValueError, match="is not a singular JSONPath"):
        jsonpath.compile(query)


@pytest.mark.parametrize(
    ("document", "query", "found"),
    [
        ({"a": [1, 2, 3]}, "$.a.length", FoundNode(3)),
        ({"a": []}, "$.a.length", FoundNode(0)),
        ({"a": "é😀"}, "$.a.length", FoundNode(2)),
        ([1, 2], "$.length", FoundNode(2)),
        ({"a": {"length": "own"}}, "$.a.length", FoundNode("own")),
        ({"a": {"length": None}}, "$.a.length", FoundNode(None)),
        ({"a": {"b": 1}}, "$.a.length", FoundNode(MISSING, "$['a']")),
        ({"a": 5}, "$.a.length", FoundNode(MISSING, "$['a']")),
        ({"a": None}, "$.a.length", FoundNode(MISSING, "$['a']")),
        ({}, "$.a.length", FoundNode(MISSING, "$")),
        ({"a": [1]}, "$.a['length']", FoundNode(MISSING, "$['a']")),
        ({"a": [1]}, "$.a.length.length", FoundNode(MISSING, "$['a']")),
        ({"a": {"length": [1, 2]}}, "$.a.length.length", FoundNode(2)),
        ({"a": {"length": [1, 2]}}, "$.a.length[1]", FoundNode(2)),
        ({"a": {"b.length": "x"}}, "$.a['b.length']", FoundNode("x")),
    ],
)
def test_length_at_the_end_is_a_length_or_a_field(document: Any, query: str, found: FoundNode) -> None:
    """`.length` at the end is the length of an array or a text, and in an object the field with this name."""
    assert jsonpath.compile(query).find(document) == found


def test_query_reports_its_segments() -> None:
    """A query has its names and indexes, and says whether it ends in `.length`."""
    query = jsonpath.compile("$.issues[-1]['a b'].length")
    assert (query.segments, query.wants_length) == (("issues", -1, "a b", "length"), True)
    assert jsonpath.compile("$.a['length']").wants_length is False


NAMES = st.sampled_from(["a", "b", "'", '"', "\\", "", "length", "0", "ö", "a.b"]) | st.text(
    st.characters(blacklist_categories=["Cs"]), max_size=3
)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=10,
)
SEGMENTS = st.lists(NAMES | st.integers(-4, 4), max_size=4)


def spelled(segments: list[str | int], *, double: bool) -> str:
    """Return a query with these segments in brackets."""

    def name(text: str) -> str:
        quoted = json.dumps(text)
        return quoted if double else "'" + quoted[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"

    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f"[{name(part)}]" for part in segments)


def reference(document: Any, segments: list[str | int]) -> Any:
    """Return the nodes that the segments select, by a plain implementation."""
    for part in segments:
        try:
            if isinstance(document, str):
                return MISSING
            document = document[part]
        except (KeyError, IndexError, TypeError):
            return MISSING
    return document


@settings(max_examples=300, deadline=None)
@given(DOCUMENTS, SEGMENTS, st.booleans())
def test_query_selects_what_the_reference_selects(document: Any, segments: list[str | int], double: bool) -> None:
    """On any document a query selects the same nodes as the plain implementation and the library."""
    text = spelled(segments, double=double)
    query = jsonpath.compile(text)
    found = query.find(document)
    assert query.segments == tuple(segments)
    assert found.value is reference(document, segments)
    nodes = jsonpath_rfc9535.find(text, document).values()
    assert nodes == ([] if found.value is MISSING else [found.value])


@settings(max_examples=200, deadline=None)
@given(DOCUMENTS, SEGMENTS)
def test_parent_of_a_missing_node_exists(document: Any, segments: list[str | int]) -> None:
    """The parent of a missing node exists, and its path selects this single node again."""
    found = jsonpath.compile(spelled(segments, double=True)).find(document)
    if found.value is MISSING:
        parent = jsonpath.compile(found.parent)
        assert parent.find(document).parent == ""
        assert len(parent.segments) < len(segments)
        assert reference(document, segments[: len(parent.segments) + 1]) is MISSING
    else:
        assert found.parent == ""
