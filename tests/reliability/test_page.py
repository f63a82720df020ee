"""docs/reliability.md names existing tests and shows the measured figures."""

from __future__ import annotations

import re

from tests.reliability.figures import BEGIN, END, PAGE, ROOT, load, with_table
from tests.reliability.suites import SUITES


def test_every_promise_is_kept_by_a_test() -> None:
    """Each promise names the tests that prove it in its last column, and they exist."""
    section = PAGE.read_text().split("## What we promise")[1].split("\n## ")[0]
    promises = re.findall(r"^\| \d+ \| (.*) \| (.*) \|$", section, flags=re.MULTILINE)
    assert len(promises) > 5
    for promise, proofs in promises:
        proved_by = re.findall(r"(tests/[\w/.]+)(?:::(\w+))?", proofs)
        assert proved_by, promise
        for path, test in proved_by:
            assert (ROOT / path).exists(), path
            assert not test or f"def {test}(" in (ROOT / path).read_text(), test


def test_a_promise_is_one_line() -> None:
    """A promise has at most 115 characters; conditions and exceptions follow under the number of their promise."""
    section = PAGE.read_text().split("## What we promise")[1].split("\n## ")[0]
    promises = dict(re.findall(r"^\| (\d+) \| (.*) \| .* \|$", section, flags=re.MULTILINE))
    assert {number: text for number, text in promises.items() if len(text) > 115} == {}
    below = re.findall(r"^- \*\*(\d+):\*\* ", section, flags=re.MULTILINE)
    assert below == [number for number in promises if number in below]
    assert len(below) > 10


def test_the_figures_are_the_measured_ones() -> None:
    """The table has the figures of the last long run of each suite; each run reached its goal and found no fault."""
    page = PAGE.read_text()
    assert page == with_table(page)
    figures = page.split(BEGIN)[1].split(END)[0]
    assert re.findall(r"^\| (\w+) \|", figures, re.MULTILINE)[1:] == list(SUITES)
    for name, found in load().items():
        goal, least = SUITES[name].goal
        assert found["counts"][goal] >= least, name
        assert found["failures"] == 0, name
    assert load().keys() == SUITES.keys()
