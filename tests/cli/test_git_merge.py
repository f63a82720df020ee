"""`nexus-mcp init --git-merge`."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus_mcp.cli import main
from nexus_mcp.program import own_command
from tests.cli.support import nexus
from tests.conftest import git
from tests.support import Project

Capture = pytest.CaptureFixture[str]


def test_registers_and_takes_back(real_repository: Project) -> None:
    """The .gitattributes line and the command are registered, reported with the next step, and removed again; .nexus/
    is not created.
    """
    root = real_repository.root
    before = (root / ".git/config").read_bytes()
    ran = nexus("init", "--git-merge", cwd=root)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        str(root),
        "  added          .gitattributes  .nexus/history.json merge=nexus-history",
        "  set            configuration   merge.nexus-history",
        "",
        "Commit .gitattributes. Each user of the repository runs nexus-mcp init --git-merge once: "
        "git takes no command from a repository.",
        "To take it back: nexus-mcp init --git-merge --remove",
    ]
    driver = git(root, "config", "merge.nexus-history.driver")
    assert " history merge --marker-size=%L %O %A %B || " in driver
    assert driver.startswith(own_command()[0])
    assert not real_repository.nexus.exists()
    assert nexus("init", "--git-merge", cwd=root).out.count("kept") == 2
    gone = nexus("init", "--git-merge", "--remove", cwd=root)
    assert (gone.code, gone.out.count("  removed  ")) == (0, 2)
    assert (root / ".git/config").read_bytes() == before
    assert not (root / ".gitattributes").exists()
    assert nexus("init", "--git-merge", "--remove", cwd=root).out.count("not there") == 2


def test_later_attribute_line_exits_with_1(real_repository: Project, capsys: Capture) -> None:
    """If another line keeps git from using the driver, the command reports that, with exit code 1."""
    below = Project(real_repository.root / "a b")
    below.put(".gitattributes", "history.json merge=union\n")
    assert main(["init", "--git-merge", "--project", str(below.root)]) == 1
    out = capsys.readouterr().out
    assert "git will not use the merge driver" in out
    assert "git check-attr --all 'a b/.nexus/history.json', run at the root of the repository, shows" in out


def test_command_stays_while_another_project_uses_it(real_repository: Project, capsys: Capture) -> None:
    """Taken back for one project of a repository, the command stays for the other."""
    below = real_repository.root / "below"
    below.mkdir()
    for options in (
        ["--project", str(real_repository.root)],
        ["--project", str(below)],
        ["--remove", "--project", str(below)],
    ):
        assert main(["init", "--git-merge", *options]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "  kept: in use   configuration   merge.nexus-history"


def test_git_merge_outside_git_is_a_usage_error(tmp_path: Path, capsys: Capture) -> None:
    """Without a git repository around the project it is a fault of the command line."""
    assert main(["init", "--git-merge", "--project", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert "is in no git repository with a working tree (git: fatal: not a git repository" in told
    assert "). Choose another project with --project, or make a repository there first.\n" in told


def test_remove_needs_git_merge(tmp_path: Path, capsys: Capture) -> None:
    """--remove alone removes nothing."""
    assert main(["init", "--remove", "--project", str(tmp_path)]) == 2
    assert "--remove needs --git-merge" in capsys.readouterr().err
    assert not (tmp_path / ".nexus").exists()


@pytest.mark.parametrize("option", ["--harness-id", "--tool-prefix"])
@pytest.mark.parametrize("also", [[], ["--remove"]])
def test_meaningless_option_is_refused(real_repository: Project, capsys: Capture, option: str, also: list[str]) -> None:
    """The registration is the same for every client, so an option that names a client is refused, not ignored."""
    assert main(["init", "--git-merge", *also, option, "x", "--project", str(real_repository.root)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(
        f"nexus-mcp: {option} means nothing with --git-merge, which mounts no server. Run nexus-mcp init"
    )
    assert not (real_repository.root / ".gitattributes").exists()
