"""The facts about a workspace that git reports, in repositories made by git itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from nexus_mcp.doctor import git as asking
from nexus_mcp.merging import driver
from tests.conftest import git
from tests.doctor.support import answered, codes, commit, look, only, whole_cycle
from tests.support import Project

ATTRIBUTE = driver.attribute_line(".nexus/history.json").decode() + "\n"


def register(project: Project, command: str) -> None:
    (project.root / ".gitattributes").write_text(ATTRIBUTE)
    git(project.root, "config", driver.DRIVER_KEY, command)


def test_healthy_repository_has_no_findings(used: Project) -> None:
    """Nothing is found after a cycle in a repository, in its worktrees, or after another cycle was begun."""
    assert look(used.root).findings == ()
    answered(used.root, "plan_start", topic="t", issues=[], research_summary="")
    assert look(used.root).findings == ()


def test_tracked_session_files_are_reported(used: Project) -> None:
    """Each tracked session file is reported; the tracked history is not."""
    answered(used.root, "task_add", title="t", context="c")
    commit(used, ".nexus/state/tasks.json", ".nexus/state/artifacts")
    report = look(used.root)
    assert [(finding.code, finding.file) for finding in report.findings] == [
        ("tracked", ".nexus/state/artifacts/notes/a.md"),
        ("tracked", ".nexus/state/tasks.json"),
    ]


def test_deleted_but_tracked_file_is_reported(used: Project) -> None:
    """A tracked session file is reported even if it is deleted on the disk."""
    answered(used.root, "task_add", title="t", context="c")
    commit(used, ".nexus/state/tasks.json")
    answered(used.root, "task_close")
    assert only(used.root).code == "tracked"


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        (".nexus/.gitignore", "stat?/**\n", []),
        (".nexus/.gitignore", "*.tmp\n", ["not-ignored"]),
        (".nexus/.gitignore", "state/*\n!state/plan.json\n", ["not-ignored"]),
        (".nexus/.gitignore", "state/\n!state/plan.json\n", []),
        (".gitignore", ".nexus/state/\n", []),
        (".gitignore", ".nexus/\n", []),
        (".git/info/exclude", "/.nexus/state\n", []),
    ],
)
def test_any_rule_of_git_counts_as_ignored(used: Project, path: str, text: str, found: list[str]) -> None:
    """Doctor uses git's own answer about ignored files, in whichever file the rule stands."""
    (used.root / ".nexus/.gitignore").unlink()
    (used.root / path).parent.mkdir(exist_ok=True)
    (used.root / path).write_text(text)
    assert codes(used.root) == found


def test_missing_merge_driver_is_a_note(used: Project) -> None:
    """A tracked history without a merge driver gets a note; another driver is the user's choice."""
    commit(used, ".nexus/history.json")
    assert (only(used.root).code, look(used.root).healthy) == ("no-merge-driver", True)
    (used.root / ".gitattributes").write_text("/.nexus/history.json merge=binary\n")
    assert look(used.root).findings == ()


def test_union_merge_attribute_is_reported(used: Project) -> None:
    """git's own driver union puts lines of JSON one after the other: that is a warning."""
    (used.root / ".gitattributes").write_text("*.json merge=union\n")
    finding = only(used.root)
    assert (finding.code, finding.severity) == ("merge-by-lines", "warning")


def test_unregistered_driver_is_reported(used: Project) -> None:
    """A clone knows the attribute, but not the driver: that is a warning until it is registered."""
    commit(used, ".nexus/.gitignore", ".nexus/history.json")
    register(used, driver.driver_command([sys.executable, "-m", "nexus_mcp"]))
    assert look(used.root).findings == ()
    git(used.root, "config", "--unset", driver.DRIVER_KEY)
    finding = only(used.root)
    assert (finding.code, finding.severity) == ("merge-driver-unregistered", "warning")


def test_a_driver_for_the_history_before_there_is_one(real_repository: Project) -> None:
    """The attribute counts also where nothing was closed yet."""
    answered(real_repository.root, "task_add", title="t", context="c")
    (real_repository.root / ".gitattributes").write_text(ATTRIBUTE)
    assert only(real_repository.root).code == "merge-driver-unregistered"


def test_driver_with_missing_program_is_reported(used: Project) -> None:
    """A driver whose program is missing is reported, for any characters in its path; shell syntax is not checked."""
    gone = used.root / "100% gone" / "nexus-mcp"
    register(used, driver.driver_command([str(gone)]))
    assert only(used.root).code == "merge-driver-broken"
    gone.parent.mkdir()
    gone.write_text("#!/bin/sh\n")
    gone.chmod(0o755)
    assert look(used.root).findings == ()
    for command in ("$HOME/bin/merge %A", "X=1 merge %A", "'unclosed"):
        register(used, command)
        assert look(used.root).findings == ()


