"""[m:gc] proposes and deletes notes."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.tags.act import lines
from nexus_mcp.tags.actions import memory_gc
from nexus_mcp.tags.actions.definition import ActionContext
from tests.conftest import git
from tests.support import Project, stamp
from tests.tags.support import DAY, NOW, acted, aged, routed, store_of

UNASKED = "memory:\n  delete_unasked: {days_unread: 100, max_access_count: 0, min_age_days: 100}\n"
APPLY = "nexus-mcp memory gc --apply deletes these notes in a git commit; each can be restored."
OLD = ["no read of it is on record", "not changed for 200 days"]


def notes(project: Project, **ages: int) -> None:
    for name, days in ages.items():
        aged(project.put(f"memory/{name}.md", f"{name}\n"), days)


def read(project: Project, name: str, count: int, days: int, harness: str = "codex") -> None:
    line = {
        "path": f".nexus/memory/{name}.md",
        "last_accessed_ts": stamp(round((NOW - days * DAY) * 1000)),
        "access_count": count,
        "last_agent": "a",
    }
    path = project.state / harness / "memory-access.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def committed(project: Project) -> str:
    """Commit everything, with the identity of the repository."""
    project.put(".gitignore", "state/\n")
    git(project.root, "config", "user.name", "Test")
    git(project.root, "config", "user.email", "test@example.invalid")
    git(project.root, "add", ".")
    git(project.root, "commit", "-q", "-m", "Notes")
    return git(project.root, "rev-parse", "HEAD").strip()


def clean(project: Project, *, apply: bool = True) -> dict[str, Any]:
    return memory_gc.clean(ActionContext(load(str(project.root)), store_of(project)), apply=apply)


def there(project: Project) -> list[str]:
    return sorted(path.stem for path in (project.nexus / "memory").iterdir())


@pytest.mark.requirement("memory.manual")
def test_proposals_delete_nothing(project: Project) -> None:
    """The proposal lists the notes to delete, each with its reasons; nothing is changed."""
    notes(project, old=200, young=10, used=200, stale=200)
    read(project, "used", 5, 1)
    read(project, "stale", 1, 95)
    before = project.snapshot()
    (step,) = acted(project, "[m:gc]")
    assert project.snapshot() == before
    assert {member: step[member] for member in ("action", "result", "proposals", "more", "deleted", "next_step")} == {
        "action": "memory_gc",
        "result": "proposed",
        "proposals": [
            {"path": "memory/old.md", "reasons": OLD},
            {
                "path": "memory/stale.md",
                "reasons": ["not read for 95 days", "read once in all", "not changed for 200 days"],
            },
        ],
        "more": 0,
        "deleted": [],
        "next_step": APPLY,
    }


def test_nothing_is_proposed_without_old_notes(project: Project) -> None:
    """Without notes, without old ones, and without a project folder of ours."""
    assert acted(project, "[m:gc]")[0]["result"] == "nothing"
    assert not project.nexus.exists()
    notes(project, young=10)
    assert (acted(project, "[m:gc]")[0]["result"], clean(project)["result"]) == ("nothing", "nothing")


def test_a_project_sets_its_own_figures(project: Project) -> None:
    """A threshold that config.yml omits has the vocabulary's value."""
    notes(project, a=200, b=50)
    project.put("config.yml", "memory:\n  propose:\n    min_age_days: 20\n")
    assert [one["path"] for one in acted(project, "[m:gc]")[0]["proposals"]] == ["memory/a.md"]
    project.put("config.yml", "memory:\n  propose:\n    min_age_days: 20\n    days_unread: 30\n")
    assert [one["path"] for one in acted(project, "[m:gc]")[0]["proposals"]] == ["memory/a.md", "memory/b.md"]


def test_a_thousand_proposals_are_bounded(project: Project) -> None:
    """A limited number is listed, the others are counted."""
    notes(project, **{f"n{number:04}": 200 for number in range(1000)})
    (step,) = acted(project, "[m:gc]")
    assert (len(step["proposals"]), step["more"]) == (memory_gc.MOST_SHOWN, 1000 - memory_gc.MOST_SHOWN)


@pytest.mark.requirement("memory.commit")
def test_applied_deletion_is_one_commit_that_restores_each_note(real_repository: Project) -> None:
    """One commit deletes the notes; its message has the reasons and a restore command for each, which works."""
    project = real_repository
    notes(project, old=200, young=1, other=300)
    parent = committed(project)
    done = clean(project)
    back = [f"git checkout {parent} -- .nexus/memory/{name}.md" for name in ("old", "other")]
    assert done == {
        "result": "deleted",
        "proposals": [],
        "more": 0,
        "deleted": [
            {"path": "memory/old.md", "restore": back[0]},
            {"path": "memory/other.md", "restore": back[1]},
        ],
        "commit": git(project.root, "rev-parse", "HEAD").strip(),
        "next_step": "",
    }
    assert there(project) == ["young"]
    assert git(project.root, "status", "--porcelain") == ""
    assert git(project.root, "rev-parse", "main^").strip() == parent
    assert git(project.root, "log", "-1", "--format=%B").strip().split("\n") == [
        "Delete 2 notes not read for a long time",
        "",
        "To restore a note, run its command at the top of the repository:",
        "",
        "- old.md: no read of it is on record, not changed for 200 days",
        f"    {back[0]}",
        "- other.md: no read of it is on record, not changed for 300 days",
        f"    {back[1]}",
    ]
    git(project.root, *back[0].split()[1:])
    assert project.get("memory/old.md") == b"old\n"


