"""`nexus-mcp conformance run` and `compare`, as processes."""

from __future__ import annotations

import json
import shlex
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from nexus_mcp import schemas
from tests.cli.support import COMMAND, LIMIT, Ran, environment, nexus, nexus_on_terminal
from tests.forked_commands import warm

SERVE = shlex.join((*COMMAND, "serve"))
SELECTION = "; level robust (selection)"
HOOK = shlex.join((*COMMAND, "hook", "{type}"))


def fixture(test_id: str, number: int, **more: Any) -> dict[str, Any]:
    """A fixture that holds when `number` is 1."""
    return {
        "test_id": test_id,
        "description": "The first task has this number.",
        "action": {"tool": "task_add", "params": {"title": "T", "context": "C"}},
        "postcondition": {"return_value": {"$.task.id": number}},
        **more,
    }


GOOD = fixture("add_good", 1)
BAD = fixture("add_bad", 7)
SPAWN = {
    "test_id": "spawn",
    "description": "An agent that is spawned is in the tracker.",
    "event": {"type": "agent_spawn", "params": {"agent_name": "engineer", "agent_id": "a1"}},
    "postcondition": {"state_files": {"{STATE_ROOT}/{HARNESS_ID}/agent-tracker.json": {"$.length": 1}}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory with two suites and expected failures."""
    (tmp_path / "good.json").write_text(json.dumps([GOOD, SPAWN]))
    (tmp_path / "mixed.json").write_text(json.dumps([GOOD, BAD]))
    (tmp_path / "known.yml").write_text("add_bad: seven is too many\n")
    (tmp_path / "healed.yml").write_text("add_bad: x\nadd_good: was slow once\n")
    return tmp_path


# A client of the SDK, that is a second of imports, which the tests of the terminal and of the target in memory pay.
CLIENT = ("mcp", "rich.console", "nexus_mcp.server.sdk", "nexus_mcp.cli.conformance", "nexus_mcp.conformance.runner")


def run(folder: Path, suite: str, *options: str) -> Ran:
    """`nexus-mcp conformance run` in a fork of a process that has imported it."""
    return conformance(folder, "run", "--fixtures", suite, *options)


def conformance(folder: Path, *words: str) -> Ran:
    ran = warm("nexus_mcp.cli", ("conformance", *words), preload=CLIENT, cwd=folder, env=environment(), limit=LIMIT)
    return Ran(*ran)


def last(ran: Ran) -> str:
    return ran.out.splitlines()[-1]


def test_own_tools_are_tested_in_memory(folder: Path) -> None:
    """Without a target our own tools are tested in memory; fixtures that need a process are counted with the reason."""
    ran = nexus("conformance", "run", "--fixtures", "good.json", cwd=folder)
    assert (ran.code, ran.err) == (0, "")
    assert last(ran) == f"1 passed, 0 failed, 1 not run (1 needs --event-command){SELECTION}"


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--server", SERVE],
        ["--server", f"{SERVE} --tool-prefix nx_", "--tool-prefix", "nx_"],
        ["--tool-prefix", "nx_"],
    ],
)
def test_every_fixture_runs_with_an_event_command(folder: Path, options: list[str]) -> None:
    """With an event command all of it is run, in memory and against a process, with a prefix and without."""
    ran = run(folder, "good.json", "--event-command", HOOK, *options)
    assert (ran.code, ran.err, last(ran)) == (0, "", f"2 passed, 0 failed{SELECTION}")


def test_tool_map_renames_a_tool(folder: Path) -> None:
    """A tool map gives a tool its real name."""
    (folder / "names.yml").write_text("task_add: nx_task_add\n")
    ran = run(
        folder, "mixed.json", "--only", "add_good", "--server", f"{SERVE} --tool-prefix nx_", "--tool-map", "names.yml"
    )
    assert (ran.code, ran.err, last(ran)) == (0, "", f"1 passed, 0 failed{SELECTION}")


def test_failure_shows_expected_and_seen_values(folder: Path) -> None:
    """A failure shows the expected and the actual value, and the exit code is 1."""
    ran = run(folder, "mixed.json")
    assert (ran.code, ran.err) == (1, "")
    assert "✗ add_bad mixed.json" in ran.out
    assert ["answer", "$.task.id", "7", "1"] in [line.split() for line in ran.out.splitlines()]
    assert last(ran) == f"1 passed, 1 failed{SELECTION}"


def test_terminal_output_ends_with_the_counts(folder: Path) -> None:
    """On a terminal the counts are printed last, too."""
    ran = nexus_on_terminal("conformance", "run", "--fixtures", str(folder / "mixed.json"), env={"NO_COLOR": "1"})
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.rstrip().endswith("1 passed, 1 failed; level robust (selection)\x1b[0m")


@pytest.mark.parametrize(
    ("file", "code", "line"),
    [
        ("known.yml", 0, f"1 passed, 0 failed, 1 expected failure{SELECTION}"),
        (
            "healed.yml",
            1,
            f"0 passed, 0 failed, 1 expected failure, 1 expected to fail but passed{SELECTION}",
        ),
    ],
)
def test_expected_failure_does_not_fail_the_run(folder: Path, file: str, code: int, line: str) -> None:
    """A failure that is expected is none; a pass that is expected to be a failure is one."""
    ran = run(folder, "mixed.json", "--expected-failures", file)
    assert (ran.code, ran.err, last(ran)) == (code, "", line)


def test_each_report_is_written_in_its_format(folder: Path) -> None:
    """Each report has the format of its suffix, and all have the same results."""
    names = ("junit.xml", "result.json", "report.html", "badge.json")
    ran = run(folder, "mixed.json", *(word for name in names for word in ("--report", name)))
    assert [line for line in ran.out.splitlines() if line.startswith("written")] == [
        f"written: {name}" for name in names
    ]
    result = json.loads((folder / "result.json").read_text())
    assert list(Draft202012Validator(schemas.load("conformance/result")).iter_errors(result)) == []
    assert result["totals"] == {"passed": 1, "failed": 1, "not_run": 0, "expected_failures": 0, "healed": 0}
    assert ET.fromstring((folder / "junit.xml").read_text()).attrib["failures"] == "1"
    assert '<article id="f-add_bad"' in (folder / "report.html").read_text()
    assert json.loads((folder / "badge.json").read_text())["message"] == f"1/2 passed{SELECTION}"


def test_report_that_cannot_be_written_exits_with_2(folder: Path) -> None:
    """If a report's folder disappears during the run, the fault is printed after the counts, with exit code 2."""
    (folder / "out").mkdir()
    script = f"rmdir {shlex.quote(str(folder / 'out'))}; exec {SERVE}"
    ran = run(folder, "mixed.json", "--report", "out/result.json", "--server", shlex.join(("sh", "-c", script)))
    assert (ran.code, last(ran)) == (2, f"1 passed, 1 failed{SELECTION}")
    assert ran.err == "nexus-mcp: --report out/result.json: could not be written: No such file or directory\n"


@pytest.mark.parametrize(
    "server",
    [
        "/no/such/command",
        "no-such-command-anywhere",
        shlex.join((sys.executable, "-c", "print('hello')")),
        shlex.join((sys.executable, "-c", "import sys; sys.exit(3)")),
    ],
    ids=["no path", "no command", "garbage", "ends at once"],
)
def test_command_that_is_no_server_exits_with_2(folder: Path, server: str) -> None:
    """A command that is no server is reported in one line, with exit code 2; for a missing command the message says
    what to enter.
    """
    ran = run(folder, "mixed.json", "--server", server)
    assert ran.code == 2
    assert ran.out == ""
    first, *advice = ran.err.splitlines()
    assert first.startswith("nexus-mcp: ")
    told = "nexus-mcp: Give the program by its absolute path, or by a name that is on the PATH."
    assert advice == ([told] if "could not be started" in first else [])


def test_compare_reports_where_servers_differ(folder: Path) -> None:
    """Servers with different prefixes are compared, and the differing fixtures are listed."""
    servers = [f"{SERVE} --tool-prefix nx_", f"{SERVE} --sdk --tool-prefix zz_"]
    words = [word for server in servers for word in ("--server", server)]
    ran = conformance(folder, "compare", *words, "--fixtures", "mixed.json", "--json", "both.json")
    assert (ran.code, ran.err) == (1, "")
    assert [line for line in ran.out.splitlines() if line.startswith("task_add")] == ["task_add          ✗ 1/2   ✗ 1/2"]
    assert json.loads((folder / "both.json").read_text())["sections"] == {
        name: [{"passed": 1, "run": 2, "not_run": 0}] * 2 for name in ("task_add", "total")
    }


def test_compare_without_a_server_exits_with_2(folder: Path) -> None:
    """A missing command ends the comparison with exit code 2, and the message says what to enter."""
    ran = conformance(folder, "compare", "--server", SERVE, "--server", "/no/such", "--fixtures", "mixed.json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines() == [
        "nexus-mcp: /no/such could not be started: No such file or directory.",
        "nexus-mcp: Give the program by its absolute path, or by a name that is on the PATH.",
    ]


def test_written_list_makes_the_next_run_pass(folder: Path) -> None:
    """--write-expected-failures writes the failures, and the run fails; with the list the next run passes."""
    ran = run(folder, "mixed.json", "--write-expected-failures", "new.yml")
    assert (ran.code, last(ran)) == (1, f"1 passed, 1 failed{SELECTION}")
    assert "written: new.yml (1 fixture, 1 cause); the next run takes it with --expected-failures new.yml" in ran.out
    ran = run(folder, "mixed.json", "--expected-failures", "new.yml")
    assert (ran.code, ran.out) == (
        0,
        f"1 passed, 0 failed, 1 expected failure (1 not looked at yet){SELECTION}\n",
    )


def test_list_of_failures_is_checked_before_the_run(folder: Path) -> None:
    """A list that exists, and a list of some failures only, are refused before anything runs."""
    ran = run(folder, "mixed.json", "--write-expected-failures", "known.yml")
    assert (ran.code, ran.out) == (2, "")
    assert "known.yml: the file exists." in ran.err
    ran = run(folder, "mixed.json", "--write-expected-failures", "new.yml", "--max-failures", "1")
    assert (ran.code, ran.out, (folder / "new.yml").exists()) == (2, "", False)
