"""Words for shells, JSON and TOML with characters on which a terminal would act."""

from __future__ import annotations

import json
import subprocess
import tomllib

import pytest

from nexus_mcp.cli.text_output import json_array, json_string
from nexus_mcp.program import shell_line

ODD = [
    "plain",
    "two words",
    "it's",
    'say "x"',
    "back\\slash",
    "\x1b[31m",
    "a\nb\tc",
    "\u202etxt",
    "\x7f",
    "é漢",
    "\x85'\\",
]


@pytest.mark.parametrize("text", ODD, ids=ascii)
def test_quoted_paths_can_be_read_back(text: str) -> None:
    """A quoted path is printable, and JSON and TOML parsers return the original path."""
    written = json_string(text)
    assert written.isprintable()
    assert (json.loads(written), tomllib.loads(f"x = {written}")["x"]) == (text, text)


def test_quoted_list_can_be_read_back() -> None:
    """A list is read back by JSON and TOML, an empty one too."""
    for texts in ([], ODD):
        assert json.loads(json_array(texts)) == tomllib.loads(f"x = {json_array(texts)}")["x"] == texts


def test_shell_line_can_be_read_back() -> None:
    """A shell reads the words back from a line that can be printed."""
    words = [*ODD, "\udcff"]
    line = shell_line(words)
    assert line.isprintable()
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True)
    assert done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1] == words


def test_plain_words_stay_plain() -> None:
    """Words without special characters are not quoted."""
    assert shell_line(["/opt/nexus mcp", "serve"]) == "'/opt/nexus mcp' serve"
    assert (json_string("é"), json_array(["a", "b"])) == ('"é"', '["a", "b"]')
