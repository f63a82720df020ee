"""Measure the wall time of a tool call in the real clients, with and without our hooks.

    python -m benchmarks.hooks_in_clients [CLIENT…] [--page]

Each client runs once for each way of installing, all at the same time, with the scripted model of tests/e2e, offline.
In each round each client makes CALLS calls of task_update, one client after the other. A call lasts from a request of
the client to its next request. The result has the medians over the rounds of the median of each round. It is written to
benchmarks/results/hooks-in-clients.json and to the table of docs/performance-details.md; --page writes
only the table.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.client import ROOT
from tests.e2e import claude_code, codex, opencode
from tests.e2e.clients import cache_folder, listed
from tests.e2e.isolated import given_programs, run_isolated
from tests.e2e.model.conversation import Conversation
from tests.e2e.model.script import Turn
from tests.e2e.model.server import Model
from tests.e2e.scratch import Scratch

RESULT = results.FOLDER / "hooks-in-clients.json"
PAGE = ROOT / "docs" / "performance-details.md"
BEGIN, END = "<!-- hooks in clients -->\n", "<!-- /hooks in clients -->"
ROUNDS, CALLS = 7, 8
WITHOUT, WITH, FAST = "without hooks", "with hooks", "with --fast-hooks"
_SERVER, _HOOKS = ("--with", "server"), ("--with", "server,hooks")
WAYS: dict[str, dict[str, tuple[str, ...]]] = {
    claude_code.ID: {WITHOUT: _SERVER, WITH: _HOOKS, FAST: (*_HOOKS, "--fast-hooks")},
    codex.ID: {WITHOUT: _SERVER, WITH: _HOOKS},
    opencode.ID: {WITHOUT: _SERVER, WITH: _HOOKS},
}
"""Client → way of installing → options of `install`."""
_GO, _DONE = "MAKE-THE-CALLS", "DONE"
Ask = Callable[[str], str]


class Watch:
    """The turns of one client: each calls a tool, and records the time of the request."""

    def __init__(self) -> None:
        self._arrivals: list[float] = []

    def steps(self) -> list[Callable[[Conversation], Turn]]:
        """Return CALLS turns that call a tool, and one that ends."""
        return [self._note({"tool": "task_update", "input": self._input(n)}) for n in range(CALLS)] + [
            self._note({"text": _DONE})
        ]

    def _input(self, number: int) -> dict[str, Any]:
        return {"id": 1, "status": ("in_progress", "pending")[number % 2]}

    def _note(self, turn: Turn) -> Callable[[Conversation], Turn]:
        def step(_conversation: Conversation) -> Turn:
            self._arrivals.append(time.perf_counter())
            return turn

        return step

    def take_median_ms(self) -> float:
        """Return the median of the last CALLS calls, in ms, and forget them. Raise ValueError for another number."""
        arrivals, self._arrivals = self._arrivals, []
        if len(arrivals) != CALLS + 1:
            raise ValueError(f"{len(arrivals)} requests came, not {CALLS + 1}")
        return statistics.median((b - a) * 1000 for a, b in pairwise(arrivals))


def measure(client: str, program: Path, rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Return way of installing → the median of each round, in milliseconds."""
    found: dict[str, list[float]] = {way: [] for way in WAYS[client]}
    with ExitStack() as stack:
        running = {}
        for way, options in WAYS[client].items():
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=cache_folder())))
            running[way] = _start(stack, client, program, Scratch(folder), options)
        for number in range(rounds + 1):
            for way, (ask, watch) in running.items():
                ask(_GO)
                median = watch.take_median_ms()
                if number:  # the first round warms up
                    found[way].append(round(median, 1))
    return found


def _start(stack: ExitStack, client: str, program: Path, scratch: Scratch, options: Sequence[str]) -> tuple[Ask, Watch]:
    """Install with these options and start the client. Return a function that sends it a message, and its watch."""
    model, watch = stack.enter_context(Model()), Watch()
    model.script.on(_GO, *watch.steps())
    scratch.call("task_add", title="Measured", context="c")
    if client == claude_code.ID:
        claude = claude_code.ClaudeCode(program, scratch, model)
        claude.install(*options)
        return stack.enter_context(claude.session()).ask, watch
    if client == codex.ID:
        other = codex.Codex(program, scratch, model)
        other.install(*options)
        if "hooks" in options[1]:
            other.trust()
        return stack.enter_context(other.session()).ask, watch
    third = opencode.OpenCode(program, scratch, model)
    third.install(*options)
    return stack.enter_context(third.serve()).session().ask, watch


def table(measured: Mapping[str, Any]) -> str:
    """Return the table of the page, and the sentence about the machine."""
    ways = (WITHOUT, WITH, FAST)
    lines = [f"| one tool call (ms) | {' | '.join(ways)} |", "| --- | --: | --: | --: |"]
    for client, row in measured["clients"].items():
        without = row["rounds"][WITHOUT]
        cells = []
        for way in ways:
            values = row["rounds"].get(way)
            if values is None:
                cells.append("not offered")
            elif way == WITHOUT:
                cells.append(f"{statistics.median(values):.0f}")
            else:
                more = statistics.median(a - b for a, b in zip(values, without, strict=True))
                cells.append(f"{statistics.median(values):.0f} ({more:+.0f})")
        lines.append(f"| {listed()[client].title} {row['version']} | {' | '.join(cells)} |")
    machine = measured["machine"]
    text = (
        f"Measured {measured['begun']} on {machine['system']} with {machine['cores']} cores, where other programs ran "
        f"beside it (load {machine['load']} at the start): absolute times are larger than on a quiet machine. "
        f"Medians of {measured['shape']['rounds']} rounds of {measured['shape']['calls']} calls; in parentheses the "
        "median difference within a round."
    )
    return "\n".join([*lines, "", text])


def write_page(measured: Mapping[str, Any]) -> None:
    """Write the table into the page. Raise ValueError if the page has no place for it."""
    text = PAGE.read_text(encoding="utf-8")
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} has no {BEGIN.strip()} … {END}")
    PAGE.write_text(f"{head}{begin}{table(measured)}\n{end}{tail}", encoding="utf-8")


def main(words: list[str]) -> int:
    """Measure the named clients, by default all; the rows of the others stay."""
    if words == ["--page"]:
        write_page(results.read(RESULT))
        return 0
    programs = given_programs()
    if not programs:
        return run_isolated("benchmarks.hooks_in_clients", words, WAYS)
    before = results.read(RESULT) if RESULT.exists() else {"clients": {}}
    begun = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    machine = {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }
    clients = dict(before["clients"])
    for client, program in programs.items():
        clients[client] = {"version": listed()[client].version, "rounds": measure(client, program)}
        print(client, {way: statistics.median(values) for way, values in clients[client]["rounds"].items()})
    found = {
        "begun": begun,
        "machine": machine,
        "shape": {"rounds": ROUNDS, "calls": CALLS},
        "clients": {client: clients[client] for client in WAYS if client in clients},
    }
    results.write(RESULT, found)
    write_page(found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
