"""Wrong command lines and environments: exit code 2, one line on stderr, nothing on stdout."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nexus_mcp.cli import COMMANDS
from nexus_mcp.cli.workspace_options import check_prefix
from tests.cli.support import COMMAND, environment, nexus

NAMES = ", ".join(COMMANDS)
LEVELS = "debug, info, warning, error"
SERVE = ("--project", "--harness-id", "--tool-prefix", "--log-level", "--sdk")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["srve"], "There is no command 'srve'; did you mean serve? See nexus-mcp --help."),
        (["xyzzy"], f"There is no command 'xyzzy'; there is {NAMES}. See nexus-mcp --help."),
        (["LOG"], "There is no command 'LOG'; did you mean log? See nexus-mcp --help."),
        (["repair"], "There is no command 'repair'; did you mean history repair? See nexus-mcp --help."),
        (["help"], "There is no command 'help'; did you mean --help? See nexus-mcp --help."),
        (["help", "log"], "There is no command 'help'; did you mean nexus-mcp log --help? See nexus-mcp --help."),
        (["version"], "There is no command 'version'; did you mean --version? See nexus-mcp --help."),
        (["status"], "There is no command 'status'; did you mean doctor? See nexus-mcp --help."),
        (
            ["log", "--versoin"],
            "nexus-mcp log has no option '--versoin'; did you mean nexus-mcp --version? See nexus-mcp log --help.",
        ),
        (["--versoin"], "nexus-mcp has no option '--versoin'; did you mean --version? See nexus-mcp --help."),
        (
            ["-v"],
            "nexus-mcp has no option '-v'; did you mean --version or --log-level debug? See nexus-mcp --help.",
        ),
        (["-q"], "nexus-mcp has no option '-q'; did you mean --log-level error? See nexus-mcp --help."),
        (["-H"], "nexus-mcp has no option '-H'; did you mean -h? See nexus-mcp --help."),
        (["log", "3"], "nexus-mcp log takes no argument '3'; did you mean -n 3?"),
        (["log", "-3"], "nexus-mcp log has no option '-3'; did you mean -n 3? See nexus-mcp log --help."),
        (
            ["log", "-V"],
            "nexus-mcp log has no option '-V'; did you mean nexus-mcp --version? See nexus-mcp log --help.",
        ),
        (["doctor", "json"], "nexus-mcp doctor takes no argument 'json'; did you mean --json?"),
        (
            ["history", "help"],
            "nexus-mcp history has no command 'help'; did you mean nexus-mcp history --help? "
            "See nexus-mcp history --help.",
        ),
        (["undo", "-1"], "N needs a number from 1, not '-1'."),
        (["resume", "0"], "TASK-ID needs a number from 1, not '0'."),
        (["resume", "-1"], "TASK-ID needs a number from 1, not '-1'."),
        (["brief", "9" * 16], "TASK-ID needs a number from 1 to 999999999999999, not '9999999999999999'."),
        (["conformance", "run", "-j0"], "--jobs needs a number from 1, not '0'."),
        (["conformance", "run", "-j", "10000"], "--jobs needs a number from 1 to 9999, not '10000'."),
        (["s\nv\x1b"], f"There is no command 's\\nv\\x1b'; there is {NAMES}. See nexus-mcp --help."),
        (["--porject", "x"], "nexus-mcp has no option '--porject'; did you mean --project? See nexus-mcp --help."),
        (
            ["demo", "--quick"],
            "nexus-mcp demo has no option '--quick'; there is --keep. See nexus-mcp demo --help.",
        ),
        (
            ["--sdk", "serve"],
            "nexus-mcp takes no argument 'serve': a command comes first, then its options.",
        ),
        (["serve", "--log-level", "loud"], f"--log-level is one of {LEVELS}, not 'loud'."),
        (["--log-level"], "--log-level needs a value: --log-level LEVEL."),
        (["serve", "--project", "gone"], "--project: 'gone' is not a folder. Name an existing project folder."),
        (["init", "--project="], "--project: '' is not a folder. Name an existing project folder."),
        (
            ["serve", "--tool-prefix", "a b"],
            "The tool prefix 'a b' is not usable: a letter, then letters, digits, _ and -, at most 32 in all. "
            "Example: --tool-prefix nx_",
        ),
        (
            ["serve", "--harness-id", "../x"],
            "The harness id '../x' is not usable: it starts with a-z and goes on with a-z, 0-9 and -. "
            "Example: --harness-id claude-code",
        ),
    ],
)
def test_usage_error_is_one_line(argv: list[str], message: str) -> None:
    """A usage error is one line, and the exit code is 2."""
    assert nexus(*argv) == (2, "", f"nexus-mcp: {message}\n")


@pytest.mark.parametrize("argv", [[], ["serve"], ["init"]])
def test_bad_root_variable_is_refused(argv: list[str]) -> None:
    """A root variable that names no folder ends the command with one line."""
    assert nexus(*argv, env={"NEXUS_PROJECT_ROOT": "gone"}) == (
        2,
        "",
        "nexus-mcp: NEXUS_PROJECT_ROOT: 'gone' is not a folder. Name an existing project folder.\n",
    )


def test_bad_log_variable_is_refused() -> None:
    """A log level from the environment is checked like the option."""
    ran = nexus("serve", env={"NEXUS_LOG": "loud"})
    assert ran == (2, "", f"nexus-mcp: NEXUS_LOG is one of {LEVELS}, not 'loud'.\n")


def test_log_option_wins_over_the_variable() -> None:
    """The level on the command line wins over the variable."""
    assert nexus("serve", "--log-level", "error", env={"NEXUS_LOG": "loud"}) == (0, "", "")


def test_empty_variables_are_ignored() -> None:
    """Empty variables are no fault."""
    assert nexus("serve", env={"NEXUS_LOG": "", "NEXUS_PROJECT_ROOT": ""}) == (0, "", "")


def test_deleted_working_directory_is_reported_in_one_line(tmp_path: Path) -> None:
    """A deleted working directory is reported in one line."""
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *COMMAND, "serve"],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    message = "The working directory is gone. Change to a folder that exists, then start again."
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"nexus-mcp: {message}\n")


@pytest.mark.parametrize("prefix", ["", "nx_", "a", "A-b_9", "a" * 32])
def test_prefix_has_letters_digits_and_hyphens(prefix: str) -> None:
    """A prefix is empty, or a letter followed by letters, digits, underscores and hyphens."""
    assert check_prefix(prefix) == prefix
