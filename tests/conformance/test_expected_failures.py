"""The file of expected failures, and its effect on a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nexus_mcp.conformance import settings
from nexus_mcp.conformance.report import expected
from nexus_mcp.conformance.report.matrix import last_line
from nexus_mcp.conformance.result import Assertion, RunResult
from nexus_mcp.errors import HarnessFault, UsageError
from tests.conformance import runs

IDS = ["task_add_basic", "task_add_keys", "plan_start_basic"]


@pytest.fixture
def faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str | bytes], list[str]]:
    """Return a function that returns the faults of a file with a text."""
    monkeypatch.chdir(tmp_path)

    def load(text: str | bytes) -> list[str]:
        Path("known.yml").write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(HarnessFault) as caught:
            settings.load_expected("known.yml", IDS)
        return caught.value.faults

    return load


def test_reasons_are_read_from_any_yaml_text(tmp_path: Path) -> None:
    """The file is a mapping of ids to reasons, which may be in any YAML form of a text."""
    file = tmp_path / "known.yml"
    file.write_text("# a comment\ntask_add_basic: numbers from 0\n'task_add_keys': >-\n  one\n  two\n")
    assert settings.load_expected(str(file), IDS) == {"task_add_basic": "numbers from 0", "task_add_keys": "one two"}


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "{}\n"])
def test_empty_file_expects_no_failure(tmp_path: Path, text: str) -> None:
    """With an empty file no fixture is expected to fail."""
    file = tmp_path / "known.yml"
    file.write_text(text)
    assert settings.load_expected(str(file), IDS) == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "task_add_basic: a\n\ntask_add_bsic: b\nxyz: c\n",
            [
                "known.yml:3: no fixture has the id task_add_bsic; did you mean task_add_basic?",
                "known.yml:4: no fixture has the id xyz",
            ],
        ),
        ("task_add_basic: a\ntask_add_basic: b\n", ["known.yml:2: task_add_basic is already defined in line 1"]),
        (
            "task_add_basic:\ntask_add_keys: ' '\nplan_start_basic: 5\n",
            [
                "known.yml:1: the reason of task_add_basic must be a text that is not blank",
                "known.yml:2: the reason of task_add_keys must be a text that is not blank",
                "known.yml:3: the reason of plan_start_basic must be a text that is not blank",
            ],
        ),
        ("task_add_basic: [a]\n", ["known.yml:1: the reason of task_add_basic must be a text that is not blank"]),
        ("5: a\n", ["known.yml:1: the test_id must be a text; put it in quotes"]),
        ("? [a]\n: b\n", ["known.yml:1: the test_id must be a text; put it in quotes"]),
        ("- task_add_basic\n", ["known.yml:1: must be a mapping, test_id: reason"]),
        ("a: b: c\n", ["known.yml:1: is not YAML: mapping values are not allowed here"]),
        ("a: b\n---\nc: d\n", ["known.yml:2: is not YAML: but found another document"]),
        ("a: \x01", ["known.yml: is not YAML: unacceptable character #x0001: special characters are not allowed"]),
        (b"a: \xff\n", ["known.yml: is not UTF-8: line 1, column 4"]),
        ("[" * 5000, ["known.yml: is nested too deeply"]),
    ],
)
def test_all_faults_of_a_file_have_their_line(
    faults: Callable[[str | bytes], list[str]], text: str | bytes, told: list[str]
) -> None:
    """All faults of a file are reported at once, with their lines."""
    assert faults(text) == told


def test_missing_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not there is a fault of the harness."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HarnessFault) as caught:
        settings.load_expected("gone.yml", IDS)
    assert caught.value.faults == ["gone.yml: could not be read: No such file or directory"]


@pytest.mark.parametrize(
    ("run", "good"),
    [
        (runs.run(runs.passed("a"), runs.failed("b")), True),
        (runs.run(runs.passed("a"), runs.passed("b")), False),
        (runs.run(runs.failed("a"), runs.failed("b")), False),
        (runs.run(runs.passed("a"), runs.not_run("b")), True),
        (runs.run(runs.passed("a")), True),
    ],
    ids=["fails as expected", "healed", "another fails", "not run", "not selected"],
)
def test_expected_failure_that_passes_fails_the_run(run: RunResult, good: bool) -> None:
    """An expected failure does not fail the run, an unexpected pass does, and a fixture that was not run does
    neither.
    """
    marked = settings.mark_run(run, {"b": "known"})
    assert marked.good is good
    assert {result.test_id: result.expected for result in marked.results if result.expected} in ({"b": "known"}, {})
    assert settings.mark_run(marked, {}) == run


WRITE = "--write-expected-failures"


def failing() -> RunResult:
    """Return a run with two causes of failures, an expected failure and a pass."""
    wrong = Assertion("answer", passed=False, message='must be 1, is "0: #\x1b"', path="$.task.id", expected=1, seen=0)
    return runs.run(
        runs.failed("b", assertions=(wrong,)),
        runs.failed("a", assertions=(wrong,)),
        runs.failed("c", assertions=(Assertion("process", passed=False, message="died"),)),
        runs.failed("known", expected="issue 12"),
        runs.passed("d"),
    )


def test_written_list_is_accepted_as_it_is(tmp_path: Path) -> None:
    """The list has the unexpected failures by cause, and the next run passes with it."""
    path = tmp_path / "known.yml"
    line = expected.write(WRITE, str(path), failing())
    assert line.startswith(f"written: {path} (3 fixtures, 2 causes)")
    text = path.read_text(encoding="utf-8")
    assert (
        text.index("# 2 fixtures: answer: $.task.id") < text.index("\na: ") < text.index("\nb: ") < text.index("\nc: ")
    )
    assert "\x1b" not in text
    reasons = settings.load_expected(str(path), ["a", "b", "c", "d"])
    assert reasons["c"] == "not looked at yet: process: died"
    marked = settings.mark_run(failing(), {**reasons, "known": "issue 12"})
    assert marked.good
    assert last_line(marked) == "1 passed, 0 failed, 4 expected failures (3 not looked at yet)"


def test_new_failures_are_added_to_the_list(tmp_path: Path) -> None:
    """In a list that is there only new entries appear, at its end; comments and reasons stay."""
    path = tmp_path / "known.yml"
    path.write_text("# ours\nknown: issue 12  # soon")
    expected.check(WRITE, str(path), str(path))
    expected.write(WRITE, str(path), failing())
    assert path.read_text(encoding="utf-8").startswith("# ours\nknown: issue 12  # soon\n\n# 2 fixtures: ")
    assert set(settings.load_expected(str(path), ["a", "b", "c", "known"])) == {"a", "b", "c", "known"}


def test_list_that_cannot_grow_stays(tmp_path: Path) -> None:
    """A list to whose end no entry can be added is left as it is."""
    path = tmp_path / "known.yml"
    path.write_text("{known: issue 12}\n")
    with pytest.raises(HarnessFault):
        expected.write(WRITE, str(path), failing())
    assert path.read_text(encoding="utf-8") == "{known: issue 12}\n"


def test_run_without_failures_writes_no_list(tmp_path: Path) -> None:
    """Where nothing failed unexpectedly, no file is written."""
    path = tmp_path / "known.yml"
    assert "no new entry" in expected.write(WRITE, str(path), runs.GOOD)
    assert not path.exists()


@pytest.mark.parametrize("other", [None, "other.yml", "missing.yml"])
def test_file_that_is_no_list_of_the_run_is_not_overwritten(tmp_path: Path, other: str | None) -> None:
    """A file that exists is refused before the run, unless it is the list of the run."""
    path = tmp_path / "known.yml"
    path.write_text("mine\n")
    (tmp_path / "other.yml").write_text("")
    with pytest.raises(UsageError, match=r"known\.yml: the file exists\.") as caught:
        expected.check(WRITE, str(path), str(tmp_path / other) if other else None)
    assert "--expected-failures" in (caught.value.next_step or "")
    expected.check(WRITE, str(tmp_path / "new.yml"), None)
