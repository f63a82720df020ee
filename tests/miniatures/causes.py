"""`python -m tests.miniatures.causes [NAME …]`: record by which cause the report shows the fault of each miniature.

A cause fits the note of a miniature when the report shows, with its example, each tool, field and file that the note
names. The command tries the fixtures of caught_by.json, all or those of the named miniatures, and prints each cause
below its note for a person who reads both. `make test` and `make miniatures` hold the reports against causes.json. The
exit code is 1 when no cause of a miniature fits its note.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nexus_mcp.conformance.checks import MUST_FAIL
from nexus_mcp.conformance.loading import load
from nexus_mcp.conformance.report import causes as grouping
from nexus_mcp.conformance.report.texts import in_words
from nexus_mcp.conformance.result import FAILED
from tests.miniatures.base import EXECUTOR, PROCESS, Miniature
from tests.miniatures.runner import failed_at_once, judged
from tests.miniatures.table import MINIATURES

if TYPE_CHECKING:
    from nexus_mcp.conformance.fixture import Fixture
    from nexus_mcp.conformance.report.causes import Cause
    from nexus_mcp.conformance.result import FixtureResult

CAUSES = Path(__file__).with_name("causes.json")
_CAUGHT_BY = Path(__file__).with_name("caught_by.json")
APART = (PROCESS, EXECUTOR)
"""Kinds of miniatures that are processes of their own."""
TRIES = 12
"""Runs of a fixture until it has to fail against a process: on a busy machine its fault does not always show."""
ALSO = {"close-in-pieces": ("answer: $.archived.plan must be true, is false",)}
"""Other causes by which a miniature may fail: which of its assertions fails first depends on the moment of a kill."""
_VALUE = re.compile(r'"|: \[|\{')
_NAME = re.compile(r"\b(?:\w+_\w+|\w+\.json\w*|[a-z]+[A-Z]\w+)")


def read() -> dict[str, str]:
    """Return causes.json: the name of a miniature → the title of its cause, generalised."""
    value: dict[str, str] = json.loads(CAUSES.read_text(encoding="utf-8"))
    return value


def titles(failed: Sequence[FixtureResult]) -> list[str]:
    """Return the titles of the causes of failed fixtures as the report shows them, without what varies."""
    return [grouping.general(cause.title) for cause in grouping.causes(failed)]


def misses(miniature: Miniature, cause: Cause) -> list[str]:
    """Return the names in the note that the report does not show with this cause and its example."""
    example = cause.example
    sent = [f"{one.request} {json.dumps(one.params)}" for one in example.exchanges]
    failed = [in_words(assertion) for assertion in example.failures]
    shown = " ".join([cause.title, *cause.tools, example.description, *failed, *sent])
    return [name for name in names(miniature.wrong) if name not in shown]


def fault(miniature: Miniature, recorded: str, failed: Sequence[FixtureResult]) -> str:
    """Return what is wrong with the report of a miniature's failures, "" if its recorded cause is there and fits."""
    found = {comparable(miniature, grouping.general(cause.title)): cause for cause in grouping.causes(failed)}
    wanted = (recorded, *ALSO.get(miniature.name, ()))
    cause = next((found[one] for title in wanted if (one := comparable(miniature, title)) in found), None)
    if cause is None:
        return f"{recorded!r} is not one of {list(found)}"
    missing = misses(miniature, cause)
    return f"the report does not show {', '.join(missing)}" if missing else ""


def comparable(miniature: Miniature, title: str) -> str:
    """Return the title, without values that differ from run to run if the miniature is a process."""
    return outline(title) if miniature.needs in APART else title


def outline(title: str) -> str:
    """Return the assertion of a title, such as "answer: $.branch must be", without the values of its example."""
    if MUST_FAIL in title:
        return title.partition(MUST_FAIL)[0] + MUST_FAIL
    return _VALUE.split(title)[0].replace("N items", "N item").rstrip()


def names(note: str) -> list[str]:
    """Return the tools, fields and files that a note names."""
    return list(dict.fromkeys(_NAME.findall(note)))


def _vague(cause: Cause) -> bool:
    """Return whether the cause says less than others: a success in place of an error has no value that is wrong."""
    return cause.assertion.message.startswith(MUST_FAIL)


def _failing(miniature: Miniature, fixtures: Sequence[Fixture]) -> list[FixtureResult]:
    """Return the failed results. A kill, or writes at the same time, may come too late to show the fault."""
    for _ in range(TRIES):
        if failed := list(judged(miniature, fixtures).having(FAILED)):
            return failed
    return []


def main(arguments: Sequence[str]) -> int:
    """Try the miniatures, rewrite the record, and print each cause beside the note."""
    chosen = [MINIATURES[name] for name in arguments] or list(MINIATURES.values())
    fixtures = {fixture.test_id: fixture for fixture in load()}
    noted = json.loads(_CAUGHT_BY.read_text(encoding="utf-8"))
    asked = {one.name: [fixtures[i] for i in noted[one.name]] for one in chosen}
    failed = failed_at_once({one.name: asked[one.name] for one in chosen if one.needs not in APART})
    for one in chosen:
        if one.needs in APART:
            failed[one.name] = _failing(one, asked[one.name])
    rows = read() if CAUSES.exists() else {}
    unfit = 0
    for one in chosen:
        found = sorted(grouping.causes(failed[one.name]), key=lambda cause: (len(misses(one, cause)), _vague(cause)))
        if not found or misses(one, found[0]):
            unfit += 1
            print(f"UNFIT {one.name}: {misses(one, found[0]) if found else 'nothing fails'}")
        if found:
            rows[one.name] = grouping.general(found[0].title)
            print(f"{one.name}: {one.wrong}\n    {rows[one.name]}")
    known = {name: json.dumps(rows[name], ensure_ascii=False) for name in MINIATURES if name in rows}
    lines = [f"  {json.dumps(name)}: {title}" for name, title in known.items()]
    CAUSES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return 1 if unfit else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
