"""The figures of the long forms, stored in figures.json and shown in the table of docs/reliability.md."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

from tests.reliability.runner import Progress
from tests.reliability.suite import Json, Suite
from tests.reliability.suites import SUITES

ROOT = Path(__file__).resolve().parents[2]
KEPT = Path(__file__).with_name("figures.json")
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- figures: written by make torture -->", "<!-- end of the figures -->"


def load() -> dict[str, Json]:
    """Return suite name → the figures of its last complete long form."""
    return json.loads(KEPT.read_text()) if KEPT.exists() else {}


def keep(progress: Progress) -> None:
    """Replace the stored figures of the suite by those of a finished long form, and update the table of the page."""
    figures = load()
    figures[progress.suite] = {
        "seed": progress.seed,
        "pieces": progress.pieces,
        "counts": dict(sorted(progress.tally.counts.items())),
        "peaks": dict(sorted(progress.tally.peaks.items())),
        "failures": len(progress.tally.failures),
        "minutes": round(progress.seconds / 60, 1),
        "date": progress.day,
        "code": progress.code,
        "machine": f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}",
    }
    KEPT.write_text(json.dumps({name: figures[name] for name in SUITES if name in figures}, indent=2) + "\n")
    if PAGE.exists():
        PAGE.write_text(with_table(PAGE.read_text()))


def with_table(page: str) -> str:
    """Return the page with the table of the present figures. Raise ValueError if the page has no markers for it."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table()}{END}{after}"


def table() -> str:
    figures = load()
    lines = ["| Suite | What was done | Wrong | Minutes | Seed, day, code |", "|---|---|---|---|---|"]
    for suite in SUITES.values():
        found = figures.get(suite.name)
        if found is None:
            lines.append(f"| {suite.name} | not run yet | | | |")
            continue
        done = ", ".join(f"{_spelled(value)} {name}" for name, value in (found["counts"] | found["peaks"]).items())
        told = f"{found['seed']}, {found['date']}, {found['code']}"
        lines.append(f"| {suite.name} | {done} | {found['failures']} | {found['minutes']} | {told} |")
    return "\n".join(lines) + "\n"


def reached(suite: Suite, progress: Progress) -> bool:
    """Return whether the long form has reached the goal of the suite."""
    name, least = suite.goal
    return progress.tally.counts[name] >= least


def _spelled(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ") if value >= 100 or value == int(value) else f"{value:.2g}"
