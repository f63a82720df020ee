"""Valid, malformed and hostile lines for the stdio loop: each is answered once, or dropped by a rule.

corpus.py has lines as clients send them, mutations.py changes them, scripts.py makes conversations of both, and
hostile.py has the most expensive lines. conversations.py sends the lines to a server. reference_reader.py and
dialogue.py compute the answers that docs/wire.md promises, and matching.py compares them with the real ones.
coverage_guided.py generates more lines with a coverage-guided fuzzer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nexus_mcp import log
from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
from tests.reliability.mutants import answers
from tests.reliability.suite import Piece, Suite, Tally
from tests.reliability.suites.frames import coverage_guided, hostile
from tests.reliability.suites.frames.conversations import Hung, Process, converse
from tests.reliability.suites.frames.matching import faults
from tests.reliability.suites.frames.scripts import conversation, ending

_THREADS, _PROCESSES, _EACH = 60, 40, 10_000
_GUIDED, _RUNS = 8, 25_000
_BATCH = 200
MOST_MEMORY = 200.0  # MB
_PEAK = "MB at most in a server process"


def plan(seed: int, quick: bool) -> Sequence[Any]:
    """Return pieces [kind, the number of frames or the name of the frames]."""
    if quick:
        return [["thread", 300], ["thread", 300], ["hostile", "a byte too long"], ["process", 600]]
    return [
        *(["hostile", kind] for kind in hostile.KINDS),
        *[["guided", _RUNS]] * _GUIDED,
        *[["process", _EACH]] * _PROCESSES,
        *[["thread", _EACH]] * _THREADS,
    ]


def work(piece: Piece) -> Tally:
    kind, frames = piece.item
    return _KINDS[kind](piece, frames)


def _on_threads(piece: Piece, frames: int) -> Tally:
    """Hold short conversations, each on a thread of this process; many, because each has its own beginning."""
    log.set_level("error")
    tally = Tally()
    app = App(Workspace(str(piece.folder), "nexus-mcp"))
    while tally.counts["frames"] < frames and not tally.failures:
        rng, number = piece.rng, tally.counts["connections"]
        lines = [*conversation(rng, rng.randrange(1, 60), number), *ending(number)[0]]
        data = b"\n".join(lines) + b"\n" * (rng.random() < 0.7)
        tally.counts["connections"] += 1
        tally.counts["frames"] += len(lines)
        try:
            received = converse(app, data)
        except (Hung, RuntimeError) as error:
            tally.failures.append(f"connection {number}: {error}")
        else:
            tally.counts["responses"] += len(received)
            tally.failures += [f"connection {number}: {told}" for told in faults(lines, received)]
    return tally


def _in_process(piece: Piece, frames: int) -> Tally:
    """Hold one long conversation with a server in a process of its own."""
    return _with_process(piece, conversation(piece.rng, frames, 0))


def _hostile(piece: Piece, kind: str) -> Tally:
    """Send the lines that take the most memory."""
    tally = _with_process(piece, [*hostile.opening(), *hostile.KINDS[kind]()])
    tally.counts["hostile frames"] = tally.counts["frames"]
    return tally


def _with_process(piece: Piece, lines: list[bytes]) -> Tally:
    """Send these lines to a server in a process of its own, in batches, and measure its memory."""
    tally = Tally()
    sent: list[bytes] = []
    received: list[bytes] = []
    try:
        with Process(piece.folder / "project", piece.mutant) as server:
            for number, start in enumerate(range(0, len(lines), _BATCH)):
                last, texts = ending(number)
                batch = [*lines[start : start + _BATCH], *last]
                sent += batch
                received += server.ask(batch, texts)
            tally.peak(_PEAK, server.peak())
            received += server.end(b"")
    except (Hung, RuntimeError) as error:
        tally.failures.append(str(error))
    tally.counts.update(
        {"frames": len(sent), "responses": len(received), "connections": 1, "servers started as a process": 1}
    )
    tally.failures += faults(sent, received)
    if tally.peaks.get(_PEAK, 0) > MOST_MEMORY:
        tally.failures.append(f"the server process took more than {MOST_MEMORY:g} MB: {tally.peaks}")
    return tally


_KINDS: dict[str, Callable[[Piece, Any], Tally]] = {
    "thread": _on_threads,
    "process": _in_process,
    "hostile": _hostile,
    "guided": coverage_guided.run,
}

SUITE = Suite(
    name="frames",
    title="fuzzed lines into the stdio loop",
    goal=("frames", 1_000_000),
    plan=plan,
    work=work,
    mutants=tuple(mutant.name for mutant in answers.MUTANTS),
    seconds=600.0,
    helps={coverage_guided.PROGRAM: f"pip {coverage_guided.PROGRAM}"},
)
