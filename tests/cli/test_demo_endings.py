"""`nexus-mcp demo` ends early without a reader, without stdout, or at a signal."""

from __future__ import annotations

import fcntl
import signal
import subprocess
from pathlib import Path

import pytest

from nexus_mcp.cli.options import Command
from tests.cli.support import COMMAND, LIMIT, environment, every_command


def needed(command: Command) -> list[str]:
    """Return valid arguments for the command, as many as it requires."""
    if command.argument is None:
        return []
    known = list(command.argument.choices)[:1]
    return known or ["file"] * command.argument.least


# Each with the arguments that it needs.
PRINTING = [
    ["--help"],
    ["--version"],
    *(
        [*words, *needed(command)]
        for words, command in every_command()
        if isinstance(command, Command) and words != ("serve",)
    ),
]


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """Where the demo makes its project."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


def begun(temporary: Path) -> subprocess.Popen[bytes]:
    """A demo in the middle: its first call was printed, and its pipe is too small for the rest."""
    process = subprocess.Popen(
        [*COMMAND, "demo"],
        env=environment({"TMPDIR": str(temporary)}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,  # nothing more is taken out than the lines looked at
        pipesize=4096,
    )
    assert process.stdout is not None
    assert fcntl.fcntl(process.stdout, fcntl.F_GETPIPE_SZ) == 4096
    while not process.stdout.readline().startswith(b"plan_start"):
        assert process.poll() is None
    return process


def test_closed_reader_ends_the_demo_with_141(temporary: Path) -> None:
    """A reader that closes the pipe ends the demo with 141, without a message and without a folder left."""
    process = begun(temporary)
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, err, list(temporary.iterdir())) == (141, b"", [])


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["INT", "TERM", "HUP"]
)
def test_signal_sets_exit_code_and_removes_project(temporary: Path, number: int, code: int) -> None:
    """A signal ends the demo with the code that shells have for it, and the temporary project is removed."""
    process = begun(temporary)
    process.send_signal(number)
    out, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, err, list(temporary.iterdir())) == (code, b"", [])
    assert b"is deleted" in out


@pytest.mark.parametrize("argv", PRINTING, ids=" ".join)
def test_closed_stdout_is_reported_in_one_line(temporary: Path, argv: list[str]) -> None:
    """A command that prints does nothing if stdout is closed, and reports that in one line."""
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *COMMAND, *argv],
        cwd=temporary,
        env=environment({"TMPDIR": str(temporary)}),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    message = "nexus-mcp: There is no output to print to. Start it again without closing stdout.\n"
    assert (done.returncode, done.stderr) == (1, message)
    assert list(temporary.iterdir()) == []
