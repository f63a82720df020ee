"""`nexus-mcp conformance run`: judge one server."""

from __future__ import annotations

import sys

from nexus_mcp.cli import exits
from nexus_mcp.cli.conformance.options import (
    ASKING,
    JOBS,
    SELECTING,
    SERVED,
    SERVER,
    URL,
    check,
    is_selection,
    jobs,
    level,
    print_leftovers,
    select_fixtures,
    suite,
    target,
    target_options,
)
from nexus_mcp.cli.options import Command, Option, parse_count
from nexus_mcp.cli.workspace_options import TOOL_PREFIX
from nexus_mcp.errors import HarnessFault, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values
    from nexus_mcp.conformance.fixture import Fixture
    from nexus_mcp.conformance.report.terminal import Screen
    from nexus_mcp.conformance.result import RunResult

LIST = Option("--list", "", "list fixtures and their tools; run nothing")
REPORT = Option("--report", "FILE", ".xml (JUnit), .html, .json or badge.json", many=True)
MAX = Option("--max-failures", "N", "stop after N failures")
SUMMARY = Option("--summary", "", "print a line for each cause of failures")
VERBOSE = Option("--verbose", "", "print every failure in full")
WRITE_EXPECTED = Option("--write-expected-failures", "FILE", "write an --expected-failures file")
EXPECTED = Option("--expected-failures", "FILE", "YAML: ids of fixtures, with the reasons")

LISTS = (EXPECTED, WRITE_EXPECTED)


def run(values: Values) -> int:
    """Run the fixtures and return 0 when the run passes, else 1; with --list, print the fixtures and return 0. Raise
    UsageError or HarnessFault (exit code 2).
    """
    from nexus_mcp.conformance.processes.starting import check_platform
    from nexus_mcp.conformance.report import expected, files

    check_platform("conformance run")
    check(values)
    files.check(REPORT.name, values.lists[REPORT.name])
    at_once = jobs(values)
    max_failures = parse_count(values[MAX.name], MAX.name) if MAX.name in values else None
    if SUMMARY.name in values and VERBOSE.name in values:
        raise UsageError("--summary and --verbose exclude each other.")
    if WRITE_EXPECTED.name in values:
        if MAX.name in values:
            raise UsageError(f"{WRITE_EXPECTED.name} needs all failures: leave {MAX.name} out.")
        expected.check(WRITE_EXPECTED.name, values[WRITE_EXPECTED.name], values.get(EXPECTED.name))
    fixtures = suite(values)
    chosen = select_fixtures(values, fixtures)
    reasons = _load_expected(values, fixtures)
    options = target_options(values, fixtures)
    judged = target(values, options)
    if LIST.name in values:
        return _list(chosen)

    from nexus_mcp.conformance.report.terminal import Screen
    from nexus_mcp.conformance.runner import run as run_all
    from nexus_mcp.conformance.settings import mark_expected, mark_run

    screen = Screen(len(chosen), sys.stdout, detail=_detail(values))
    with screen:
        found = run_all(
            chosen,
            judged,
            jobs=at_once,
            max_failures=max_failures,
            is_expected=lambda test_id: test_id in reasons,
            on_start=screen.show_start,
            on_result=lambda result: screen.show_result(mark_expected(result, reasons)),
            on_left=print_leftovers,
        )
    found = mark_run(found, reasons, level(values), is_selection=is_selection(values))
    screen.failures(found)
    faults = _write(values, screen, found)
    screen.last_line(found)
    if faults:
        raise HarnessFault(faults)
    return exits.OK if found.good else exits.FAILED


def _detail(values: Values) -> str:
    return "summary" if SUMMARY.name in values else "verbose" if VERBOSE.name in values else "normal"


def _load_expected(values: Values, fixtures: list[Fixture]) -> dict[str, str]:
    if EXPECTED.name not in values:
        return {}
    from nexus_mcp.conformance.settings import load_expected

    return load_expected(values[EXPECTED.name], [fixture.test_id for fixture in fixtures])


def _list(fixtures: list[Fixture]) -> int:
    from nexus_mcp.log import printable

    for fixture in fixtures:
        print(f"{fixture.test_id}  {fixture.level}  {printable(', '.join(fixture.tools))}")
    return exits.OK


def _write(values: Values, screen: Screen, found: RunResult) -> list[str]:
    """Write the reports and the list of failures; return the faults. After a fault the next file is still written."""
    from nexus_mcp.conformance.report import expected, files

    faults = []
    for path in values.lists[REPORT.name]:
        try:
            files.write(REPORT.name, path, files.kind(path)(found))
            screen.line(f"written: {path}", "dim")
        except HarnessFault as fault:
            faults += fault.faults
    if WRITE_EXPECTED.name in values:
        try:
            screen.line(expected.write(WRITE_EXPECTED.name, values[WRITE_EXPECTED.name], found))
        except HarnessFault as fault:
            faults += fault.faults
    return faults


COMMAND = Command(
    "run",
    "run the fixtures against a server",
    "Runs every fixture in an empty project of its own and reports the differences.\n"
    "Without --server and --url the target is nexus-mcp itself, in memory.\n"
    "Exit code 0: only expected failures failed; 1: another fixture failed, an\n"
    "expected failure passed, or a folder of the run could not be deleted; 2: the\n"
    "server could not be judged.",
    (SERVER, URL, SERVED, TOOL_PREFIX, *ASKING, *SELECTING, LIST, JOBS, MAX, SUMMARY, VERBOSE, REPORT, *LISTS),
    run,
    examples=(
        ("nexus-mcp conformance run", "run the suite against this nexus-mcp"),
        ("nexus-mcp conformance run --server 'node server.js' --tool-prefix nx_", "run it against another server"),
        (
            "nexus-mcp conformance run --write-expected-failures known.yml",
            "list what fails today",
        ),
        ("nexus-mcp conformance run --only 'plan_*' --report result.json", "run some fixtures, and write a report"),
    ),
)
