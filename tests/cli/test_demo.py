"""`nexus-mcp demo` runs a whole cycle as a process that starts a server."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import pytest

from nexus_mcp.cli import main, mount
from nexus_mcp.cli.demo.screen import select, shorten
from nexus_mcp.cli.demo.script import CYCLE
from nexus_mcp.tools import TOOLS
from tests.cli.support import CHECKOUT, Ran, nexus, nexus_on_terminal

# Lines that are there to be copied are never wrapped.
UNWRAPPED = ("/", "claude ", "command ", '      "command"')


@pytest.fixture(scope="module")
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo").resolve()


@pytest.fixture(scope="module")
def piped(temporary: Path) -> Ran:
    """One run of the demo into a pipe."""
    return nexus("demo", env={"TMPDIR": str(temporary)})


def test_demo_succeeds(piped: Ran) -> None:
    """The demo ends with exit code 0 and prints no fault."""
    assert (piped.code, piped.err) == (0, "")


def test_demo_shows_every_call(piped: Ran) -> None:
    """Each call of the script is printed, in order, and each has an answer; one of them is an error."""
    names = "|".join(tool.name for tool in TOOLS)
    called = [step.tool for chapter in CYCLE for step in chapter.steps]
    assert re.findall(rf"^({names})\b", piped.out, re.MULTILINE) == called
    assert len(re.findall(r"^  [→✗] ", piped.out, re.MULTILINE)) == len(called)
    assert re.findall(r"^  ✗ .*", piped.out, re.MULTILINE) == ['  ✗ error "Issue 9 not found"']


def test_the_ready_set_moves(piped: Ran) -> None:
    """The tasks become ready one after the other."""
    assert re.findall(r"ready (\[\d*\])", piped.out) == ["[1]", "[2]", "[3]"]


def test_demo_shows_the_files_that_git_sees(piped: Ran) -> None:
    """Git sees the history and the .gitignore of .nexus, nothing else."""
    assert re.findall(r"^\?\? .*", piped.out, re.MULTILINE) == ["?? .nexus/.gitignore", "?? .nexus/history.json"]


def test_demo_ends_with_the_lines_to_mount(piped: Ran) -> None:
    """The last chapter has the lines for the three clients."""
    last = piped.out.rpartition("Mount it ")[2]
    for text in ("claude mcp add nexus -- ", '"mcpServers"', "[mcp_servers.nexus]", "required = true", '"mcp"'):
        assert text in last


def test_demo_removes_the_project(piped: Ran, temporary: Path) -> None:
    """The temporary project is removed, and the output names its path."""
    assert re.search(rf"{re.escape(str(temporary))}/nexus-demo-\w+ is deleted", piped.out)
    assert list(temporary.iterdir()) == []


def test_demo_fits_80_columns_without_colour(piped: Ran) -> None:
    """In a pipe the output has no escape sequence, no trailing blank, and no line beyond 80 columns except those to
    copy.
    """
    lines = piped.out.splitlines()
    assert "\x1b" not in piped.out
    assert [line for line in lines if line != line.rstrip()] == []
    long = [line for line in lines if len(line) > 80 and not line.startswith(UNWRAPPED)]
    assert [
        line for line in long if "nexus-demo-" not in line and "nexus-mcp" not in line and "nexus_mcp" not in line
    ] == []


def test_terminal_gets_colours() -> None:
    """A terminal gets colours."""
    ran = nexus_on_terminal("demo")
    assert (ran.code, ran.err) == (0, "")
    assert "\x1b[1;36mplan_start" in ran.out


def test_no_color_switches_colours_off() -> None:
    """With NO_COLOR a terminal gets no colours."""
    ran = nexus_on_terminal("demo", env={"NO_COLOR": "1"})
    assert ran.code == 0
    assert re.findall(r"\x1b\[[\d;]*3\dm", ran.out) == []


def test_keep_leaves_a_clean_repository(tmp_path: Path) -> None:
    """With --keep the project stays: a clean repository except for two files of .nexus."""
    ran = nexus("demo", "--keep", env={"TMPDIR": str(tmp_path), "PYTHONIOENCODING": "ascii"})
    assert (ran.code, ran.err) == (0, "")
    (kept,) = tmp_path.glob("nexus-demo-*")
    assert f"The project is still there: {kept.resolve()}" in ran.out
    assert (kept / ".nexus" / "history.json").is_file()
    assert (kept / ".git").is_dir()


def test_server_that_cannot_start_ends_the_demo(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server that ends at once is reported in one line, and the project is removed nevertheless."""
    monkeypatch.setattr(mount, "serve_command", lambda: [sys.executable, "-c", "pass"])
    before = set(Path(tempfile.gettempdir()).glob("nexus-demo-*"))
    code = main(["demo"])
    out, err = capsys.readouterr()
    assert code == 1
    assert err == f"nexus-mcp: {sys.executable} does not work as an MCP server: it exited with code 0.\n"
    assert "is deleted" in out
    assert set(Path(tempfile.gettempdir()).glob("nexus-demo-*")) == before


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, True, None], "b": {}}, "{a: [1, true, null], b: {}}"),
        ("é\n", '"é\\n"'),
        ("x" * 64, f'"{"x" * 64}"'),
        ("x" * 65, f'"{"x" * 63}…"'),
    ],
)
def test_long_values_are_truncated(value: object, text: str) -> None:
    """Values are shown as JSON without quotes around names, long texts cut."""
    assert shorten(value) == text


def test_selection_says_whether_fields_were_left_out() -> None:
    """Fields are selected by path, and the result says whether any field was left out."""
    value = {"a": {"b": 1, "c": 2}, "d": 3}
    assert select(value, ()) == (value, True)
    assert select(value, ("a.b", "d")) == ({"b": 1, "d": 3}, False)
    assert select({"a": 1}, ("a",)) == ({"a": 1}, True)


def test_odd_folder_name_is_shown_escaped(tmp_path: Path) -> None:
    """A temporary folder whose name holds control characters is shown escaped throughout."""
    odd = tmp_path / "a\x1b[31m\u202eb"
    odd.mkdir()
    ran = nexus("demo", env={"TMPDIR": str(odd)})
    assert (ran.code, ran.err) == (0, "")
    assert [line for line in ran.out.split("\n") if not line.isprintable()] == []


def test_objects_of_a_list_are_printed_in_rows(piped: Ran) -> None:
    """The objects of a list are printed one below the other, each after a hyphen, below the name of the list."""
    rows = piped.out.partition("Settle them one by one.")[2].splitlines()[4:7]
    assert rows == [
        "    remaining",
        '      - id 2  title "How are codes chosen?"  status "pending"',
        '      - id 3  title "What happens to old links?"  status "pending"',
    ]


def test_the_readme_shows_the_truth(piped: Ran) -> None:
    """The demo prints the lines that the README shows, in this order."""
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    shown = readme.partition("```text\n")[2].partition("```")[0].splitlines()
    printed = iter(piped.out.splitlines())
    assert [line for line in shown if line != "…" and line not in printed] == []
