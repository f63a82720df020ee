"""Files and folders that a user other than root may not read or write."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.doctor.examine import examine
from nexus_mcp.errors import NexusError
from tests.doctor.support import look, shown
from tests.forks import forked
from tests.support import Project, plan

NOBODY = 65534


def found_by_nobody(change: Callable[[Project], object]) -> Any:
    """[code, file] of each finding of a user without rights of his own, or the text of the error."""

    def work(_: int) -> Any:
        folder = Path(os.environ["TMPDIR"])
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
            os.setgroups([])
            # As a program of another user's does (setuid): what it may do is not what its caller may.
            os.setegid(NOBODY)
            os.seteuid(NOBODY)
        project = Project(folder / "project")
        project.put(".gitignore", "state/\n")
        project.put("state/plan.json", plan())
        for path in ("state/lock", "state/tool-log.jsonl", "state/artifacts/a.md"):
            project.put(path, "")
        change(project)
        try:
            report = examine(str(project.root), 0.0)
        except NexusError as error:
            return str(error)
        shown(report)
        return [[finding.code, finding.file] for finding in report.findings]

    ((_, result),) = forked([0], work, seconds=60)
    return result


@pytest.fixture(scope="module", autouse=True)
def _warm(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Read lazily loaded files now: the user `nobody` may have no access to the checkout."""
    root = tmp_path_factory.mktemp("warm")
    project = Project(root)
    project.put("state/plan.json", plan())
    project.put("history.json", {"cycles": [{}]})
    look(root)


def mode(path: str, bits: int) -> Callable[[Project], object]:
    return lambda project: (project.nexus / path).chmod(bits)


@pytest.mark.parametrize(
    ("path", "bits", "found"),
    [
        ("state", 0o700, []),
        ("state", 0o775, []),
        ("state/plan.json", 0o600, []),
        ("state/plan.json", 0o000, [["unreadable", "state/plan.json"], ["read-only", "state/plan.json"]]),
        ("state/plan.json", 0o444, [["read-only", "state/plan.json"]]),
        ("state/artifacts/a.md", 0o444, []),
        ("state/artifacts/a.md", 0o200, [["unreadable", "state/artifacts/a.md"]]),
        ("state/lock", 0o444, [["unwritable", "state/lock"]]),
        ("state/lock", 0o000, [["unreadable", "state/lock"], ["unwritable", "state/lock"]]),
        ("state/tool-log.jsonl", 0o444, [["unwritable", "state/tool-log.jsonl"]]),
        ("state/artifacts", 0o555, [["unwritable", "state/artifacts"]]),
        ("state/artifacts", 0o666, [["unreadable", "state/artifacts"], ["world-writable", "state/artifacts"]]),
        ("state", 0o500, [["unwritable", "state"]]),
        ("state", 0o000, [["unreadable", "state"], ["unwritable", "state"]]),
        ("state", 0o300, [["unreadable", "state"]]),
        ("state", 0o600, [["unreadable", "state"]]),
    ],
)
def test_missing_permission_is_reported_once(path: str, bits: int, found: list[list[str]]) -> None:
    """A missing permission is reported once, for the file or folder that lacks it."""
    assert found_by_nobody(mode(path, bits)) == [[code, f".nexus/{file}"] for code, file in found]


def test_unreadable_nexus_is_reported() -> None:
    """A `.nexus` that cannot be opened or searched is reported."""
    assert "Permission denied" in found_by_nobody(mode(".", 0o000))
    assert [file for code, file in found_by_nobody(mode(".", 0o600)) if code == "unreadable"] == [".nexus"]


def test_unreadable_project_cannot_be_checked() -> None:
    """A project that cannot be opened cannot be checked."""
    assert "Permission denied" in found_by_nobody(mode("..", 0o000))


def closed_to_group(project: Project) -> list[list[str]]:
    found = examine(str(project.root), 0.0).findings
    return [[one.file, one.problem] for one in found if one.code == "closed-to-group"]


def test_files_closed_to_the_group_are_reported(tmp_path: Path) -> None:
    """A lock of an older version, a log that is its owner's alone, folders that are not the group's; nothing else."""
    project = Project(tmp_path / "project")
    project.root.mkdir()
    project.root.chmod(0o2770)
    for path, bits in {
        "history.json": 0o644,
        "memory/a.md": 0o640,
        "rules/a.md": 0o660,
        "state/lock": 0o644,
        "state/oplog.jsonl": 0o600,
        "state/tool-log.jsonl": 0o660,
        "state/own/file": 0o600,
    }.items():
        project.put(path, "").chmod(bits)
    for path, bits in {".": 0o2770, "memory": 0o2750, "rules": 0o770, "state": 0o2775, "state/own": 0o2770}.items():
        (project.nexus / path).chmod(bits)
    unwritten = "is not writable for the group that shares"
    assert closed_to_group(project) == [
        [".nexus/memory", f"{unwritten} it"],
        [".nexus/rules", "does not give its group to new files in it"],
        [".nexus/state/lock", f"{unwritten} the folder"],
        [".nexus/state/oplog.jsonl", "is not readable for the group that shares the folder"],
    ]


def test_older_nexus_in_a_shared_project_is_compared_with_the_project(tmp_path: Path) -> None:
    """The permissions of `.nexus` are compared with those of its project folder; an unshared project has no finding."""
    project = Project(tmp_path / "project")
    project.put("state/plan.json", plan()).chmod(0o600)
    assert closed_to_group(project) == []
    project.root.chmod(0o2775)
    assert [file for file, _ in closed_to_group(project)] == [".nexus"]
