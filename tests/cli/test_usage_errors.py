"""Wrong command lines and environments: exit code 2, one line on stderr, nothing on stdout."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nexus_mcp.cli.workspace_options import check_prefix
from tests.cli.support import COMMAND, environment, nexus
from tests.support import Project

LEVELS = "debug, info, warning, error"
SERVE = ("--project", "--harness-id", "--tool-prefix", "--log-level", "--sdk")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["srve"], "There is no command 'srve'; did you mean serve? See nexus-mcp --help."),
        (["xyzzy"], "There is no command 'xyzzy'. See nexus-mcp --help."),
        (["LOG"], "There is no command 'LOG'; did you mean log? See nexus-mcp --help."),
        (["repair"], "There is no command 'repair'; did you mean history repair? See nexus-mcp --help."),
        (["usage", "log"], "There is no command 'usage'; did you mean nexus-mcp help log? See nexus-mcp --help."),
        (["capab"], "There is no command 'capab'; did you mean capabilities? See nexus-mcp --help."),
        (["conf"], "There is no command 'conf'; did you mean conformance? See nexus-mcp --help."),
        (["complete"], "There is no command 'complete'; did you mean completion? See nexus-mcp --help."),
        (["note"], "There is no command 'note'; did you mean memory add? See nexus-mcp --help."),
        (["log 3"], "There is no command 'log 3'; did you mean log 3, without quotation marks? See nexus-mcp --help."),
        (
            ["[pln] x"],
            "There is no command '[pln] x': a message with a tag follows a command, nexus-mcp route or nexus-mcp act. "
            "[pln] is no tag; did you mean [plan]? See nexus-mcp --help.",
        ),
        (
            ["[pln]"],
            "There is no command '[pln]': a message with a tag follows a command, nexus-mcp route or nexus-mcp act. "
            "[pln] is no tag; did you mean [plan]? See nexus-mcp --help.",
        ),
        (
            ["[plan]", "a", "shop"],
            "There is no command '[plan]': a message with a tag follows a command, nexus-mcp route or nexus-mcp act. "
            "See nexus-mcp --help.",
        ),
        (
            ["history", "7d"],
            "nexus-mcp history has no command '7d'; did you mean nexus-mcp history --since 7d? "
            "See nexus-mcp history --help.",
        ),
        (
            ["history", "last"],
            "nexus-mcp history has no command 'last'; did you mean nexus-mcp history show last? "
            "See nexus-mcp history --help.",
        ),
        (["report", "7d"], "nexus-mcp report takes no argument '7d'; did you mean --since 7d?"),
        (["report", "2026-11-03"], "nexus-mcp report takes no argument '2026-11-03'; did you mean --since 2026-11-03?"),
        (["tasks", "engineer"], "nexus-mcp tasks takes no argument 'engineer'; did you mean --owner engineer?"),
        (["tasks", "ready"], "nexus-mcp tasks takes no argument 'ready'; did you mean --ready?"),
        (["ready"], "There is no command 'ready'; did you mean tasks --ready? See nexus-mcp --help."),
        (["watch"], "There is no command 'watch'; did you mean status --watch? See nexus-mcp --help."),
        (["find", "x"], "There is no command 'find'; did you mean history search? See nexus-mcp --help."),
        (["version"], "There is no command 'version'; did you mean --version? See nexus-mcp --help."),
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
        (
            ["log", "-v"],
            "nexus-mcp log has no option '-v'; did you mean nexus-mcp --version? See nexus-mcp log --help.",
        ),
        (
            ["serve", "-v"],
            "nexus-mcp serve has no option '-v'; did you mean --log-level debug? See nexus-mcp serve --help.",
        ),
        (
            ["log", "--verbose"],
            "nexus-mcp log has no option '--verbose'; choose from --number, -n, --json, --project. "
            "See nexus-mcp log --help.",
        ),
        (
            ["log", "--last", "3"],
            "nexus-mcp log has no option '--last'; did you mean --number? See nexus-mcp log --help.",
        ),
        (
            ["undo", "-n", "2"],
            "nexus-mcp undo has no option '-n'; did you mean nexus-mcp undo N? See nexus-mcp undo --help.",
        ),
        (["init", "--hlep"], "nexus-mcp init has no option '--hlep'; did you mean --help? See nexus-mcp init --help."),
        (["init", "codex"], "nexus-mcp init takes no argument 'codex'; did you mean --harness-id codex?"),
        (
            ["undo", "--dryrun"],
            "nexus-mcp undo has no option '--dryrun'; did you mean --dry-run? See nexus-mcp undo --help.",
        ),
        (
            ["undo", "--dry_run"],
            "nexus-mcp undo has no option '--dry_run'; did you mean --dry-run? See nexus-mcp undo --help.",
        ),
        (
            ["install", "--harness", "codex"],
            "nexus-mcp install has no option '--harness'; did you mean nexus-mcp install HARNESS? "
            "See nexus-mcp install --help.",
        ),
        (
            ["install", "codex", "--user"],
            "nexus-mcp install has no option '--user'; did you mean --scope user? See nexus-mcp install --help.",
        ),
        (
            ["install", "codex", "--global"],
            "nexus-mcp install has no option '--global'; did you mean --scope user? See nexus-mcp install --help.",
        ),
        (
            ["install", "claude"],
            "nexus-mcp install has no HARNESS 'claude'; did you mean claude-code? See nexus-mcp install --help.",
        ),
        (
            ["install", "--frobnicate"],
            "nexus-mcp install has no option '--frobnicate'. See nexus-mcp install --help.",
        ),
        (
            ["hook", "pre-tool-use"],
            "nexus-mcp hook has no EVENT 'pre-tool-use'; did you mean pre_tool_use? See nexus-mcp hook --help.",
        ),
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
        (["s\nv\x1b"], "There is no command 's\\nv\\x1b'. See nexus-mcp --help."),
        (
            ["--porject", "x"],
            "nexus-mcp has no option '--porject'; did you mean --project or --projects? See nexus-mcp --help.",
        ),
        (
            ["demo", "--quick"],
            "nexus-mcp demo has no option '--quick'; choose from --keep. See nexus-mcp demo --help.",
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
            "The tool prefix 'a b' is not usable: it must be a letter, then letters, digits, _ and -, at most 32 in "
            "all. Example: --tool-prefix nx_",
        ),
        (
            ["serve", "--harness-id", "../x"],
            "The harness id '../x' is not usable: a harness id starts with a-z and goes on with a-z, 0-9 and -. "
            "Example: --harness-id claude-code",
        ),
    ],
)
def test_usage_error_is_one_line(argv: list[str], message: str) -> None:
    """A usage error is one line, and the exit code is 2."""
    assert nexus(*argv) == (2, "", f"nexus-mcp: {message}\n")


def test_suggested_command_exists() -> None:
    """A name of another program is none of our commands, and a command of its row exists."""
    from nexus_mcp.cli import COMMANDS, hints

    for word, meant in hints._COMMANDS_ELSEWHERE.items():
        assert word not in COMMANDS, word
        assert any(one.startswith("-") or hints._exists(one, COMMANDS) for one in meant), word


def test_name_of_a_command_wins_over_other_programs() -> None:
    """Once there is a command of the name, its wrong spellings lead to it."""
    from nexus_mcp.cli import COMMANDS, hints

    for word in ("status", "tasks"):
        error = hints.no_command(word.upper(), (), {**COMMANDS, word: COMMANDS["log"]})
        assert f"; did you mean {word}?" in str(error)


def test_help_before_a_command_explains_it() -> None:
    """--help before a command prints the help of the command."""
    assert nexus("--help", "log") == nexus("-h", "log") == nexus("log", "--help")


@pytest.mark.parametrize("command", ["route", "act"])
@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("[pln] a shop", "[pln] is no tag; did you mean [plan]?"),
        ("first [ruel:a] b", "[ruel] is no tag; did you mean [rule]?"),
        ("[memory] x", "[memory] is no tag; did you mean [m]?"),
        ("[pln:auto] and [PLN] x", "[pln] is no tag; did you mean [plan]?"),
    ],
)
def test_mistyped_tag_suggests_the_right_one(project: Project, command: str, message: str, hint: str) -> None:
    """A bracket that is nearly a tag gets a line with the tag, once."""
    ran = nexus(command, message, cwd=project.root)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[1:] == [hint]


@pytest.mark.parametrize("message", ["`[pln]` x", "[pln](a) x", "[see page 3] x", "[ok] a[pln]", "\\[pln] x", "[x] a"])
def test_bracket_that_is_no_mistyped_tag_gets_no_hint(project: Project, message: str) -> None:
    """Code, links and other words in brackets are left alone."""
    assert nexus("route", message, cwd=project.root).out == "The message has no tag.\n"


def test_json_of_a_mistyped_tag_has_no_hint(project: Project) -> None:
    """The hint is for people: the object for programs stays one line."""
    assert len(nexus("route", "--json", "[pln] x", cwd=project.root).out.splitlines()) == 1


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
