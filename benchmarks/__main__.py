"""Measure the table of goals: our server and the upstream server in one run. `make bench` calls this module.

    python -m benchmarks [--rows start,search,…] [--rounds N] [--folder DIR] [--keep] [--page]

A complete run is stored in benchmarks/results/table.json. Parts are only printed; with --keep they replace the stored
parts if these are of the same machine. DIR is the folder of the projects. In memory (/dev/shm) fsync is free, so the
rows show the time without the disk; such a run is only printed, except `--rows crowd --folder /dev/shm --keep`, which
is stored in benchmarks/results/crowd-in-memory.json. --page measures nothing: it writes the plots and the tables of
docs/performance.md from the stored results. The exit code is 1 when our server answered wrongly, and 2 when nothing
could be measured; the table also shows goals that are not met.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import report, results, unmet
from benchmarks.client import NotMeasurable
from benchmarks.data import project
from benchmarks.figures import NODE, OURS, Figures
from benchmarks.goals import PARTS, ROWS
from benchmarks.peers.servers import SERVERS, available
from benchmarks.scenarios import SCENARIOS
from benchmarks.scenarios.bench import Bench


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", default="", help=f"parts of the table: {','.join(PARTS)} (default: all)")
    parser.add_argument("--rounds", type=int, default=0, help="rounds of each measurement (default: its own)")
    parser.add_argument("--folder", type=Path, help="folder of the projects (default: on the disk of the checkout)")
    parser.add_argument("--keep", action="store_true", help="store these parts with those of the last complete run")
    parser.add_argument("--page", action="store_true", help="only write the page and the plots again")
    given = parser.parse_args(argv)
    if given.page:
        from benchmarks import page

        page.write()
        return 0
    wanted = frozenset(filter(None, given.rows.split(","))) or frozenset(PARTS)
    if unknown := wanted - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if given.folder:
        project.PLACE = given.folder
    try:
        figures = measure(wanted, given.rounds)
    except (NotMeasurable, OSError) as error:
        print(f"Not measured: {error}", file=sys.stderr)
        return 2
    show(figures)
    if given.keep and wanted == {"crowd"} and given.folder == Path("/dev/shm") and not figures.wrong:
        results.write(results.IN_MEMORY, results.table(figures))
    if not given.folder and wanted == frozenset(PARTS):
        results.write(results.TABLE, results.table(figures))
    elif not given.folder and given.keep:
        try:
            results.write(results.TABLE, results.joined(results.read(results.TABLE), results.table(figures)))
        except ValueError as error:
            print(f"Not kept: {error}", file=sys.stderr)
            return 2
    return int(bool(figures.wrong))


def measure(wanted: frozenset[str], rounds: int) -> Figures:
    """Measure the wanted parts. Raise NotMeasurable without our server or the upstream server on Node."""
    figures = Figures()
    servers, missing = available(SERVERS)
    figures.rows = [row.key for row in ROWS if row.part in wanted]
    for text in missing:
        figures.note(text)
    if {server.name for server in servers} < {OURS, NODE}:
        raise NotMeasurable("; ".join(missing))
    for name, scenario in SCENARIOS.items():
        if scenario.parts & wanted:
            begun = time.monotonic()
            print(f"{name} …", file=sys.stderr, end=" ", flush=True)
            figures.rows = [row.key for row in ROWS if row.part in scenario.parts & wanted]
            scenario.run(Bench(servers, rounds or scenario.rounds, wanted, figures))
            print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr)
    return figures


def show(figures: Figures) -> None:
    medians = figures.medians()
    for head, lines in (
        (report.HEAD, report.goal_lines(medians)),
        (("how near to the limit", "ours", "limit", "its figure", "times"), report.limit_lines(medians)),
        (unmet.HEAD, unmet.lines(medians)),
        (("for context", "tools/list (ms)", "resident (MB)"), report.context_lines(medians)),
    ):
        if table := list(lines):
            print(*report.columns([head, *table]), "", sep="\n")
    for note in figures.notes:
        print(f"note: {note}")
    for wrong in figures.wrong:
        print(f"WRONG: {wrong}")


if __name__ == "__main__":
    sys.exit(main())
