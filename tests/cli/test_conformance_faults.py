"""A suite or target that cannot be used: one line on stderr, no fixture is run, exit code 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import Ran, nexus

FIXTURE: dict[str, Any] = {
    "test_id": "task_add_first",
    "description": "The first task has the number 1.",
    "action": {"tool": "task_add", "params": {"title": "T", "context": "C"}},
    "postcondition": {"return_value": {"$.task.id": 1}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory with a suite of one fixture in it."""
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "add.json").write_text(json.dumps(FIXTURE))
    (tmp_path / "empty").mkdir()
    (tmp_path / "typo.json").write_text(json.dumps({**FIXTURE, "postconditions": {}}))
    (tmp_path / "known.yml").write_text("task_add_frist: typo\n")
    (tmp_path / "names.yml").write_text("task_ad: createTask\n")
    return tmp_path


def told(ran: Ran) -> str:
    """Return the one line of a refusal."""
    assert ran.out == ""
    assert ran.code == 2
    assert ran.err.count("\n") == 1, ran.err
    return ran.err.removeprefix("nexus-mcp: ").removesuffix("\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--server", "a", "--url", "http://x"], "--server and --url together need {port} in both: the run replaces "
         "it by a free port. Example: --server 'nexus-mcp serve --http 127.0.0.1:{port} --projects {projects_file}' "
         "--url http://127.0.0.1:{port}/p/{project}/mcp"),
        (["--server", "  "], "--server needs a command, not '  '"),
        (["--server", "a 'b"], "--server \"a 'b\" is not a command: no closing quotation"),
        (
            ["--url", "http://127.0.0.1:1/mcp"],
            "--url and --project belong together: --project is the empty folder that the server serves.",
        ),
        (
            ["--project", "."],
            "--url and --project belong together: --project is the empty folder that the server serves.",
        ),
        (
            ["--url", "ftp://x", "--project", "."],
            "--url needs an http or https address. Example: --url http://127.0.0.1:8000/mcp",
        ),
        (
            ["--url", "http://x/mcp", "--project", "gone"],
            "--project: 'gone' is not a folder. Name the folder that the server serves.",
        ),
        (["--env", "A=1"], "--env needs --server or --run-command: it applies to what this command starts."),
        (["--server", "a", "--env", "secret"], "--env needs KEY=VALUE"),
        (["--server", "a", "--project-env", "A=B"], "--project-env 'A=B' is not a variable name"),
        (["--harness-id", "Me"], "--harness-id 'Me' is not a harness id: a-z first, then a-z, 0-9 and -"),
        (["--timeout", "soon"], "--timeout 'soon' is not a number of seconds above 0"),
        (["--timeout", "0"], "--timeout '0' is not a number of seconds above 0"),
        (["--jobs", "0"], "--jobs needs a number from 1, not '0'."),
        (["-j", "many"], "--jobs needs a number from 1, not 'many'."),
        (["--tool-prefix", "a b"], "The tool prefix 'a b' is not usable: it must be a letter, then letters, digits, _ "
         "and -, at most 32 in all. Example: --tool-prefix nx_"),
        (["--tool-map", "names.yml"], "names.yml:1: no fixture calls a tool task_ad; did you mean task_add?"),
        (["--tool-map", "gone.yml"], "gone.yml: could not be read: No such file or directory"),
        (["--report", "gone/junit.xml"], "--report gone/junit.xml: the folder gone does not exist. "
         "Create it, then start again."),
        (["--report", "junit.txt"], "--report junit.txt: the name does not show which report to write. "
         "Use a name that ends in .xml (JUnit), .html or .json; badge.json is a badge."),
    ],
)  # fmt: skip
def test_invalid_option_is_refused_before_the_run(folder: Path, options: list[str], message: str) -> None:
    """An unusable option is reported before any fixture runs."""
    assert told(nexus("conformance", "run", "--fixtures", "suite", *options, cwd=folder)) == message


