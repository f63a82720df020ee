"""`python -m tests.miniatures.record [FIXTURE …]`: record for each fixture a wrong server that it catches.

The wrong server is a miniature, or a mutant of our own tools and events. Without names the command tries the fixtures
that have no valid row in catchers.json. `make miniatures` records the miniatures of all fixtures; --only-mutants after
it does not try them again. The exit code is 1 when a fixture catches nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache, partial
from pathlib import Path

from nexus_mcp.conformance.fixture import Fixture
from tests.conformance.suite import packaged
from tests.forks import forked
from tests.miniatures import runner
from tests.miniatures.base import PROCESS, Miniature
from tests.miniatures.table import MINIATURES
from tests.mutation import attempt
from tests.mutation.modules import SERVED
from tests.mutation.mutator import mutations
from tests.unknown_parts import unknown_to

CATCHERS = Path(__file__).with_name("catchers.json")
COMMAND = "python -m tests.miniatures.record"
ONLY_MUTANTS = "--only-mutants"
_MINIATURE, _MUTANT = "miniature ", "mutant of "
_SECONDS = 120.0
_SAMPLE = 10
_BROAD_SHARE = 0.1


def read() -> tuple[list[str], dict[str, str]]:
    """Return the broad miniatures, and for each fixture what it catches.

    More than a tenth of all fixtures catch a broad miniature: catching it says nothing about a single fixture.
    """
    value = json.loads(CATCHERS.read_text(encoding="utf-8"))
    return value["broad"], value["fixtures"]


def faults(fixtures: Sequence[Fixture], broad: Sequence[str], rows: Mapping[str, str]) -> list[str]:
    """Return the missing and the outdated rows of the record."""
    known = {fixture.test_id: fixture for fixture in fixtures}
    found = [f"{CATCHERS.name} has {name}, which is no fixture: run {COMMAND}" for name in rows if name not in known]
    for name, fixture in known.items():
        if name not in rows:
            found.append(unknown_to("miniatures", f"what the fixture {name} catches", f"it with {COMMAND} {name}"))
        elif problem := _fault(fixture, broad, rows[name]):
            found.append(f"{CATCHERS.name}: {name} {problem}: run {COMMAND} {name}")
    return found


def _fault(fixture: Fixture, broad: Sequence[str], row: str) -> str:
    if row.startswith(_MINIATURE):
        name = row.removeprefix(_MINIATURE)
        if name not in MINIATURES or name in broad:
            return f"catches {name}, which is no miniature that counts"
        return "" if runner.concerned(MINIATURES[name], [fixture]) else f"does not concern the miniature {name}"
    module, _, change = row.removeprefix(_MUTANT).partition(": ")
    if module not in SERVED or change not in _changes(module):
        return f"catches a mutant that does not exist any more ({row})"
    return "" if attempt.concerned(module, [fixture]) else f"does not concern the module {module}"


@cache
def _changes(module: str) -> frozenset[str]:
    source = (attempt.ROOT / "nexus_mcp" / f"{module}.py").read_text(encoding="utf-8")
    return frozenset(mutation.change for mutation in mutations(source))


def write(broad: Iterable[str], rows: Mapping[str, str], fixtures: Sequence[Fixture]) -> None:
    """Rewrite the record, with its rows in the order of the fixtures."""
    lines = [f"    {json.dumps(f.test_id)}: {json.dumps(rows[f.test_id])}" for f in fixtures if f.test_id in rows]
    text = f'{{\n  "broad": {json.dumps(list(broad))},\n  "fixtures": {{\n' + ",\n".join(lines) + "\n  }\n}\n"
    CATCHERS.write_text(text, encoding="utf-8")


def of_matrix(
    caught: Mapping[str, Sequence[str]], noted: Mapping[str, Sequence[str]], fixtures: Sequence[Fixture]
) -> tuple[list[str], dict[str, str]]:
    """Return the broad miniatures, and the rows by the results of `make miniatures`: fixture → its rarest miniature.

    `noted` is caught_by.json.
    """
    broad = [name for name in MINIATURES if len(caught.get(name, ())) > _BROAD_SHARE * len(fixtures)]
    rows: dict[str, str] = {}
    for name in sorted(
        (one for one in MINIATURES if one in caught and one not in broad), key=lambda one: len(caught[one])
    ):
        for test_id in caught[name]:
            rows.setdefault(test_id, _MINIATURE + name)
    for name, ids in noted.items():  # `make test` tries these each time: on a busy machine one may pass once
        for test_id in ids:
            if name not in broad:
                rows.setdefault(test_id, _MINIATURE + name)
    return broad, rows


def main(arguments: Sequence[str]) -> int:
    """Try the fixtures, rewrite the record, and print what each catches."""
    fixtures = packaged()
    broad, rows = read() if CATCHERS.exists() else ([], {})
    named = {name for name in arguments if name != ONLY_MUTANTS}
    if strangers := named - {fixture.test_id for fixture in fixtures}:
        print(f"There is no fixture {', '.join(sorted(strangers))}.", file=sys.stderr)
        return 2
    idle = {
        one.test_id: one
        for one in fixtures
        if one.test_id in named or (not named and (one.test_id not in rows or _fault(one, broad, rows[one.test_id])))
    }
    for test_id, row in _found(idle, fixtures, [] if ONLY_MUTANTS in arguments else counting(broad)):
        print(f"{test_id}: {row}", flush=True)
        rows[test_id] = row
        del idle[test_id]
        write(broad, rows, fixtures)
    write(broad, {name: row for name, row in rows.items() if name not in idle}, fixtures)
    for name in idle:
        print(
            f"{name} catches no miniature and no mutant. Find a fault of a server that only this fixture detects. "
            "Add it as a Miniature in tests/miniatures/ (CONTRIBUTING.md, Where do I add), or remove the fixture.",
            file=sys.stderr,
        )
    return 1 if idle else 0


def _found(
    idle: Mapping[str, Fixture], fixtures: Sequence[Fixture], miniatures: Sequence[Miniature]
) -> Iterator[tuple[str, str]]:
    """Yield (fixture, row) for each fixture that catches something; the caller takes it out of `idle`.

    Mutants that most fixtures catch come last.
    """
    for fixture in list(idle.values()):
        for miniature in miniatures:
            if runner.concerned(miniature, [fixture]) and runner.caught(miniature, [fixture]):
                yield fixture.test_id, _MINIATURE + miniature.name
                break
    coarse: dict[str, str] = {}
    for module in SERVED:
        every = attempt.concerned(module, fixtures)
        of_it = [one for one in every if one.test_id in idle]
        if not of_it:
            continue
        sample = every[:: max(1, len(every) // _SAMPLE)]
        # A fork has the list from its start, without the fixtures that caught an earlier mutant.
        work = partial(_failing, of_it, sample)
        with closing(forked(attempt.mutants(module), work, _SECONDS)) as tried:  # type: ignore[type-var]
            for mutant, result in tried:
                failed, is_coarse = result or ([], False)
                for test_id in failed:
                    row = f"{_MUTANT}{module}: {mutant.change}"
                    if is_coarse:
                        coarse.setdefault(test_id, row)
                    elif test_id in idle:
                        yield test_id, row
                of_it[:] = [one for one in of_it if one.test_id in idle]
                if not of_it:
                    break
    yield from ((test_id, coarse[test_id]) for test_id in list(idle) if test_id in coarse)


def _failing(fixtures: Sequence[Fixture], sample: Sequence[Fixture], mutant: attempt.Mutant) -> tuple[list[str], bool]:
    """Return the fixtures that catch the mutant, and whether half of the sample does, too: then it proves little."""
    failed = [one for one in attempt.failing(mutant, fixtures, first=False) if one != attempt.UNUSABLE]
    if not failed or len(sample) < _SAMPLE // 2:
        return failed, False
    return failed, 2 * len(attempt.failing(mutant, sample, first=False)) > len(sample)


def counting(broad: Sequence[str]) -> list[Miniature]:
    """Return the miniatures that are not broad, the most specific first."""
    return sorted((one for one in MINIATURES.values() if one.name not in broad), key=_breadth)


def _breadth(miniature: Miniature) -> tuple[bool, int]:
    return miniature.needs == PROCESS, len(miniature.tools) or len(runner.ALL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
