"""Read and write benchmarks/results/*.json, the committed last results, for the page and the charts."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Collection
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
IN_MEMORY = FOLDER / "crowd-in-memory.json"
# The measured code, and the code that measures it.
_CODE = (
    "nexus_mcp/**/*.py",
    "benchmarks/bare.py",
    "benchmarks/client.py",
    "benchmarks/disk.py",
    "benchmarks/run.py",
    "benchmarks/data/*.py",
    "benchmarks/http/*.py",
    "benchmarks/peers/*.py",
    "benchmarks/scenarios/*.py",
)


def table(figures: Figures) -> dict[str, Any]:
    """Return the result of all measured rows. Times are rounded to microseconds: more digits would be noise."""
    medians = figures.medians()
    digest = code()
    rows: dict[str, Any] = {}
    for row in ROWS:
        if row.key in medians:
            series = {name: round(value, 3) for name, value in medians[row.key].items()}
            judged = [found for goal in row.goals if (found := judge(row, goal, medians))]
            rows[row.key] = {
                "what": row.what,
                "unit": row.unit,
                "run": figures.begun,
                "code": digest,
                "medians": series,
                "rounds": {name: len(values) for name, values in figures.values[row.key].items()},
                "goals": [
                    {**found, "other": round(found["other"], 3), "ratio": round(found["ratio"], 4)} for found in judged
                ],
            }
    told = {
        name: [{"text": text, "rows": [row for row in figures.of[text] if row in rows]} for text in texts]
        for name, texts in (("wrong", figures.wrong), ("notes", figures.notes))
    }
    return {"machine": machine(), "rows": rows, **told}


def joined(kept: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the stored result with the new rows. Raise ValueError if the two are of different machines.

    A run measures all servers of a row, so each ratio is of one run. Texts about stored rows, including wrong answers,
    stay until all of their rows were measured again.
    """
    for name in ("python", "node", "system", "cores", "packages"):
        if kept["machine"][name] != new["machine"][name]:
            raise ValueError(f"{name} is not what the kept result was measured with: run make bench in whole")
    order = [row.key for row in ROWS]
    day = kept["machine"].get("day", "")  # older results have only the day of a run
    rows = {**{key: {"run": day, **row} for key, row in kept["rows"].items()}, **new["rows"]}
    return {
        "machine": new["machine"],
        "rows": {key: rows[key] for key in order if key in rows},
        **{name: [*_left(told(kept, name), new["rows"]), *told(new, name)] for name in ("wrong", "notes")},
    }


def told(result: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return {text, rows} of "wrong" or "notes". If a result names no rows, the texts belong to all rows."""
    everything = list(result["rows"])
    return [{"text": one, "rows": everything} if isinstance(one, str) else one for one in result[name]]


def _left(entries: list[dict[str, Any]], measured: Collection[str]) -> list[dict[str, Any]]:
    left = [{**one, "rows": [row for row in one["rows"] if row not in measured]} for one in entries]
    return [one for one in left if one["rows"]]


def runs(result: dict[str, Any]) -> dict[tuple[str, str], list[str]]:
    """Return (begin, digest of the code) of each run → the parts with rows of this run."""
    found: dict[tuple[str, str], list[str]] = {}
    for key, row in result["rows"].items():
        run = (row.get("run", result["machine"].get("day", "")), row.get("code", ""))
        found.setdefault(run, []).append(key)
    return {run: parts_of(keys) for run, keys in found.items()}


def parts_of(keys: Collection[str]) -> list[str]:
    return list(dict.fromkeys(row.part for row in ROWS if row.key in keys))


def code() -> str:
    """Return a digest of the code that the figures depend on."""
    digest = hashlib.sha256()
    for pattern in _CODE:
        for path in sorted(ROOT.glob(pattern)):
            digest.update(os.fsencode(path.relative_to(ROOT)) + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def machine() -> dict[str, Any]:
    """Return the properties of the machine that the figures depend on, without its name."""
    node = subprocess.run([find("node"), "--version"], check=True, capture_output=True, text=True).stdout.strip()
    return {
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
