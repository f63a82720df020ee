"""benchmarks/results/*.json: what was measured last, committed, and what the page and the plots are made of."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.client import ROOT
from benchmarks.figures import Figures
from benchmarks.goals import ROWS
from benchmarks.peers.packages import PACKAGES, find
from benchmarks.report import judge

FOLDER = ROOT / "benchmarks" / "results"
TABLE = FOLDER / "table.json"
CANDIDATES = FOLDER / "candidates.json"


def table(figures: Figures) -> dict[str, Any]:
    """All rows that were measured. Times are rounded to microseconds: more is noise."""
    medians = figures.medians()
    rows = {}
    for row in ROWS:
        if row.key in medians:
            series = {name: round(value, 3) for name, value in medians[row.key].items()}
            judged = [found for goal in row.goals if (found := judge(row, goal, medians))]
            rows[row.key] = {
                "what": row.what,
                "unit": row.unit,
                "medians": series,
                "rounds": {name: len(values) for name, values in figures.values[row.key].items()},
                "goals": [
                    {**found, "other": round(found["other"], 3), "ratio": round(found["ratio"], 4)} for found in judged
                ],
            }
    return {"machine": machine(), "rows": rows, "wrong": figures.wrong, "notes": figures.notes}


def joined(kept: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """What was kept with the rows that were measured anew. Raises ValueError where the two are of different machines.

    Whoever measures parts measures ours and theirs in one run, so that each ratio still is of one.
    """
    for name in ("python", "node", "system", "cores", "packages"):
        if kept["machine"][name] != new["machine"][name]:
            raise ValueError(f"{name} is not what the kept result was measured with: run make bench in whole")
    order = [row.key for row in ROWS]
    rows = {**kept["rows"], **new["rows"]}
    return {
        "machine": new["machine"],
        "rows": {key: rows[key] for key in order if key in rows},
        "wrong": new["wrong"],
        "notes": list(dict.fromkeys([*kept["notes"], *new["notes"]])),
    }


def machine() -> dict[str, Any]:
    """What the figures depend on, and nothing that names the machine."""
    node = subprocess.run([find("node"), "--version"], check=True, capture_output=True, text=True).stdout.strip()
    return {
        "day": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "python": platform.python_version(),
        "node": node.lstrip("v"),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "packages": {package.name: package.version for package in PACKAGES.values()},
    }


def medians_of(result: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {key: row["medians"] for key, row in result["rows"].items()}


def read(path: Path) -> dict[str, Any]:
    value = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(value, dict)
    return value


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"written: {path.relative_to(ROOT)}", file=sys.stderr)
