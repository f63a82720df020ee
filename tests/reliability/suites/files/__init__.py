"""Malformed state files: each is read correctly, or refused and left as it is.

projects.py has valid files, mutations.py their mutations; project.py makes calls and records changes in the folder.
reference_reader.py decides which bytes are valid and what they mean; answers.py and changes.py compute the results that
the tools have to give. sessions.py, agents.py, oplog.py and unfinished.py have the cases of each kind of file; cases.py
is their table.
"""

from __future__ import annotations

import resource
from collections.abc import Sequence
from typing import Any

from nexus_mcp import log
from tests.reliability import long
from tests.reliability.mutants import state_files
from tests.reliability.suite import Piece, Suite, Tally
from tests.reliability.suites.files import mutations, reference_reader, sessions
from tests.reliability.suites.files.cases import KINDS
from tests.reliability.suites.files.project import Ground

_EACH, _ODD = 500, "with_odd_members"
_SHARES = {
    "plan": 44,
    "tasks": 44,
    "history": 52,
    "tracker": 20,
    "tool-log": 6,
    "journal": 16,
    "receipt": 12,
    "oplog": 6,
}
_ALIKE = 10  # corrupt files of one project
_FAILURES = 5


def plan(seed: int, quick: bool) -> Sequence[Any]:
    """Return pieces: a kind of file, and the number of random mutations or the name of a list of fixed mutations."""
    if quick:
        every, odd = [_piece(kind, "with_each") for kind in KINDS], [_piece(kind, _ODD) for kind in sessions.PATHS]
        letters = [_piece("journal", "with_letters")] * 3
        return [*every, *odd, *letters, {**_piece("history", "with_each"), "long": long.AS_IT_IS}]
    pieces = [_piece(kind, _EACH) for kind, share in _SHARES.items() for _ in range(share)]
    for piece in [piece for piece in pieces if piece["kind"] == "history"][1::2]:
        piece["long"] = long.AS_IT_IS
    return pieces


def _piece(kind: str, many: int | str) -> dict[str, Any]:
    return {"kind": kind, "many": many}


def work(piece: Piece) -> Tally:
    """Corrupt files of one kind, and check the results of the tools."""
    kind, many = piece.item["kind"], piece.item["many"]
    log.set_level("error")
    tally, ground, rng = Tally(), Ground(piece.folder), piece.rng
    other = b"{}"
    while len(tally.failures) < _FAILURES:
        files, path, attempt = KINDS[kind](ground, rng)
        whole = files[path]
        if isinstance(many, str):
            spoilt = getattr(mutations, many)(rng, whole, other)
        else:
            spoilt = [mutations.mutated(rng, whole, other) for _ in range(_ALIKE)]
        other = whole
        for data in spoilt:
            tally.counts["files"] += 1
            tally.counts["files that cannot be read"] += not _is_readable(kind, data)
            told = [*attempt({**files, path: data})]
            tally.failures += [f"{kind} {tally.counts['files']}, {data!r:.600}: {line}" for line in told]
        if isinstance(many, str) or tally.counts["files"] >= many:
            break
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    tally.peak("MB at most in the process that reads the files", memory)
    return tally


def _is_readable(kind: str, data: bytes) -> bool:
    """Return whether a file of this kind is readable; files of JSON lines always are."""
    try:
        if kind not in ("tool-log", "oplog"):
            reference_reader.read("journal" if kind == "receipt" else kind, data)
    except reference_reader.Broken:
        return False
    return True


SUITE = Suite(
    name="files",
    title="spoilt state files",
    goal=("files", 100_000),
    plan=plan,
    work=work,
    mutants=tuple(mutant.name for mutant in state_files.MUTANTS),
)
