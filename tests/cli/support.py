"""The command line as a process, with pipes or with a terminal."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from nexus_mcp.cli import COMMANDS
from nexus_mcp.cli.options import Command, Group, Values, parse

CHECKOUT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "nexus_mcp")
LIMIT = 60
"""Seconds after which a hanging process fails a test; none of them comes near it."""


class Ran(NamedTuple):
    """The result of a process: exit code, stdout, stderr."""

    code: int
    out: str
    err: str


def every_command() -> list[tuple[tuple[str, ...], Command | Group]]:
    """The words of every command, subcommands and the groups of them included, and the command."""
    found: list[tuple[tuple[str, ...], Command | Group]] = [((name,), load()) for name, load in COMMANDS.items()]
    for words, command in found:  # grows while it is walked
        if isinstance(command, Group):
            found += [((*words, name), load()) for name, load in command.subcommands.items()]
    return found


def name(parameter: object) -> str | None:
    """The id of a test for a command: its words."""
    return " ".join(parameter) if isinstance(parameter, tuple) else ""


def parse_line(line: str) -> tuple[str, Values] | None:
    """Return the command that the last nexus-mcp of a shell line starts, and its values; None for a line without one.

    Pipes and redirections end it. Raise KeyError for an unknown command, UsageError as `parse` does.
    """
    lexer = shlex.shlex(line, posix=True, punctuation_chars="()<>|&;")
    lexer.whitespace_split, lexer.commenters = True, "#"
    words = [*lexer]
    named = [at for at, word in enumerate(words) if word.rpartition("/")[2] == "nexus-mcp"]
    started = [at for at in named if words[at - 1] not in (">", ">>")]
    if not started:
        return None
    start = started[-1] + 1
    end = next((at for at in range(start, len(words)) if not set(words[at]) - set("()<>|&;")), len(words))
    first, *arguments = words[start:end]
    command = COMMANDS[first]()
    name = first
    while isinstance(command, Group):
        if command.default is not None and command.takes(arguments[0] if arguments else ""):
            command = command.default()
            continue
        first, *arguments = arguments
        command, name = command.subcommands[first](), f"{name} {first}"
    return name, parse(arguments, command.options, line, command.argument)


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(CHECKOUT), **(extra or {})}


def nexus(*arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, stdin: str = "") -> Ran:
    """Runs nexus-mcp with pipes at all three ends."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        env=environment(env),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def nexus_on_terminal(*arguments: str, keys: bytes = b"", env: Mapping[str, str] | None = None) -> Ran:
    """Runs nexus-mcp on a terminal of 80 columns that types `keys`; stderr stays a pipe."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        env=environment({"TERM": "xterm", "COLUMNS": "80", **(env or {})}),
        stdin=slave,
        stdout=slave,
        stderr=subprocess.PIPE,
    )
    os.close(slave)
    try:
        if keys:
            os.write(master, keys)
        out = b"".join(iter(lambda: _read(master), b""))
        assert process.stderr is not None
        err = process.stderr.read().decode()
        process.stderr.close()
        return Ran(process.wait(LIMIT), out.decode().replace("\r\n", "\n"), err)
    finally:
        process.kill()
        process.wait(LIMIT)
        os.close(master)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux tells the end of a terminal with EIO
        return b""