def test_project_in_a_folder_of_the_repository_is_checked(real_repository: Project) -> None:
    """A project below the root of its repository is checked by itself."""
    inner = Project(real_repository.root / "a b" / "inner")
    inner.root.mkdir(parents=True)
    whole_cycle(inner.root)
    commit(inner, ".nexus/state/lock", ".nexus/history.json")
    assert codes(inner.root) == ["no-merge-driver", "tracked"]


def test_worktree_uses_its_own_index(used: Project) -> None:
    """In a worktree the index of the worktree counts."""
    commit(used, ".nexus/.gitignore", ".nexus/history.json")
    git(used.root, "worktree", "add", "-q", "../tree", "-b", "side")
    tree = Project(used.root.parent / "tree")
    assert only(tree.root).code == "no-merge-driver"
    answered(tree.root, "task_add", title="t", context="c")
    git(tree.root, "add", "-f", ".nexus/state/tasks.json")
    assert codes(tree.root) == ["no-merge-driver", "tracked"]
    assert codes(used.root) == ["no-merge-driver"]


def test_missing_git_is_reported(used: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git the repository is reported as unchecked, and the rules are read without git."""
    monkeypatch.setenv("PATH", str(used.root))
    finding = only(used.root)
    assert (finding.code, finding.severity) == ("git-not-asked", "note")
    assert "git is not installed" in finding.problem
    used.put(".gitignore", "")
    assert codes(used.root) == ["git-not-asked", "not-ignored"]


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("/bin/sleep 1000; exit 0", "git did not answer in 0.01 seconds"),
        ("echo 'fatal: \x1b[31mdubious ownership'; echo more; exit 128", "fatal: \\x1b[31mdubious ownership"),
        ("echo 'warning: odd'; echo 'fatal: bad config'; exit 128", "fatal: bad config"),
        ("echo false", "it is not a working tree"),
        ('case "$*" in *rev-parse*) echo true;; *) exit 128;; esac', "git cannot read its index"),
        ('case "$*" in *rev-parse*) echo true;; *ignore*) exit 128;; esac', "git cannot determine what is ignored"),
    ],
)
def test_silent_git_is_reported_with_its_reason(
    used: Project, monkeypatch: pytest.MonkeyPatch, script: str, told: str
) -> None:
    """A git that hangs, refuses or fails is reported with the reason, and ends no other check."""
    fake = used.root.parent / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(fake.parent))
    if "sleep" in script:
        monkeypatch.setattr(asking, "TIMEOUT_S", 0.01)
    finding = only(used.root)
    assert finding.code == "git-not-asked"
    assert f"({told})" in finding.problem


def test_endless_index_is_read_in_part(used: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a list that does not end only a part is read."""
    fake = used.root.parent / "bin" / "git"
    fake.parent.mkdir()
    files = "exec /usr/bin/yes '0 0 0\t.nexus/state/x' | /usr/bin/tr '\\n' '\\0'"
    fake.write_text(f'#!/bin/sh\ncase "$*" in *rev-parse*) echo true;; *ls-files*) {files};; *) exit 0;; esac\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(fake.parent))
    assert "tracked" in codes(used.root)


def test_link_on_the_path_is_reported(used: Project) -> None:
    """If git refuses to look behind a link, the report names the link and the unfinished check."""
    used.state.rename(used.root.parent / "state")
    used.state.symlink_to(used.root.parent / "state")
    assert codes(used.root) == ["git-not-asked", "link"]


def test_unmerged_history_is_reported_although_readable(used: Project) -> None:
    """An unmerged history is reported, even if it is readable; with markers only the markers are reported."""
    history = used.nexus / "history.json"
    main = history.read_text()
    (used.root / ".gitattributes").write_text("*.json -merge\n")
    commit(used, ".gitattributes", ".nexus/.gitignore", ".nexus/history.json")
    git(used.root, "checkout", "-q", "-b", "other")
    history.write_text(main.replace("Topic", "Other"))
    commit(used, ".nexus/history.json")
    git(used.root, "checkout", "-q", "-")
    history.write_text(main.replace("Topic", "Third"))
    commit(used, ".nexus/history.json")
    with pytest.raises(subprocess.CalledProcessError):
        git(used.root, "merge", "other")
    assert (only(used.root).code, only(used.root).severity) == ("history-unmerged", "warning")
    history.write_text(f"<<<<<<< a\n{main}=======\n{main}>>>>>>> b\n")
    assert only(used.root).code == "conflict-markers"
    history.write_text(main)
    git(used.root, "add", "-A")
    assert look(used.root).findings == ()
