"""Histories of N cycles of some 4.2 KB: each a plan with decided issues, and its tasks. Plan ids are 1 to N.

One rare word is in the decisions of exactly RARE_CYCLES cycles, spread evenly, and nowhere else.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.client import ROOT
from benchmarks.data.tasks import task
from benchmarks.data.words import AGENTS, RARE, phrase, sentences, stamp

DATA = ROOT / ".cache" / "bench" / "data"
RARE_CYCLES = 5
HEAD = b'{\n  "cycles": [\n'
TAIL = b"\n  ]\n}\n"
_BETWEEN = b",\n"
_STEP = 97  # minutes between two closes: 50 000 cycles are nine years


def rare_places(count: int) -> list[int]:
    """Return the positions, from 0, of the cycles with the rare word."""
    return [(2 * turn + 1) * count // (2 * RARE_CYCLES) for turn in range(RARE_CYCLES)]


def cycle(number: int, rng: random.Random, *, rare: bool) -> dict[str, Any]:
    """Return one cycle as task_close writes it; `number` is the plan's id."""
    begun = number * _STEP
    issues = [_issue(place, rng) for place in range(1, rng.randint(3, 5))]
    if rare:
        issues[0]["decision"] += f" See {RARE}."
    plan = {
        "id": number,
        "topic": phrase(rng, 3, 8),
        "issues": issues,
        "research_summary": sentences(rng, 2, 5),
        "created_at": stamp(begun),
    }
    tasks = [task(place, rng, begun + place, done=True) for place in range(1, rng.randint(4, 6))]
    return {
        "schema_version": "0.5",
        "completed_at": stamp(begun + 60),
        "branch": rng.choice(("main", "main", "main", "fix/größe", "feature/search")),
        "plan": plan,
        "tasks": tasks,
    }


def _issue(place: int, rng: random.Random) -> dict[str, Any]:
    names = rng.sample(AGENTS, rng.randint(0, 2))
    issue: dict[str, Any] = {
        "id": place,
        "title": phrase(rng, 4, 10),
        "status": "decided",
        "decision": sentences(rng, 1, 3),
    }
    if names:
        issue["how_agents"] = names
        issue["how_summary"] = {name: phrase(rng, 8, 20) for name in names}
    return issue


def cycles(count: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    rng = random.Random(seed)
    rare = set(rare_places(count))
    for number in range(1, count + 1):
        yield cycle(number, rng, rare=number - 1 in rare)


def chunks(count: int, seed: int = 1) -> Iterator[bytes]:
    """Yield the bytes of the file, a cycle at a time."""
    yield HEAD
    for place, one in enumerate(cycles(count, seed)):
        text = json.dumps(one, ensure_ascii=False, indent=2)
        yield (_BETWEEN if place else b"") + ("    " + text.replace("\n", "\n    ")).encode()
    yield TAIL


def history(count: int, seed: int = 1) -> Path:
    """Return the file, made once and cached in .cache/. Do not write to it. Its name depends on the generator."""
    sources = [Path(__file__).with_name(name).read_bytes() for name in ("history.py", "tasks.py", "words.py")]
    made_by = zlib.crc32(b"".join(sources))
    path = DATA / f"history-{count}-{seed}-{made_by:08x}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        for old in path.parent.glob(f"history-{count}-{seed}-*"):
            old.unlink()
        unfinished = path.with_suffix(".new")
        with unfinished.open("wb") as file:
            file.writelines(chunks(count, seed))
        unfinished.replace(path)
    return path