def test_a_secret_is_not_repeated(folder: Path) -> None:
    """A variable that is wrong may be a secret, so its text is in no message."""
    ran = nexus("conformance", "run", "--fixtures", "suite", "--server", "a", "--env", "hunter2", cwd=folder)
    assert "hunter2" not in ran.err + ran.out


@pytest.mark.parametrize(
    "words", [["run"], ["run", "--list"], ["coverage"], ["compare", "--server", "a", "--server", "b"]]
)
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("typo.json", "typo.json: /postconditions: is not a known field; did you mean postcondition?"),
        ("gone", "gone: no such file or folder"),
        ("empty", "empty: is a folder without fixtures (*.json files)"),
    ],
)
def test_faulty_fixture_paths_are_reported_in_one_line(folder: Path, words: list[str], path: str, message: str) -> None:
    """A fixture with a typo, a missing folder and an empty folder are each reported in one line."""
    assert told(nexus("conformance", *words, "--fixtures", path, cwd=folder)) == message


def test_empty_selection_names_similar_fixtures(folder: Path) -> None:
    """A selection without a fixture is reported with the nearest names."""
    ran = nexus(
        "conformance", "run", "--fixtures", "suite", "--only", "task_add_frist", "--tool", "task_ad", cwd=folder
    )
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines() == [
        "nexus-mcp: --only task_add_frist: no fixture matches it; did you mean task_add_first?",
        "nexus-mcp: --tool task_ad: no fixture calls it; did you mean task_add?",
        "nexus-mcp: Use --list to see all fixtures.",
    ]


def test_unknown_expected_failure_is_reported(folder: Path) -> None:
    """An expected failure that the suite does not have is reported with file and line, whatever was selected."""
    ran = nexus("conformance", "run", "--fixtures", "suite", "--expected-failures", "known.yml", cwd=folder)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines() == [
        "nexus-mcp: known.yml:1: no fixture has the id task_add_frist; did you mean task_add_first?",
        "nexus-mcp: Remove the entry, or correct its id.",
    ]


@pytest.mark.parametrize("servers", [[], ["--server", "a"]])
def test_compare_needs_two_servers(servers: list[str]) -> None:
    """A comparison of fewer than two is none."""
    assert told(nexus("conformance", "compare", *servers)) == (
        "compare needs at least two --server options. To judge one server, use conformance run."
    )


def test_lint_prints_faults_and_exits_with_1(folder: Path) -> None:
    """lint prints the faults on stdout, because they are its result, and exits with 1."""
    assert nexus("conformance", "lint", "--fixtures", "typo.json", "--fixtures", "empty", cwd=folder) == (
        1,
        "typo.json: /postconditions: is not a known field; did you mean postcondition?\n"
        "empty: is a folder without fixtures (*.json files)\n"
        "2 faults\n",
        "",
    )
    assert nexus("conformance", "lint", "--fixtures", "suite", cwd=folder) == (0, "1 fixtures, no faults\n", "")


def test_coverage_prints_gaps_and_counts(folder: Path) -> None:
    """coverage prints each gap under its kind, and the counts in the last line."""
    ran = nexus("conformance", "coverage", "--fixtures", "suite", cwd=folder)
    assert (ran.code, ran.err) == (1, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith("fields of state schemas that no fixture claims: ")
    assert "parameters that are neither asserted nor listed in uncovered_params: 2" in lines
    assert "  suite/add.json: task_add_first: title" in lines
    assert lines[-1].endswith("0 entries of covers, 2 parameters, 1 fixtures, 59 gaps")


def test_list_prints_ids_and_starts_no_server(folder: Path) -> None:
    """--list prints a line for each fixture, with id, level and tools, and starts no server."""
    ran = nexus("conformance", "run", "--fixtures", "suite", "--list", "--server", "/no/such/command", cwd=folder)
    assert ran == (0, "task_add_first  full  task_add\n", "")
