"""Every command on the pages is run in a temporary project, or stands in a table with the reason why not."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from nexus_mcp.cli import COMMANDS
from nexus_mcp.cli.options import Command, Group, parse
from tests.pages import worlds
from tests.pages.blocks import PAGES, ROOT, Block, blocks, inline, nexus_words
from tests.pages.exceptions import EXIT_CODES, NOT_RUN, OWN_TESTS

BLOCKS = [block for page in PAGES for block in blocks(page)]
LINES = [(block.page, line) for block in BLOCKS for line in block.commands]
PAGES_TO_RUN = sorted({block.page for block in BLOCKS})
_WORD = re.compile(r"[a-z][a-z-]*\Z")
LIMIT = 120
"""Seconds after which a hanging command fails the test; none comes near it."""


def is_run(line: str) -> bool:
    return not line.startswith(tuple(NOT_RUN))


def to_run(page: str) -> list[Block]:
    """Return the blocks of a page with the lines that are run; without those that a test of their own runs."""
    found = [one for one in blocks(page) if page not in OWN_TESTS or one.printed is None]
    return [one for one in found if any(map(is_run, one.commands))]


@pytest.mark.parametrize("page", PAGES_TO_RUN)
def test_commands_of_the_page_run(page: str, tmp_path: Path) -> None:
    """The commands of a page succeed, one after the other, and print what the page shows after them."""
    home = tmp_path / "home"
    root = worlds.make(home, page)
    for block in to_run(page):
        lines = [line for line in block.commands if is_run(line)]
        if block.printed is None:
            ran(page, block.line, "\n".join(lines), root)
            continue
        for line, printed in zip(block.commands, block.printed, strict=True):
            assert ran(page, block.line, line, root) == printed


def ran(page: str, number: int, script: str, root: Path) -> str:
    """Run a script in the project of a page and return its output. The script ends at the first unexpected code."""
    for line, (code, _) in EXIT_CODES.items():
        script = re.sub(rf"^{re.escape(line)}$", f"{line} || test $? = {code}", script, flags=re.MULTILINE)
    done = subprocess.run(
        ["sh", "-e"],
        input=script,
        cwd=root,
        env=worlds.environment(root.parent),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, f"{page}:{number}: {script}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("line", sorted({line for _, line in LINES if nexus_words(line) is not None}))
def test_command_line_parses(line: str) -> None:
    """The parser of the command takes each nexus-mcp command line of a block, run or not."""
    words = nexus_words(line)
    assert words is not None
    command, rest, typed = find(words)
    assert isinstance(command, Command), line
    parse(rest, command.options, typed, command.argument)


@pytest.mark.parametrize("page", sorted(page for page in PAGES if inline(page)))
def test_commands_in_sentences_exist(page: str) -> None:
    """Each command in a sentence or table is one of the program, and so is each of its options."""
    for line in inline(page):
        words = line.split()[1:]
        command, rest, _ = find([word for word in words if not word.isupper()])
        named = {word.partition("=")[0] for word in rest if word.startswith("--") and word != "--"}
        known = {"--help", "--version"}
        known |= {option.name for option in command.options} if isinstance(command, Command) else set()
        assert named <= known, f"{page}: {line}"


def find(words: list[str]) -> tuple[Command | Group | None, list[str], str]:
    """Return the command that the words name, the other words, and the words of the command."""
    typed = "nexus-mcp"
    if not words or not _WORD.match(words[0]):
        return None, words, typed
    assert words[0] in COMMANDS, words
    command, rest, typed = COMMANDS[words[0]](), words[1:], f"{typed} {words[0]}"
    while isinstance(command, Group) and rest and _WORD.match(rest[0]):
        assert rest[0] in command.subcommands, words
        command, rest, typed = command.subcommands[rest[0]](), rest[1:], f"{typed} {rest[0]}"
    if isinstance(command, Group) and command.default is not None:
        command = command.default()
    return command, rest, typed


def test_each_exception_is_needed() -> None:
    """Each row of the table is the beginning of a command line of a page."""
    assert [begin for begin in NOT_RUN if not any(line.startswith(begin) for _, line in LINES)] == []
    assert [line for line in EXIT_CODES if line not in {line for _, line in LINES}] == []


@pytest.mark.parametrize(("page", "test"), OWN_TESTS.items())
def test_page_with_a_test_of_its_own_is_run_there(page: str, test: str) -> None:
    """The test reads the page and runs its commands; and the page has blocks with output."""
    text = (ROOT / test).read_text(encoding="utf-8")
    assert f'"{Path(page).name}"' in text
    assert re.search(r"\bnexus\(|subprocess\.run\(", text)
    assert [block for block in blocks(page) if block.printed is not None or page == "docs/lifecycle.md"] != []


def test_test_paths_on_the_pages_exist() -> None:
    """The files and folders of the pytest lines exist."""
    named = [word for _, line in LINES if " -m pytest " in line for word in line.split() if word.startswith("tests/")]
    assert len(named) > 2
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_most_commands_are_run() -> None:
    """More than half of the command lines of the pages are run, most of them nexus-mcp."""
    run = [line for _, line in LINES if is_run(line)]
    assert len(run) > len(LINES) / 2
    assert len([line for line in run if nexus_words(line) is not None]) > 60
