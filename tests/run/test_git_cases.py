"""Cases of git: hooks that refuse or were changed, a detached HEAD, submodules, a moved base, links, odd names."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from nexus_mcp.run.commit_hooks import changes_hooks, runs_hooks
from nexus_mcp.run.git_files import has_commit_hooks
from tests.run.runs import GOOD, Ground, git
from tests.support import Json

ONE: list[Json] = [{"id": 1, "title": "One"}]
WORK: list[Json] = [{"write": "f1", "text": "1\n"}]


def hook(ground: Ground, text: str) -> None:
    path = ground.root / ".git/hooks/pre-commit"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_commit_hook_that_refuses_is_mended(tmp_path: Path) -> None:
    """Its output goes into the same session, as that of a failing check; the work is not lost."""
    ground = Ground(tmp_path, ONE, {"1": [WORK, [{"write": "signed", "text": "s"}]]})
    hook(ground, "test -e signed || { echo 'sign your work'; exit 1; }")
    state = ground.run()
    assert state.task(1).state == "completed"
    (attempt,) = state.task(1).attempts
    assert [mend.category for mend in attempt.attempt.mends] == ["tests-failing"]
    assert "sign your work" in attempt.attempt.mends[0].reason
    assert ground.tree()["f1"] == "1"


def test_a_hook_that_an_attempt_changed_does_not_run(tmp_path: Path) -> None:
    """With core.hooksPath in the tree the attempt could write its own hook; then none runs."""
    mark = tmp_path / "ran"
    evil = f"#!/bin/sh\ntouch {mark}\n"
    script = {"1": [[{"write": "hooks/pre-commit", "text": evil}, {"run": "chmod +x hooks/pre-commit"}, *WORK]]}
    ground = Ground(tmp_path, ONE, script, files={"hooks/README": "h\n"})
    git(ground.root, "config", "core.hooksPath", "hooks")
    assert ground.run().task(1).state == "completed"
    assert not mark.exists()


def test_hooks_beside_the_worktree_do_not_run(tmp_path: Path) -> None:
    """A relative core.hooksPath that leads out of the tree names another folder in each worktree."""
    mark = tmp_path / "ran"
    beside = (
        f"mkdir -p ../hooks; printf '#!/bin/sh\\ntouch {mark}\\n' > ../hooks/pre-commit; chmod +x ../hooks/pre-commit"
    )
    ground = Ground(tmp_path, ONE, {"1": [[{"run": beside}, *WORK]]})
    git(ground.root, "config", "core.hooksPath", "../hooks")
    assert ground.run().task(1).state == "completed"
    assert ground.tree()["f1"] == "1"
    assert not mark.exists()


@pytest.mark.parametrize(
    "links", [{"hooks": "tools/hooks"}, {"hooks/post-merge": "../tools/hooks/post-merge"}, {"hooks": "../shared"}]
)
def test_hooks_behind_a_link_do_not_run(tmp_path: Path, links: dict[str, str]) -> None:
    """git compares the link, which stays, and not the hooks behind it."""
    ground = Ground(tmp_path, ONE, {}, files={"tools/hooks/post-merge": "#!/bin/sh\n"})
    root = ground.root
    (tmp_path / "shared").mkdir()
    for name, target in links.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).symlink_to(target)
    (root / "tools/hooks/pre-commit").write_text("#!/bin/sh\n")
    (root / "tools/hooks/pre-commit").chmod(0o755)
    git(root, "add", "--all")
    git(root, "commit", "-q", "-m", "hooks")
    old = git(root, "rev-parse", "HEAD")
    (root / "tools/hooks/post-merge").write_text("#!/bin/sh\necho changed\n")
    git(root, "commit", "-q", "-a", "-m", "change")
    git(root, "config", "core.hooksPath", "hooks")
    assert asyncio.run(changes_hooks(str(root), old, git(root, "rev-parse", "HEAD")))
    assert not asyncio.run(runs_hooks(str(root), str(root), old))


@pytest.mark.parametrize("path", ["{root}/../beside", "{root}/hooks/../../beside"])
def test_an_absolute_path_out_of_the_tree_is_outside(tmp_path: Path, path: str) -> None:
    """Such hooks are the user's own, however the path is written."""
    ground = Ground(tmp_path, ONE, {})
    root = ground.root
    git(root, "config", "core.hooksPath", path.format(root=root))
    head = git(root, "rev-parse", "HEAD")
    assert not asyncio.run(changes_hooks(str(root), head, head))


