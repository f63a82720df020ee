"""The two parts of the tests: `make test` runs the short one, `make test-long` the long one; CI runs both.

Without the option `--part`, pytest runs the tests of both parts. A long test starts many processes: whole runs, servers
over HTTP, kills at each step. The short part has unit tests of the same code, in most folders; tests/test_parts.py
names the folders without.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

Part = Literal["short", "long"]
PARTS: tuple[Part, ...] = ("short", "long")
TESTS = Path(__file__).parent

LONG: dict[str, str] = {
    "adding": "copies the tree once for each file that a new tool, event or check needs",
    "board/test_command.py": "the command of the board, started for each test",
    "cli/test_completion_shells.py": "three shells, each with every command",
    "cli/test_conformance_faults.py": "the runner of the suite as a command, with faulty arguments and servers",
    "cli/test_conformance_run.py": "the runner of the suite as a command",
    "cli/test_demo.py": "whole demos",
    "cli/test_demo_endings.py": "a demo that is ended at each step",
    "cli/test_look_back_screens.py": "each view at each width",
    "cli/test_screens.py": "each view at each width",
    "conformance/test_executor.py": "the fixtures for executors, with our executor and faulty ones",
    "conformance/test_hostile.py": "servers that attack the runner of the suite",
    "conformance/test_miniatures.py": "wrong servers, each started as a process",
    "conformance/test_pytest_plugin.py": "pytest in pytest, with a server for each fixture",
    "contract/test_crashes.py": "a kill at each step of each call",
    "contract/test_journal.py": "each call after each interrupted one",
    "deploy": "nginx and Caddy before a server, and the steps of the container file",
    "differential": "the same requests to two servers",
    "doctor/test_interrupted.py": "each check after each interrupted call",
    "examples/test_action.py": "the GitHub Action, step by step",
    "harness/test_any_config.py": "installations into configurations of any content",
    "harness/test_killed_install.py": "an installation that is killed at each step",
    "lifecycle/test_fixtures.py": "each fixture of an event, as a command",
    "merging/test_git.py": "whole merges by git",
    "merging/test_git_conflicts.py": "whole merges by git",
    "merging/test_git_restore.py": "whole merges by git",
    "mutation": "mutants of our own modules",
    "packaging": "a wheel, built and installed",
    "pages": "the commands of all pages",
    "quoting/test_hostile_texts.py": "each text that is shown, with hostile content",
    "reliability/test_quick.py::test_planted_fault_is_detected": "a planted fault for each kind of loss",
    "run/test_bad_input.py": "whole runs",
    "run/test_command.py": "whole runs, as commands",
    "run/test_dead_executor.py": "whole runs that are killed",
    "run/test_environment.py": "whole runs",
    "run/test_final_merge.py": "whole runs",
    "run/test_guards.py": "whole runs",
    "run/test_hostile.py": "whole runs with hostile agents",
    "run/test_left_behind.py": "whole runs that leave processes",
    "run/test_pool.py": "whole runs, for each state of a worktree",
    "run/test_requests.py": "whole runs",
    "run/test_terminal.py": "whole runs on a terminal",
    "run/test_trigger_runs.py": "whole runs with questions",
    "server/http/oauth/test_flow.py": "servers over HTTP with an authorization server",
    "server/http/test_bad_input.py": "servers over HTTP that refuse to start",
    "server/http/test_process.py": "servers over HTTP, started and ended",
    "server/otel/test_process.py": "servers with a collector",
}
"""Folder, module or test below tests/ -> why it is long."""


def add_option(parser: pytest.Parser) -> None:
    """Add `--part` to the options of pytest."""
    parser.addoption("--part", choices=PARTS, help="run only the short or the long tests (tests/parts.py)")


def is_ignored(path: Path, part: Part | None) -> bool:
    """Return whether a folder or module has no test of the part. Pytest then does not import it."""
    if part is None or not path.is_relative_to(TESTS) or path == TESTS:
        return False
    name = path.relative_to(TESTS).as_posix()
    if part == "short":
        return _is_long(name)
    return path.suffix == ".py" and path.name.startswith("test_") and not (_is_long(name) or _has_long(name))


def is_long(item: pytest.Item) -> bool:
    """Return whether a test is one of the long part."""
    name = item.path.relative_to(TESTS).as_posix()
    test = item.nodeid.partition("::")[2].partition("[")[0]
    return _is_long(name) or f"{name}::{test}" in LONG


def _is_long(name: str) -> bool:
    return any(name == entry or name.startswith(f"{entry}/") for entry in LONG)


def _has_long(name: str) -> bool:
    return any(entry.startswith(f"{name}::") for entry in LONG)
