"""`python -m tests.miniatures.matrix`: run every fixture against the miniatures that it concerns.

The output lists the fixtures that catch each miniature, uncaught miniatures, and fixtures that catch none. `--write`
stores the catching fixtures in caught_by.json, their causes in causes.json and, if all miniatures ran, what each
fixture catches in catchers.json.
The exit code is 1 when a miniature is not caught, its cause in causes.json is not among the first of the report, or the
correct server fails.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from nexus_mcp.conformance.loading import load
from nexus_mcp.conformance.result import FAILED
from tests.forks import forked
from tests.miniatures import causes, record
from tests.miniatures.base import EXECUTOR, PROCESS, Miniature
from tests.miniatures.runner import ROOT, concerned, judged
from tests.miniatures.table import MINIATURES

CAUGHT_BY = Path(__file__).with_name("caught_by.json")
RESULT = ROOT / ".cache" / "miniatures.json"
_LIMIT = 900.0
_NAMED = 2
_FIRST = 5
"""Causes of a report that an author surely reads."""
_SHOWN = 4


def main(arguments: Sequence[str]) -> int:
    fixtures = load()
    names = [name for name in arguments if not name.startswith("-")]
    named: list[Miniature | None] = [MINIATURES[name] for name in names]
    chosen = named or [None, *MINIATURES.values()]

    def work(miniature: Miniature | None) -> tuple[list[str], list[str]]:
        of_it = fixtures if miniature is None else concerned(miniature, fixtures)
        failed = judged(miniature, [f for f in of_it if miniature is not None or not f.needs_process]).having(FAILED)
        return [one.test_id for one in failed], causes.titles(failed)

    found: dict[str, list[str]] = {}
    unfinished, hidden = [], []
    recorded = causes.read()
    for miniature, result in forked(chosen, work, _LIMIT):
        name = miniature.name if miniature else "correct"
        if result is None:
            unfinished.append(name)
            continue
        found[name], titles = result
        _tell(name, found[name])
        if miniature is not None and found[name] and name in recorded:
            shown = [causes.outline(title) for title in titles[:_FIRST]]
            if causes.outline(recorded[name]) not in shown:
                hidden.append(f"{name}: {recorded[name]!r} is not one of {shown}")
    wrong = found.pop("correct", [])
    uncaught = sorted(name for name, failed in found.items() if not failed)
    idle = sorted({f.test_id for f in fixtures} - {test_id for failed in found.values() for test_id in failed})
    print(f"\n{len(found)} miniatures, {len(uncaught)} of them not caught: {', '.join(uncaught) or '-'}")
    print(f"without a result: {', '.join(unfinished) or '-'}")
    print(f"fail on the correct server: {', '.join(wrong) or '-'}")
    print(f"{len(hidden)} of them with a cause that is not among the first of the report:")
    print("\n".join(f"  {line}" for line in hidden))
    print(f"{len(fixtures)} fixtures, {len(idle)} of them catch no miniature:")
    print("\n".join(f"  {test_id}" for test_id in idle))
    if not names:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(json.dumps({"caught": found, "idle": idle}))
    if "--write" in arguments:
        slow = {fixture.test_id for fixture in fixtures if fixture.needs_process}
        _write({name: failed for name, failed in found.items() if failed}, wrong, slow)
        causes.main(names)
        if not names:
            broad, rows = record.of_matrix(found, json.loads(CAUGHT_BY.read_text()), fixtures)
            record.write(broad, {**record.read()[1], **rows}, fixtures)
    return 1 if uncaught or unfinished or wrong or hidden else 0


def _tell(name: str, failed: list[str]) -> None:
    more = f" and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
    print(f"{name:32} {len(failed):3}  {', '.join(failed[:_SHOWN])}{more}", flush=True)


def _write(found: dict[str, list[str]], wrong: list[str], slow: set[str]) -> None:
    """Write the most specific fixtures: those that catch the fewest other miniatures, and slow ones last."""
    often = Counter(test_id for failed in found.values() for test_id in failed)
    noted: dict[str, list[str]] = json.loads(CAUGHT_BY.read_text()) if CAUGHT_BY.exists() else {}
    for name, failed in found.items():
        telling = sorted(
            (test_id for test_id in failed if test_id not in wrong), key=lambda one: (one in slow, often[one], one)
        )
        noted[name] = telling[: 1 if MINIATURES[name].needs in (PROCESS, EXECUTOR) else _NAMED]
    lines = [f"  {json.dumps(name)}: {json.dumps(noted[name])}" for name in MINIATURES if name in noted]
    CAUGHT_BY.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
