"""A target that moves or replaces the folders of a run is reported, and harms nothing else."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.result import FixtureResult
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.target import stdio
from nexus_mcp.conformance.trial import snapshot
from nexus_mcp.conformance.trial.trial import describe_strays
from nexus_mcp.conformance.trial.workspace_root import WorkspaceRoot
from tests.conformance.support import NASTY, act, nasty_fixture, outcome

GONE = "the target deleted, moved or replaced the folder of its project"
STATE = act("mkdir", path=".nexus/state")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which a run makes its own folder; check that the run removes it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def done(*steps: dict[str, Any], **more: Any) -> FixtureResult:
    """Run one fixture alone; return its result."""
    (result,) = run([nasty_fixture(*steps, **more)], stdio(NASTY), jobs=1).results
    return result


@pytest.mark.parametrize("path", [".", ".."])
def test_project_replaced_by_a_link_fails_its_fixture(path: str, tmp_path: Path, temporary: Path) -> None:
    """A target that replaces its project or the sandbox by a link fails; the link's target stays."""
    precious = tmp_path / "precious"
    (precious / "project").mkdir(parents=True)
    (precious / "file").write_text("mine")
    (precious / "project" / "file").write_text("mine")
    result = done(act("swap", path=path, to=str(precious)))
    assert outcome(result) == ("failed", [("process", "", GONE)])
    assert result.files == {}
    assert sorted(str(found.relative_to(precious)) for found in precious.rglob("*")) == [
        "file",
        "project",
        "project/file",
    ]
    assert list(temporary.iterdir()) == []


def test_deleted_project_fails_its_fixture(temporary: Path) -> None:
    """A target that deletes its project fails the fixture, and the next one is run."""
    fixtures = [
        nasty_fixture(act("delete", path="../project"), test_id="one"),
        nasty_fixture(act("wave"), test_id="two"),
    ]
    first, second = run(fixtures, stdio(NASTY), jobs=1).results
    assert outcome(first) == ("failed", [("process", "", GONE)])
    assert outcome(second) == ("passed", [])
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (act("mode", path=".", mode=0), "the target changed the permissions of the folder of its project"),
        (act("mode", path=".git", mode=0o711), "the target changed files outside .nexus: .git"),
        (act("write", path=".git/config", text=""), "the target changed files outside .nexus: .git/config"),
        (act("mkdir", path=".git/hooks/x"), "the target changed files outside .nexus: .git/hooks, .git/hooks/x"),
        (
            act("rename", path=".git/HEAD", to=".git/H"),
            "the target changed files outside .nexus: .git/H, .git/HEAD",
        ),
        (act("write", path="../../evil", text=""), "the target wrote outside of its project: ../../evil"),
        (act("link", path=".nexus", to="/tmp"), "the target made a link that leads out of its project: .nexus"),
    ],
)
def test_changes_outside_nexus_are_reported(given: dict[str, Any], message: str) -> None:
    """Changes of the project's folder, of .git, of the folder of the run, and through a link are reported."""
    assert outcome(done(given)) == ("failed", [("process", "", message)])


def test_deleted_repository_fails_its_fixture() -> None:
    """A target that deletes .git fails its fixture."""
    status, ((kind, _, message),) = outcome(done(act("delete", path=".git")))
    assert (status, kind) == ("failed", "process")
    assert message.startswith("the target changed files outside .nexus: .git, .git/HEAD, ")


def test_link_below_nexus_that_leads_out_fails() -> None:
    """A target may make a link that stays inside. A link that leads out fails, unless the fixture made it."""
    out: dict[str, Any] = {"precondition": {"files": {".nexus/state/out": {"symlink": "/tmp"}}}}
    inside = act("link", path=".nexus/state/in", to="../../.nexus")
    leading = act("link", path=".nexus/state/far", to="../../..")
    message = "the target made a link that leads out of its project: .nexus/state/far"
    assert outcome(done(inside, **out)) == ("passed", [])
    assert outcome(done(act("rename", path=".nexus/state/out", to=".nexus/state/kept"), **out)) == ("passed", [])
    assert outcome(done(inside, leading, **out)) == ("failed", [("process", "", message)])


def test_fixture_may_write_in_git() -> None:
    """A fixture may change .git itself, before and between the calls; `unchanged` does not include .git."""
    steps = [{"write_file": {"path": ".git/HEAD", "text": "x"}}, act("wave")]
    more = {"precondition": {"files": {".git/extra": "x"}}, "postcondition": {"unchanged": True}}
    assert outcome(done(*steps, **more)) == ("passed", [])


def test_deep_tree_fails_and_is_deleted(temporary: Path) -> None:
    """Very deeply nested folders are a failure, and are deleted."""
    message = "the target left a tree of more than 64 nested folders"
    assert outcome(done(act("deep", path=".nexus/state", folders=3000))) == ("failed", [("process", "", message)])
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(("limit", "what"), [("MOST_ENTRIES", "7 entries"), ("MOST_BYTES", "0 MiB in files")])
def test_tree_beyond_the_read_limit_fails(limit: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree with more entries or bytes than the runner reads is a failure."""
    monkeypatch.setattr(snapshot, limit, 7 if limit == "MOST_ENTRIES" else 100)
    steps = [STATE, act("write", path=".nexus/state/a", text="x" * 50)]
    assert outcome(done(*steps)) == ("failed", [("process", "", f"the target left a tree of more than {what}")])


def test_large_file_is_not_read() -> None:
    """A file of any size is compared quickly: it is only recorded as large, and a change of it is detected."""
    place = ".nexus/state/plan.json"
    grow = act("truncate", path=place, size=200 << 30)
    result = done(STATE, grow, postcondition={"state_files": {place: {"$.id": 1}}})
    (failure,) = result.failures
    assert (failure.kind, failure.file, failure.message) == ("files", place, "is larger than 4 MiB")
    assert outcome(done(STATE, grow, postcondition={"state_files": {place: {}}})) == ("passed", [])
    more = {**act("truncate", path=place, size=201 << 30)}
    result = done(STATE, grow, {"action": {"tool": "act", "params": more}, "assert_unchanged": [place]})
    assert [one.kind for one in result.failures] == ["unchanged"]


def test_parallel_fixture_is_named_as_possible_cause() -> None:
    """If several fixtures ran at once, the message says that another one may have made the change."""
    root = WorkspaceRoot()
    one, other = root.sandbox(), root.sandbox()
    before = one.snapshot()
    Path(one.project, "evil").write_text("")
    said = describe_strays(before, one.snapshot(), one)
    other.clear()
    one.clear()
    root.remove()
    assert said == "changed files outside .nexus: evil (or another target of this run did so at the same time)"
