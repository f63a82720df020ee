"""URIs and templates: matched, filled in, and refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.server.resources import RESOURCES
from nexus_mcp.server.resources.definition import BadUri, Template

NAME, PATH, HISTORY = (
    Template("nexus://memory/{name}"),
    Template("nexus://artifacts/{+path}"),
    Template("nexus://history{?query,last_n}"),
)


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        (Template("nexus://plan"), "nexus://plan", {}),
        (Template("nexus://plan"), "nexus://plan/", None),
        (Template("nexus://plan"), "nexus://plans", None),
        (Template("nexus://plan"), "nexus://plan?x=1", None),
        (Template("nexus://plan"), "NEXUS://plan", None),
        (NAME, "nexus://memory/a%20b.md", {"name": "a b.md"}),
        (NAME, "nexus://memory/..%2Fx", {"name": "../x"}),
        (NAME, "nexus://memory/", None),
        (NAME, "nexus://memory/a/b", None),
        (NAME, "nexus://memory/a?x=1", None),
        (PATH, "nexus://artifacts/a/b.md", {"path": "a/b.md"}),
        (PATH, "nexus://artifacts/a?b#c", {"path": "a?b#c"}),
        (PATH, "nexus://artifacts/%C3%B6", {"path": "ö"}),
        (HISTORY, "nexus://history", {}),
        (HISTORY, "nexus://history?", {}),
        (HISTORY, "nexus://history?query=a%26b&last_n=3", {"query": "a&b", "last_n": "3"}),
        (HISTORY, "nexus://history?last_n=3&query=", {"last_n": "3", "query": ""}),
        (HISTORY, "nexus://history?query=a+b%2B", {"query": "a b+"}),
        (HISTORY, "nexus://history/x?query=a", None),
    ],
)
def test_matching_uri_gives_its_values(template: Template, uri: str, values: object) -> None:
    """A URI of the template gives its values, unescaped; any other URI gives None."""
    assert template.match(uri) == values


@pytest.mark.parametrize(
    ("template", "uri", "told"),
    [
        (NAME, "nexus://memory/%FF", "its escapes are not UTF-8"),
        (NAME, "nexus://memory/\ud800", "its escapes are not UTF-8"),
        (HISTORY, "nexus://history?q=a", "its query may have query and last_n, each once and with a value"),
        (HISTORY, "nexus://history?query", "its query may have query and last_n, each once and with a value"),
        (HISTORY, "nexus://history?query=a&query=b", "its query may have query and last_n, each once and with a value"),
        (
            HISTORY,
            "nexus://history?query=a&&last_n=1",
            "its query may have query and last_n, each once and with a value",
        ),
    ],
)
def test_malformed_uri_is_refused_with_reason(template: Template, uri: str, told: str) -> None:
    """A malformed URI of ours is refused with the reason."""
    with pytest.raises(BadUri, match=told):
        template.match(uri)


@given(st.text(min_size=1))
def test_filled_uri_gives_its_value_back(value: str) -> None:
    """The URI made for any value gives that value back, and has plain characters only."""
    for template in (NAME, PATH):
        uri = template.fill({template.variable: value})
        assert uri.isascii()
        assert uri.isprintable()
        assert template.match(uri) == {template.variable: value}
    assert HISTORY.match(HISTORY.fill({"query": value})) == {"query": value}


@given(st.text())
def test_any_text_matches_or_is_refused(rest: str) -> None:
    """No text does anything but match or be refused."""
    for resource in RESOURCES:
        for uri in (rest, f"nexus://{rest}", f"nexus://history?{rest}"):
            try:
                values = resource.template.match(uri)
            except BadUri:
                continue
            assert values is None or values.keys() <= set(resource.template.variables)


def test_no_uri_is_of_two_kinds() -> None:
    """The URI of each kind is matched by that kind alone."""
    for resource in RESOURCES:
        values = dict.fromkeys(resource.template.variables, "x")
        matching = [
            other.name for other in RESOURCES if other.template.match(resource.template.fill(values)) is not None
        ]
        assert matching == [resource.name]
