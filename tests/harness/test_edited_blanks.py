"""Uninstall from a file that the user edited since: our entries go with their blanks, the user's text stays."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.harness import load
from nexus_mcp.harness.installing import install, uninstall
from tests.harness.test_any_config import FAST, project, put, request_of

ENDS = st.sampled_from(["", "\n", "\n\n", "\n\n\n"])
NEWLINES = st.sampled_from(["\n", "\r\n"])
TOML = st.sampled_from(["", "# c", "a = 1", "a = 1\n\n# end", "[x]\nb = 1 # c", "[x]\nb = [\n  1, # one\n]"])
JSON = st.sampled_from(
    [
        *("", "{}", "{\n}", "{\n\n}", '{"a": 1}', '{\n  "a": 1\n}', '{\n\n  "a": 1\n\n}', '{\n\t"a": 1, // c\n}'),
        *("{\n  // c\n}", "{ // c\n}", '{\n  "mcpServers": {}\n}', '{\n  "mcpServers": {\n  }\n}'),
        '{\n  "mcpServers": {\n    "x": {"command": "y"}, // x\n    // more\n  },\n  "z": 2\n}',
    ]
)
ADDED = st.sampled_from(["mine", "", "mine{0}{1}mine"])
"""Lines that the user adds; {0} is a line break, {1} the sign of a comment."""


def left(name: str, path: str, text: str, head: str, tail: str) -> str | None:
    """Return what an uninstall leaves of `text`, to which a user added `head` and `tail` after the installation.

    None if the file is gone.
    """
    with project() as (root, site):
        file = put(root, path, text)
        harness = load(name)
        request: Any = request_of(name, parts=("server",))
        install(site, harness, request, {}, force=False)
        file.write_bytes(head.encode() + file.read_bytes() + tail.encode())
        uninstall(site, harness, force=False)
        return file.read_bytes().decode() if file.exists() else None


def lines_of(comment: str, added: str, newline: str) -> str:
    """Return an added line as a comment, or an empty line."""
    text = added.format(newline, f"{comment} ")
    return f"{comment} {text}{newline}" if text else newline


@FAST
@given(TOML, ENDS, NEWLINES, ADDED, st.booleans())
def test_toml_around_the_table_stays(text: str, end: str, newline: str, added: str, is_above: bool) -> None:
    """Comments and empty lines before and after are as the user wrote them, whatever the end of the file was."""
    text = (text + (end if text else "")).replace("\n", newline)
    newline = newline if newline in text else "\n"
    more = lines_of("#", added, newline)
    if is_above:
        assert left("codex", ".codex/config.toml", text, more, "") == more + text
    else:
        gap = "" if text.endswith("\n") or not text else newline
        assert left("codex", ".codex/config.toml", text, "", gap + more) == text + gap + more


@FAST
@given(JSON, ENDS, NEWLINES, ADDED, st.booleans())
def test_json_around_the_object_stays(text: str, end: str, newline: str, added: str, is_above: bool) -> None:
    """JSON with comments keeps its blanks, also an object without members and a file without text."""
    text = (text + (end if text else "")).replace("\n", newline)
    more = lines_of("//", added, newline)
    head, tail = (more, "") if is_above else ("", more if text.endswith("\n") or not text else newline + more)
    assert left("claude-code", ".mcp.json", text, head, tail) == head + text + tail


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_blank_line_before_a_comment_above_our_table_goes(newline: str) -> None:
    """A comment that the user puts above our table stays, without the empty line that we put there."""
    with project() as (root, site):
        file = put(root, ".codex/config.toml", f"a = 1{newline}")
        install(site, load("codex"), request_of("codex", parts=("server",)), {}, force=False)
        file.write_bytes(
            file.read_bytes().replace(b"[mcp_servers.nexus]", f"# mine{newline}[mcp_servers.nexus]".encode())
        )
        uninstall(site, load("codex"), force=False)
        assert file.read_bytes() == f"a = 1{newline}# mine{newline}".encode()


def test_comment_in_an_object_that_we_made_stays() -> None:
    """A comment that the user puts beside our server stays, and so does the object around it."""
    with project() as (root, site):
        file = put(root, ".mcp.json", '{\n  "a": 1\n}\n')
        install(site, load("claude-code"), request_of("claude-code", parts=("server",)), {}, force=False)
        file.write_text(file.read_text().replace('    "nexus"', '    // mine\n    "nexus"'))
        uninstall(site, load("claude-code"), force=False)
        assert file.read_text() == '{\n  "a": 1,\n  "mcpServers": {\n    // mine\n  }\n}\n'


@pytest.mark.parametrize(
    ("name", "path", "old", "new"),
    [
        ("codex", ".codex/config.toml", "required = true", "required = true # mine"),
        ("claude-code", ".mcp.json", '"type": "stdio"', '"type": /* mine */ "stdio"'),
    ],
)
def test_comment_inside_of_our_entry_is_copied(name: str, path: str, old: str, new: str) -> None:
    """A comment inside of our entry goes with it, so a copy of the file is kept and named."""
    with project() as (root, site):
        file = put(root, path, "")
        install(site, load(name), request_of(name, parts=("server",)), {}, force=False)
        file.write_text(file.read_text().replace(old, new))
        edited = file.read_bytes()
        (copy,) = uninstall(site, load(name), force=False).copies
        with open(copy, "rb") as stored:
            assert stored.read() == edited
