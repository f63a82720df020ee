"""The man page: its escapes, its contents, and two programs that show it."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from docs import man_page
from nexus_mcp.cli import exits
from nexus_mcp.cli.help_texts import ENVIRONMENT
from nexus_mcp.cli.options import Group
from tests.cli.support import every_command

ODD = [".nexus/state", "'quoted' `x` ~/a^b \\n \\fB", '"both"', "a - b", "--dry-run", "…", ".TH X 1", "\\\\", "a/b"]
WITHOUT_DATE = 'WARNING: missing date, using ""'
"""The page is the same for each build of a version, so it has no date."""


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed here, so it did not check the page; .ci/run installs it")
    return found


def shown(text: str) -> str:
    """Return what mandoc prints for a page, without its header and footer."""
    words = [program("mandoc"), "-Tutf8", "-Owidth=500"]
    out = subprocess.run(words, input=text, capture_output=True, text=True, check=True).stdout
    return re.sub(".\b", "", out).partition("\n")[2].rstrip().rpartition("\n")[0]


@pytest.mark.parametrize("text", ODD)
def test_text_is_shown_as_it_is(text: str) -> None:
    """Characters with a meaning in roff are printed unchanged, also at the beginning of a line."""
    page = f'.TH X 1 ""\n.SH NAME\nx\n.PP\n{man_page.escape(text)}\n'
    assert shown(page).split("\n\n")[-1].strip() == text


def test_page_has_each_command_with_its_options_and_examples() -> None:
    """Each command has a section with its text, choices, options and examples."""
    text = shown(man_page.page())
    for words, command in every_command():
        section = re.split(r"\n   (?=\w)|\n(?=[A-Z])", text.partition(f"\n   {' '.join(words)}\n")[2])[0]
        assert section.strip().startswith(f"nexus-mcp {' '.join(words)} ")
        assert " ".join(command.text.split()) in " ".join(section.split())
        if isinstance(command, Group):
            continue
        names = [*(command.argument.choices if command.argument else ()), *(one.name for one in command.options)]
        assert [name for name in names if not re.search(rf"^ +(?:-\w, )?{re.escape(name)}\b", section, re.M)] == []
        assert [typed for typed, _ in command.examples if f"  {typed}\n" not in f"{section}\n"] == []


def test_page_has_variables_and_exit_codes() -> None:
    """Each variable of the environment and each exit code is explained."""
    text = man_page.page()
    codes = {value for name, value in vars(exits).items() if name.isupper() and isinstance(value, int)} - {True, False}
    assert {*man_page.EXIT_CODES} == codes | {exits.OK, exits.FAILED}
    assert [name for name, _, _ in ENVIRONMENT if man_page.escape(name) not in text] == []


def test_mandoc_has_no_complaint() -> None:
    """mandoc finds no fault but the missing date."""
    words = [program("mandoc"), "-Tlint", "-Wwarning", str(man_page.PAGE)]
    out = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    assert [line for line in out.splitlines() if WITHOUT_DATE not in line] == []


def test_groff_has_no_complaint() -> None:
    """groff, which most systems show man pages with, warns about nothing."""
    words = [program("groff"), "-man", "-ww", "-z", str(man_page.PAGE)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