def test_hooks_of_another_global_configuration_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cached place of the hooks is read anew when the file that GIT_CONFIG_GLOBAL names changes."""
    config, hooks, root = tmp_path / "gitconfig", tmp_path / "hooks", tmp_path / "project"
    hooks.mkdir()
    (hooks / "pre-commit").write_text("#!/bin/sh\n")
    (hooks / "pre-commit").chmod(0o755)
    config.touch()
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    git(tmp_path, "init", "-q", str(root))
    assert not asyncio.run(has_commit_hooks(str(root)))
    config.write_text(f"[core]\n\thooksPath = {hooks}\n")
    assert asyncio.run(has_commit_hooks(str(root)))


def test_a_detached_head_is_a_base_like_any_other(tmp_path: Path) -> None:
    """The run works; only the merge at its end has no branch to move."""
    ground = Ground(tmp_path, ONE, {"1": [WORK]})
    git(ground.root, "checkout", "-q", "--detach")
    ground.configure()
    code, out, _ = ground.cli("--trust", "--merge", "auto")
    assert code == 3
    assert "without a branch" in out
    assert ground.tree()["f1"] == "1"


def test_files_with_odd_names_are_collected(tmp_path: Path) -> None:
    """A newline, quotes, a leading dash and another encoding in a name are one file each."""
    names = ["a b", "-dash", "quote'\"", "täst"]
    ground = Ground(tmp_path, ONE, {"1": [[{"write": name, "text": "x"} for name in names]]})
    assert ground.run().task(1).state == "completed"
    listed = git(ground.root, "ls-tree", "-r", "-z", "--name-only", f"nexus/{ground.run_id}/integration").split("\0")
    assert set(names) <= set(listed)


@pytest.mark.parametrize("ignored", ["nothing", ".env", "*.env\n.nexus-verdict.json\nlocal/"])
@pytest.mark.parametrize("link", [".env", "local/[a]*.env"])
def test_links_into_the_worktree_are_not_committed(tmp_path: Path, ignored: str, link: str) -> None:
    """A linked file is there for the session, and stays out of the commit, whether or not git ignores it."""
    script = {"1": [[{"run": f"cat '{link}' > copy"}, {"verdict": GOOD}]]}
    ground = Ground(tmp_path, ONE, script, files={".gitignore": f"{ignored}\n"})
    (ground.root / link).parent.mkdir(exist_ok=True)
    (ground.root / link).write_text("value\n")
    state = ground.run(link=[link])
    assert (state.task(1).state, state.task(1).reason) == ("completed", "")
    assert ground.tree()["copy"] == "value"
    assert not {link, ".nexus-verdict.json"} & ground.tree().keys()


def test_a_submodule_is_named_by_the_precheck(tmp_path: Path) -> None:
    """Worktrees have it empty, so setup should fill it; with such a command there is no warning."""
    ground = Ground(tmp_path, ONE, {"1": [WORK]}, files={".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = ./x\n'})
    ground.configure()
    assert "submodules are empty" in ground.cli("precheck")[1]
    ground.configure(setup=["git submodule update --init"])
    assert "submodules are empty" not in ground.cli("precheck")[1]


def test_the_base_of_a_run_is_where_it_began(tmp_path: Path) -> None:
    """Commits of the user after that are neither seen by attempts nor lost; another --base is refused on resume."""
    script = {"1": [[{"say": "STATUS: blocked\nWhich?"}], WORK]}
    ground = Ground(tmp_path, ONE, script)
    ground.configure()
    assert ground.cli("--trust", "--merge", "never")[0] == 3
    git(ground.root, "commit", "--allow-empty", "-q", "-m", "mine")
    assert ground.cli("--base", "HEAD")[0] == 2
    assert ground.cli("answer", "q1", "That")[0] == 0
    assert ground.cli("--merge", "auto")[1].count("has moved since the run began") == 1
    assert ground.tree()["f1"] == "1"


def test_setup_that_fails_is_no_fault_of_the_task(tmp_path: Path) -> None:
    """It is tried once more; then the run pauses, and no attempt counts."""
    ground = Ground(tmp_path, ONE, {"1": [WORK]})
    state = ground.run(setup=["exit 7"])
    assert state.task(1).state == "paused"
    assert "Setup failed" in state.task(1).reason
    assert state.paused is not None


def test_environment_of_sessions_leads_to_no_other_repository(tmp_path: Path) -> None:
    """GIT_DIR of the caller does not reach sessions, checks and git of the executor."""
    ground = Ground(tmp_path, ONE, {"1": [[{"run": "env | grep -c '^GIT_DIR=' > seen; true"}]]})
    ground.configure()
    os.environ["GIT_DIR"] = str(tmp_path / "elsewhere")
    try:
        assert ground.run().task(1).state == "completed"
    finally:
        del os.environ["GIT_DIR"]
    assert ground.tree()["seen"] == "0"
