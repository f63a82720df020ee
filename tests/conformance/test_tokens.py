"""Tokens in braces in paths and values of fixtures."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.conformance.fixture import Asserts
from nexus_mcp.conformance.matchers import mismatch
from nexus_mcp.conformance.tokens import expand_path, fill, fill_expected, path_fault, replace_tokens


@pytest.mark.parametrize(
    ("path", "expanded"),
    [
        ("{STATE_ROOT}/plan.json", ".nexus/state/plan.json"),
        ("{STATE_ROOT}/{HARNESS_ID}/agent-tracker.json", ".nexus/state/claude-code/agent-tracker.json"),
        (".nexus/history.json", ".nexus/history.json"),
        ("{HARNESS_ID}", "claude-code"),
    ],
)
def test_path_tokens_are_replaced(path: str, expanded: str) -> None:
    """The tokens of a path become the state folder and the harness id."""
    assert expand_path(path, "claude-code") == expanded


@pytest.mark.parametrize("harness_id", ["", "..", "a/b", "Claude", "9a", "a_b", "a\n", "{STATE_ROOT}"])
def test_only_a_harness_id_gets_into_a_path(harness_id: str) -> None:
    """A value that is no harness id cannot change a path; a path without the token needs no id."""
    with pytest.raises(ValueError, match="is not a harness id"):
        expand_path("{STATE_ROOT}/{HARNESS_ID}/x", harness_id)
    assert expand_path("{STATE_ROOT}/x", harness_id) == ".nexus/state/x"


@pytest.mark.parametrize(
    "path", ["a", ".nexus/history.json", "{STATE_ROOT}/{HARNESS_ID}/x", "ünï", "a b", ".gitignore", "a/.git/b"]
)
def test_plain_path_is_accepted(path: str) -> None:
    """A path from the project root, with plain names, is legal."""
    assert path_fault(path, git=False) == ""


@pytest.mark.parametrize(
    "path", ["", "/a", "a/", "a//b", ".", "./a", "../a", "a/../b", "a\\b", "a\0", "{STATE_ROOT}/..", "{STATE_ROOT}/"]
)
def test_path_out_of_the_project_is_refused(path: str) -> None:
    """A path that is empty, absolute or might leave the project is refused."""
    expected = (
        "must be a path from the project root that stays inside it: plain names with / between them, and no . or .."
    )
    assert path_fault(path) == expected


def test_unknown_token_is_refused_by_name() -> None:
    """Any other token in a path is refused by name, also a token that is allowed in values."""
    said = "a path may have {STATE_ROOT} and {HARNESS_ID}"
    assert path_fault("{ROOT}/a") == f"has the token {{ROOT}}; {said}"
    assert path_fault("{PROJECT_ROOT}/a") == f"has the token {{PROJECT_ROOT}}; {said}"
    assert path_fault("{state_root}/a") == f"has the token {{state_root}}; {said}"


@pytest.mark.parametrize(
    "path", ["{STATE_ROOT/x.json", "STATE_ROOT}/x.json", "a{b", "{STATE_ROOT}}/x", "{a{STATE_ROOT}"]
)
def test_unknown_token_in_a_path_is_refused(path: str) -> None:
    """Any brace in a path that belongs to no token is refused: no project has a folder of that name."""
    assert "brace" in path_fault(path)


def test_doubled_braces_are_refused() -> None:
    """Doubled braces are no escape, and are reported as a fault."""
    said = "has doubled braces; a token is written with single ones, such as {STATE_ROOT}"
    assert path_fault("{{STATE_ROOT}}/x.json") == said


def test_git_folder_is_written_but_not_asserted() -> None:
    """A path in .git may be written, and not asserted."""
    assert path_fault(".git/HEAD") == ""
    assert path_fault(".git/HEAD", git=False).startswith("must not be in .git")
    assert path_fault(".git", git=False).startswith("must not be in .git")


def test_project_root_is_replaced_in_every_string() -> None:
    """{PROJECT_ROOT} is replaced in every string of a value; other braces and the names of members stay."""
    value = {"{PROJECT_ROOT}": ["{PROJECT_ROOT}/a", {"b": "x {PROJECT_ROOT} y {PROJECT_ROOT}"}], "c": "{STATE_ROOT} {}"}
    assert fill(value, "/p") == {"{PROJECT_ROOT}": ["/p/a", {"b": "x /p y /p"}], "c": "{STATE_ROOT} {}"}


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text("ab{}", max_size=5), st.lists))
def test_value_without_a_token_stays(value: Any) -> None:
    """A value without the token stays unchanged."""
    assert fill(value, "/p") == value
    assert fill_expected(value, "/p") == value


def test_token_in_a_pattern_matches_literally() -> None:
    """In a pattern the token matches the path literally, with any characters."""
    expected = fill_expected([{"type": "string", "pattern": "^{PROJECT_ROOT}/[ab]$"}, "{PROJECT_ROOT}"], "/p+(1)")
    assert mismatch(expected, ["/p+(1)/a", "/p+(1)"]) == ""
    assert mismatch(expected, ["/pp1/a", "/p+(1)"]) != ""


def test_tokens_in_assertions_are_replaced() -> None:
    """Every token in a step's assertions is replaced, and assertions without one stay."""
    asserts = Asserts(
        return_value={"$.path": "{PROJECT_ROOT}/a"},
        result={"$.content[0].text": "{PROJECT_ROOT}/b"},
        state_files={"{STATE_ROOT}/x": None, "{STATE_ROOT}/{HARNESS_ID}/y": {}, "z": {"text": "{PROJECT_ROOT}"}},
        error=False,
        error_contains="{PROJECT_ROOT}",
        unchanged=("{STATE_ROOT}/{HARNESS_ID}",),
    )
    assert replace_tokens(asserts, "/p", "me") == Asserts(
        return_value={"$.path": "/p/a"},
        result={"$.content[0].text": "/p/b"},
        state_files={".nexus/state/x": None, ".nexus/state/me/y": {}, "z": {"text": "/p"}},
        error=False,
        error_contains="/p",
        unchanged=(".nexus/state/me",),
    )
    assert replace_tokens(Asserts(unchanged=True), "/p", "me") == Asserts(unchanged=True)
