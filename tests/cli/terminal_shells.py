"""Real shells with the completion script: bash and zsh at a terminal; fish prints what it would complete."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.support import CHECKOUT, LIMIT, environment, nexus

SHELLS = ("bash", "zsh", "fish")
TAB, ALL, LIST = b"\t", b"\x14", b"\x18"
"""The keys that complete a word, insert every completion, and list them."""
_READY, _SHOWN = b"READY> ", b"SHOWN"
_SHOW = "show() {{ printf '%s\\0' \"$@\" >{out}; printf 'SHO''WN\\n'; }}\nPS1='REA''DY> '\n"
_RC = {
    "bash": r"""
bind 'set enable-bracketed-paste off'
bind '"\C-t": insert-completions'
bind '"\C-x": possible-completions'
source {script}
""",
    "zsh": r"""
autoload -Uz compinit
compinit -u -d {home}/dump
bindkey -e
unset zle_bracketed_paste
zle -C all-matches complete-word _generic
zstyle ':completion:all-matches:*' completer _all_matches _complete
zstyle ':completion:all-matches:*' insert true
bindkey '^T' all-matches
bindkey '^X' list-choices
source {script}
""",
}
_START = {"bash": ["--noprofile", "--rcfile", "{rc}", "-i"], "zsh": ["-i"]}


class Shell:
    """A shell in `cwd`, in which `nexus-mcp` is this checkout's. `screen` has the bytes that it last wrote."""

    def __init__(self, name: str, home: Path, cwd: Path) -> None:
        program = shutil.which(name)
        if program is None:
            pytest.skip(f"{name} is not installed here, so completion in it was not tried; .ci/run installs it")
        self.program, self.name, self.home, self.cwd = program, name, home, cwd
        self.screen = b""
        self.script = home / f"script.{name}"
        self.environment = environment(
            {
                **dict.fromkeys(("HOME", "ZDOTDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), str(home)),
                "PATH": f"{home / 'bin'}:{os.environ['PATH']}",
                "PYTHONPATH": str(CHECKOUT),
                "TERM": "dumb" if name == "zsh" else "xterm",
            }
        )
        self._out = home / "out"
        self._process: subprocess.Popen[bytes] | None = None
        self._terminal = -1
        starter = home / "bin" / "nexus-mcp"
        starter.parent.mkdir(parents=True)
        starter.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m nexus_mcp "$@"\n')
        starter.chmod(0o755)
        self.script.write_text(nexus("completion", name).out)

    def all(self, line: str) -> list[str]:
        """Return every word that the shell offers for the last word of the line."""
        if self.name == "fish":
            return [row.partition("\t")[0] for row in self.rows(line)]
        before = len(shlex.split(line.rpartition(" ")[0]))
        found = self.press(line, ALL)[before:]
        return [] if found == [line.rpartition(" ")[2]] else found

    def listing(self, line: str) -> str:
        """Return the list that the shell shows for the last word of the line."""
        if self.name == "fish":
            return "\n".join(self.rows(line))
        self.press(line, LIST)
        return self.screen.decode()

    def rows(self, line: str) -> list[str]:
        """Return what fish offers: each word, a tab and its description."""
        done = subprocess.run(
            [self.program, "-c", f"source {self.script}; complete -C $argv[1]", line],
            cwd=self.cwd,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=True,
        )
        assert done.stderr == ""
        return done.stdout.splitlines()

    def press(self, line: str, key: bytes) -> list[str]:
        """Type the line and the key; return the words of the command line after that, as the shell reads them."""
        if self._process is None:
            self._start()
        self._out.unlink(missing_ok=True)
        # Ctrl-A puts a function before the line, which prints the words, so that nothing else runs.
        os.write(self._terminal, line.encode() + key + b"\x01show \r")
        self.screen = self._read_until(_SHOWN) + self._read_until(_READY)
        return self._out.read_text().split("\0")[:-1]

    def close(self) -> None:
        """End the shell."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(LIMIT)
            os.close(self._terminal)
            self._process = None

    def _start(self) -> None:
        rc = self.home / (".zshrc" if self.name == "zsh" else "rc")
        paths = {"script": self.script, "out": self._out, "home": self.home}
        rc.write_text((_RC[self.name] + _SHOW).format(**{key: shlex.quote(str(path)) for key, path in paths.items()}))
        self._terminal, slave = pty.openpty()
        self._process = subprocess.Popen(
            [self.program, *(word.format(rc=rc) for word in _START[self.name])],
            cwd=self.cwd,
            env=self.environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._read_until(_READY)

    def _read_until(self, end: bytes) -> bytes:
        seen = b""
        while end not in seen:
            assert select.select([self._terminal], [], [], LIMIT)[0], f"{self.name} is silent after {seen!r}"
            seen += os.read(self._terminal, 1)
        return seen
