"""Doctor checks a workspace while other processes write."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.doctor import examine as examining
from nexus_mcp.doctor.examine import MAX_PASSES, examine
from nexus_mcp.doctor.site import Site
from nexus_mcp.store.lock import acquire
from tests.doctor.support import answered, look, opened, shown
from tests.forks import forked
from tests.support import Project, plan, task, tasks

WRITERS = 4
ROUNDS = 5


def write(root: Path, number: int) -> int:
    """Write whole cycles, at least one, until doctor has looked often enough; return how many."""
    done = 0
    while not done or not (root / "enough").exists():
        answered(root, "plan_start", topic=f"{number}", issues=["a", "b"], research_summary="")
        answered(root, "task_add", title="t", context="c", plan_issue=1)
        answered(root, "artifact_write", filename=f"{number}/a.md", content="x" * 1000)
        answered(root, "task_add", title="t", context="c")
        answered(root, "task_close")
        done += 1
    return done


def test_nothing_is_found_beside_writers(tmp_path: Path) -> None:
    """While four processes write without a pause, their unfinished changes are not reported as faults."""

    def work(number: int) -> Any:
        if number < WRITERS:
            return write(tmp_path, number)
        try:
            reports = [examine(str(tmp_path)) for _ in range(ROUNDS)]
        finally:
            (tmp_path / "enough").touch()
        return [[shown(report)] for report in reports if not report.healthy]

    answered(tmp_path, "task_add", title="t", context="c")
    results = dict(forked(range(WRITERS + 1), work, seconds=120, processes=WRITERS + 1))
    assert results[WRITERS] == []
    assert all(results[number] for number in range(WRITERS))


@pytest.fixture
def disturbed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], object]], list[int]]:
    """Has `change(n)` happen at the end of the n-th look, from 1, before it is known whether something changed."""

    def arrange(change: Callable[[int], object]) -> list[int]:
        looks: list[int] = []
        real = Site.is_current

        def is_current(site: Site) -> bool:
            looks.append(len(looks) + 1)
            change(looks[-1])
            return real(site)

        monkeypatch.setattr(Site, "is_current", is_current)
        return looks

    return arrange


def test_lasting_finding_is_reported_during_changes(made: Project, disturbed: Callable[..., list[int]]) -> None:
    """A finding of every pass is reported even if other files change all the time, with a note about these changes."""
    made.put("state/tasks.json", "{")
    looks = disturbed(lambda number: made.put("state/plan.json", plan(number)))
    report = examine(str(made.root), 0.0)
    assert [finding.code for finding in report.findings] == ["unparsable", "busy"]
    assert looks == list(range(1, MAX_PASSES + 1))


def test_passing_finding_is_not_reported(made: Project, disturbed: Callable[..., list[int]]) -> None:
    """A finding of only one pass is not reported."""
    made.put("state/plan.json", plan())
    made.put("state/tasks.json", tasks(task(1, plan_issue=9)))
    looks = disturbed(lambda number: made.put("state/tasks.json", tasks(task(number))) if number < 3 else None)
    assert examine(str(made.root), 0.0).findings == ()
    assert looks == [1, 2]


def test_every_pass_is_made_while_the_lock_is_held(made: Project, disturbed: Callable[..., list[int]]) -> None:
    """A lock holder may be inside a change although no file changed, so every pass is made."""
    made.put("state/tasks.json", "{")
    looks = disturbed(lambda _: None)
    with opened(made.root, ".nexus", "state") as state, acquire(state):
        codes = [finding.code for finding in examine(str(made.root), 0.0).findings]
    assert codes == ["unparsable", "lock-held"]
    assert looks == list(range(1, MAX_PASSES + 1))


def test_passes_without_common_findings_report_none(made: Project, disturbed: Callable[..., list[int]]) -> None:
    """If each pass has other findings, and none was undisturbed, the report has no finding."""
    paths = ("state/plan.json", "state/tasks.json")

    def swap(number: int) -> None:
        made.put(paths[number % 2], "{")
        (made.nexus / paths[1 - number % 2]).unlink(missing_ok=True)

    looks = disturbed(swap)
    swap(0)
    assert examine(str(made.root), 0.0).findings == ()
    assert looks == [1, 2]


def test_undisturbed_pass_reports_all_its_findings(made: Project, disturbed: Callable[..., list[int]]) -> None:
    """If an undisturbed pass follows a disturbed one, all its findings are reported."""
    looks = disturbed(lambda number: made.put("state/tasks.json", "{") if number == 1 else None)
    made.put("state/plan.json", "{")
    assert [finding.file for finding in examine(str(made.root), 0.0).findings] == [
        ".nexus/state/plan.json",
        ".nexus/state/tasks.json",
    ]
    assert looks == [1, 2]


def test_file_deleted_during_the_check_is_no_finding(made: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that disappears before it is read is no finding."""
    for path in ("state/plan.json", "history.json", "state/closed-1.json", "memory/a.md", "state/tool-log.jsonl"):
        made.put(path, "{")

    def emptied(*arguments: Any) -> Site:
        site = Site(*arguments)
        for path in [*made.nexus.rglob("*.json"), *made.nexus.rglob("*.md"), *made.nexus.rglob("*.jsonl")]:
            path.unlink()
        os.rmdir(made.nexus / "memory") if (made.nexus / "memory").exists() else None
        return site

    monkeypatch.setattr(examining, "Site", emptied)
    assert examine(str(made.root), 0.0).findings == ()


def test_second_run_gives_the_same_report(made: Project) -> None:
    """A second run gives the same report, because the first one changed no file."""
    made.put("state/tasks.json", tasks(task(1, deps=[5])))
    assert look(made.root) == look(made.root)