@pytest.mark.requirement("memory.automatic")
def test_deletion_without_a_question_needs_all_three_thresholds(real_repository: Project) -> None:
    """[m:gc] deletes the notes that the record shows beyond all three thresholds; the others stay a proposal."""
    project = real_repository
    notes(project, old=200, rare=200)
    read(project, "rare", 1, 150)
    committed(project)
    assert acted(project, "[m:gc]")[0]["result"] == "proposed"
    project.put("config.yml", UNASKED)
    (step,) = acted(project, "[m:gc]")
    assert (step["result"], [one["path"] for one in step["deleted"]]) == ("deleted", ["memory/old.md"])
    assert [one["path"] for one in step["proposals"]] == ["memory/rare.md"]
    assert there(project) == ["rare"]


@pytest.mark.requirement("memory.automatic")
def test_preview_names_notes_deleted_without_a_question(real_repository: Project) -> None:
    """The preview lists the notes to delete at once and those to propose; the step does the same."""
    project = real_repository
    notes(project, old=200, rare=200)
    read(project, "rare", 1, 150)
    project.put("config.yml", UNASKED)
    committed(project)
    (tag,) = routed(project, "[m:gc]")
    reasons = ["not read for 150 days", "read once in all", "not changed for 200 days"]
    advice = (
        "Because of delete_unasked in .nexus/config.yml, [m:gc] and nexus-mcp memory gc delete these notes at once, "
        'in a git commit: "memory/old.md". nexus-mcp memory gc --apply deletes the others, too.'
    )
    assert (tag["advice"], tag["would"]) == (
        advice,
        {
            "result": "deletes",
            "deletes": [{"path": "memory/old.md", "reasons": OLD}],
            "proposals": [{"path": "memory/rare.md", "reasons": reasons}],
            "more": 0,
            "deleted": [],
            "next_step": advice,
        },
    )
    assert lines(tag["would"]) == [
        "would delete these notes at once",
        f"  .nexus/memory/old.md: {', '.join(OLD)}",
        "these could go, too",
        f"  .nexus/memory/rare.md: {', '.join(reasons)}",
    ]
    (step,) = acted(project, "[m:gc]")
    assert [one["path"] for one in step["deleted"]] == [one["path"] for one in tag["would"]["deletes"]]


def test_advice_names_some_of_many_notes(project: Project) -> None:
    """The advice names some notes and counts the others; a name is quoted."""
    notes(project, **{f"n{number}": 200 for number in range(7)})
    aged(project.put('memory/a "b" c.md', "x"), 200)
    notes(project, used=1)
    read(project, "used", 1, 150)
    project.put("config.yml", UNASKED)
    (tag,) = routed(project, "[m:gc]")
    assert len(tag["would"]["deletes"]) == 8
    assert tag["advice"].endswith(
        'in a git commit: "memory/a \\"b\\" c.md", "memory/n0.md", "memory/n1.md", "memory/n2.md", "memory/n3.md" '
        "and 3 more."
    )


@pytest.mark.requirement("memory.automatic")
@pytest.mark.parametrize("record", ["none", "young", "torn"])
def test_deletion_without_a_question_needs_recorded_reads(real_repository: Project, record: str) -> None:
    """In a clone, with a short record of reads, or with an unreadable line, no note is deleted without a question."""
    project = real_repository
    notes(project, old=200, other=200)
    if record != "none":
        read(project, "other", 1, 150 if record == "torn" else 50)
    if record == "torn":
        log = "state/codex/memory-access.jsonl"
        project.put(log, project.get(log) + b'{"path": ".nexus/mem')
    project.put("config.yml", UNASKED)
    committed(project)
    (step,) = acted(project, "[m:gc]")
    assert (step["result"], step["deleted"], there(project)) == ("proposed", [], ["old", "other"])


@pytest.mark.parametrize("missing", ["days_unread", "max_access_count", "min_age_days"])
@pytest.mark.requirement("memory.automatic")
def test_two_thresholds_are_not_enough(project: Project, missing: str) -> None:
    """If one threshold is missing, nothing is deleted, and the file's fault is reported."""
    figures = {"days_unread": 1, "max_access_count": 9, "min_age_days": 1}
    del figures[missing]
    notes(project, old=200)
    project.put("config.yml", json.dumps({"memory": {"delete_unasked": figures}}))
    (step,) = acted(project, "[m:gc]")
    assert step["result"] == "failed"
    assert f"{missing} is required" in step["next_step"]
    assert there(project) == ["old"]


def test_ages_count_from_the_clock_of_the_store(project: Project) -> None:
    """Ages are counted from now, as the store has it."""
    aged(project.put("memory/a.md", "a"), 89, time.time())
    assert acted(project, "[m:gc]", time.time())[0]["result"] == "nothing"
    assert acted(project, "[m:gc]", time.time() + 2 * DAY)[0]["result"] == "proposed"
