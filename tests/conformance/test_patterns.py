"""Patterns of fixtures: Python's own, matched in a process that ends when they take too long."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nexus_mcp.conformance.authoring.claims import asserted_parameters
from nexus_mcp.conformance.matchers import faults
from nexus_mcp.conformance.processes import helper, worker
from nexus_mcp.conformance.processes.helper import Budget, Helpers, MatchFailed, budget, search
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.settings import TargetOptions
from nexus_mcp.conformance.target import stdio
from nexus_mcp.errors import HarnessFault
from tests.conformance.support import NASTY, act, made, nasty_fixture, outcome
from tests.forks import forked

ROOT = Path(__file__).parents[2]
ENDLESS = "^(a+)+$"
LETTERS = "a" * 60 + "!"
# The script writes to the pipe when the runner begins to match.
SCRIPT = """
import sys
from nexus_mcp.conformance.processes import helper
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.settings import TargetOptions
from nexus_mcp.conformance.target import stdio
from tests.conformance.support import nasty_fixture
ask = helper._patterns.request
def told(request, seconds):
    open(sys.argv[1], "w").write("matching")
    return ask(request, seconds)
helper._patterns.request = told
wanted = {"return_value": {"$.given.text": {"type": "string", "pattern": "^(a+)+$"}}}
fixtures = [nasty_fixture({"do": "wave", "text": "a" * 60 + "!"}, postcondition=wanted)]
run(fixtures, stdio(sys.argv[2:], TargetOptions(timeout=600)), jobs=1)
"""


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("b+", "abbc"), ("^b", "ab"), ("a$", "a\n"), (r"a\Z", "a\n"), ("", ""), (r"(?i)É", "é"), ("\ud800", "\ud800")],
)
def test_patterns_match_like_re(pattern: str, text: str) -> None:
    """A pattern matches a text exactly if `re.search` finds it there."""
    assert search(pattern, text) is (re.search(pattern, text) is not None)


def test_forks_do_not_share_a_helper() -> None:
    """Each forked process starts its own helper, and the parent's helper continues."""

    def look(letter: str) -> list[bool]:
        return [search(letter, one) for one in "abcd" * 50]

    assert search("a", "a")
    seen = dict(forked("abcd", look, 60, processes=4))
    assert seen == {letter: [letter == one for one in "abcd" * 50] for letter in "abcd"}
    assert not search("a", "b")


def test_endless_pattern_fails_with_its_reason() -> None:
    """An endless pattern fails the fixture; the next one in the same fixture is not tried."""
    wanted = {"$.given.text": {"type": "string", "pattern": ENDLESS}, "$.did": {"type": "string", "pattern": "w"}}
    fixture = nasty_fixture(act("wave", text=LETTERS), postcondition={"return_value": wanted})
    (result,) = run([fixture], stdio(NASTY, TargetOptions(timeout=1)), jobs=1).results
    shown = f'is "{LETTERS}"'
    assert outcome(result)[1] == [
        ("answer", "", f'must match "{ENDLESS}"; the pattern takes more than 1 s to match; {shown}'),
        (
            "answer",
            "",
            'must match "w"; the pattern was not matched: earlier patterns of this fixture took more than 1 s; '
            'is "wave"',
        ),
    ]


def test_pattern_budget_is_shared_within_a_fixture() -> None:
    """Outside of a fixture each match has its own time limit; --timeout can only shorten that of a fixture."""
    assert [Budget(seconds).seconds for seconds in (0.001, 3, 600)] == [1, 3, helper.MOST_S]
    token = budget.set(Budget(0))
    try:
        with pytest.raises(MatchFailed, match="takes more than 1 s to match"):
            search(ENDLESS, LETTERS)
    finally:
        budget.reset(token)
    assert search("a", "a") is True


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(", "is not a valid regular expression: missing ), unterminated subpattern at position 0"),
        (
            "(?L)a",
            "is not a valid regular expression: bad inline flags: cannot use 'L' flag with a str pattern at position 3",
        ),
        ("(" * 900 + ")" * 900, "is not a valid regular expression: it is nested too deeply"),
        ("[[a]", ""),
    ],
)
def test_invalid_pattern_is_a_fault(pattern: str, said: str) -> None:
    """A pattern that Python rejects or warns about is a fault of the fixture; it neither ends the runner nor makes it
    warn.
    """
    assert [fault.message for fault in faults({"type": "string", "pattern": pattern})] == ([said] if said else [])


def test_slow_pattern_is_reported_by_lint(monkeypatch: pytest.MonkeyPatch) -> None:
    """`lint` also reports a pattern that takes too long to compile."""
    monkeypatch.setattr(helper, "MOST_S", 0.3)
    pattern = "(?i)" + "[\x01-\U0010ffff]" * 390
    (fault,) = faults({"type": "string", "pattern": pattern})
    assert fault.message == "is not a valid regular expression: it takes more than 0.3 s to compile"


def test_pattern_that_takes_much_memory_fails() -> None:
    """A match that takes too much memory is a fault of the pattern; the memory of the helper is bounded."""
    script = f"""
import sys
sys.path.insert(0, {os.path.dirname(worker.__file__)!r})
import worker
worker.bound_memory(256 << 20)
print(worker.match_pattern({{"pattern": "(?:(a)|b)*c", "text": "ab" * 4_000_000}}))
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert said == "{'fault': 'it takes more than 1024 MiB of memory'}\n"


def test_coverage_matches_with_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """`coverage` compares expected values with parameters, and ends with any patterns."""
    monkeypatch.setattr(helper, "MOST_S", 0.3)
    wanted = {"$.x_text": [{"type": "string", "pattern": ENDLESS}], "$.text": [{"type": "string", "pattern": ENDLESS}]}
    action = {"action": {"tool": "act", "params": {"x_text": [LETTERS]}}}
    assert asserted_parameters(made(action, postcondition={"return_value": wanted})) == {"x_text"}


def test_ended_helper_is_a_fault_of_the_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the runner cannot match a pattern, it reports a fault of its own."""
    script = tmp_path / "worker.py"
    script.write_text("import sys; print(flush=True); sys.stdin.readline(); sys.exit(3)")
    monkeypatch.setattr(helper, "_patterns", Helpers(str(script)))
    with pytest.raises(HarnessFault, match="the process that matches it ended unexpectedly, with exit code 3"):
        search("a", "a")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_signal_ends_a_run_while_matching(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """A signal ends a run that is matching an endless pattern, at once and with everything that it made."""
    pipe, temporary = tmp_path / "pipe", tmp_path / "temporary"
    os.mkfifo(pipe)
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SCRIPT, str(pipe), *NASTY]
    runner = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, cwd=tmp_path)
    assert pipe.read_text() == "matching"
    started = time.monotonic()
    runner.send_signal(number)
    runner.communicate(timeout=60)
    assert (runner.returncode, list(temporary.iterdir())) == (code, [])
    assert time.monotonic() - started < helper.MOST_S
