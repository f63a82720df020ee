"""The driver is registered and removed, and nothing else in the repository changes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexus_mcp.errors import NexusError, PathRefused, UsageError
from nexus_mcp.merging import driver
from nexus_mcp.merging.driver import DRIVER_KEY, NAME_KEY, register, unregister
from nexus_mcp.merging.repository import Repository
from tests.conftest import git
from tests.support import Project

LINE = b".nexus/history.json merge=nexus-history"
WORDS = ("/path/nexus-mcp",)


@pytest.fixture
def repository(real_repository: Project) -> Repository:
    return Repository.around(str(real_repository.root))


def attributes_file(repository: Repository) -> Path:
    return Path(repository.top, ".gitattributes")


def config(repository: Repository) -> bytes:
    return Path(repository.top, ".git/config").read_bytes()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from(["a", "#", " ", "\n", "\r\n"])),
    st.sampled_from(["", f"{LINE.decode()}\n", "* -merge\r\n"]),
)
def test_a_line_leaves_no_trace(text: list[str], more: str) -> None:
    """The line is added after the present ones, only once; its removal restores the file."""
    before = ("".join(text) + more).encode()
    after = driver.add_line(before, LINE)
    if LINE in [line.strip() for line in before.split(b"\n")]:
        assert after is None
        return
    assert after is not None
    assert after.startswith(before)
    assert after[len(before) :].strip() == LINE
    assert driver.add_line(after, LINE) is None
    assert driver.remove_line(after, LINE) == before
    assert driver.remove_line(before, LINE) is None


def test_registration_and_removal_leave_no_trace(repository: Repository) -> None:
    """Registered, the file and the configuration have it; again changes nothing; taken back, no trace is left."""
    before = config(repository)
    done = register(repository, WORDS)
    assert (done.line, done.attribute, done.config, done.in_force) == (LINE.decode(), True, True, True)
    assert attributes_file(repository).read_bytes() == LINE + b"\n"
    registered = config(repository)
    assert repository.config(NAME_KEY) == [driver.NAME]
    again = register(repository, WORDS)
    assert (again.attribute, again.config, again.in_force) == (False, False, True)
    assert (attributes_file(repository).read_bytes(), config(repository)) == (LINE + b"\n", registered)
    gone = unregister(repository)
    assert (gone.attribute, gone.config, gone.in_force, gone.shared) == (True, True, False, False)
    assert not attributes_file(repository).exists()
    assert config(repository) == before
    assert not any([unregister(repository).attribute, unregister(repository).config])


def test_moved_program_is_registered_again(repository: Repository) -> None:
    """Registering again from another place replaces the command, even a doubled one."""
    register(repository, WORDS)
    git(Path(repository.top), "config", "--add", DRIVER_KEY, "other")
    assert register(repository, ("/else where/nexus-mcp",)).config
    (command,) = repository.config(DRIVER_KEY)
    assert command.startswith("'/else where/nexus-mcp' history merge --marker-size=%L %O %A %B || ")


def test_registration_keeps_other_settings(repository: Repository) -> None:
    """Other lines, settings of the section that are not ours, and permissions are kept."""
    file = attributes_file(repository)
    file.write_bytes(b"*.png binary\r\n# x")
    file.chmod(0o600)
    git(Path(repository.top), "config", "merge.nexus-history.recursive", "binary")
    register(repository, WORDS)
    assert file.read_bytes() == b"*.png binary\r\n# x\r\n" + LINE
    assert file.stat().st_mode & 0o777 == 0o600
    unregister(repository)
    assert file.read_bytes() == b"*.png binary\r\n# x"
    assert b"recursive = binary" in config(repository)
    assert repository.config(DRIVER_KEY) == []


def test_an_empty_file_stays(repository: Repository) -> None:
    """An empty file is still there afterwards, and empty."""
    file = attributes_file(repository)
    file.touch()
    assert register(repository, WORDS).in_force
    unregister(repository)
    assert file.read_bytes() == b""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\xef\xbb\xbf" + LINE + b"\n* text\n", b"\xef\xbb\xbf* text\n"),
        (LINE + b"\n* text\n" + LINE + b"\n", b"* text\n"),
        (LINE + b"\r\n* text\r\n" + LINE, b"* text"),
        (LINE + b"\n" + LINE + b"\n", None),
    ],
)
def test_existing_attribute_line_is_not_added_twice(repository: Repository, before: bytes, after: bytes | None) -> None:
    """An existing line, after a byte order mark or twice after a merge, is not added, and is removed on request."""
    file = attributes_file(repository)
    file.write_bytes(before)
    assert not register(repository, WORDS).attribute
    done = unregister(repository)
    assert (done.attribute, done.config, done.in_force) == (True, True, False)
    assert (file.read_bytes() if file.exists() else None) == after


def test_later_attribute_line_is_reported(repository: Repository) -> None:
    """The result says so if another line keeps git from using the driver."""
    info = Path(repository.top, ".git/info/attributes")
    info.parent.mkdir(exist_ok=True)
    info.write_text("history.json merge=union\n")
    assert not register(repository, WORDS).in_force


def test_command_stays_until_the_last_project(real_repository: Project) -> None:
    """Two projects of a repository have a line each; the command stays until the last line is removed."""
    one, two = (real_repository.root / name for name in ("one", "two"))
    repositories = []
    for folder in (one, two):
        folder.mkdir()
        repositories.append(Repository.around(str(folder)))
        register(repositories[-1], WORDS)
    first = unregister(repositories[0])
    assert (first.attribute, first.config, first.shared) == (True, False, True)
    assert attributes_file(repositories[0]).read_bytes() == b"two/" + LINE + b"\n"
    assert unregister(repositories[1]).config


@pytest.mark.parametrize("name", ["a b", "#x", "!x", '"x', "[a]*?", "é\\", "a\tb\nc", "-", "\udcff", "\u202e"])
def test_attribute_line_matches_any_folder_name(real_repository: Project, name: str) -> None:
    """Whatever the folder is called, the line means the history in it."""
    folder = real_repository.root / name
    folder.mkdir()
    repository = Repository.around(str(folder))
    assert repository.prefix == f"{name}/"
    done = register(repository, WORDS)
    assert done.in_force
    assert repository.attribute("merge", "a/.nexus/history.json") == "unspecified"
    assert unregister(repository).attribute


def test_git_variables_of_another_repository_are_ignored(
    real_repository: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The git variables of an outer repository are ignored."""
    other = real_repository.root.parent / "other"
    other.mkdir()
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_CONFIG", str(other / "config"))
    register(Repository.around(str(real_repository.root)), WORDS)
    assert DRIVER_KEY.rpartition(".")[2].encode() in (real_repository.root / ".git/config").read_bytes()
    assert not (other / "config").exists()


def no_repository(root: Path) -> Path:
    return root


def bare(root: Path) -> Path:
    subprocess.run(["git", "init", "-q", "--bare", str(root)], check=True)
    return root


def inside_git(root: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root / ".git"


@pytest.mark.parametrize("make", [no_repository, bare, inside_git])
def test_registration_needs_a_working_tree(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    """Without a repository, or without a working tree in it, there is nothing to register in."""
    (tmp_path / "root").mkdir()
    folder = make(tmp_path / "root")
    with pytest.raises(UsageError, match=r"is in no git repository with a work.* \(git: fatal: .*\)\. ") as caught:
        Repository.around(str(folder))
    assert "\n" not in str(caught.value)


def test_missing_git_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git the message says that git is missing."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"git cannot be run: No such file or directory\. Install git"):
        Repository.around(str(tmp_path))


def test_attributes_behind_a_link_are_refused(repository: Repository) -> None:
    """A .gitattributes that is a link is not followed, and nothing is configured."""
    elsewhere = Path(repository.top).parent / "elsewhere"
    elsewhere.write_bytes(b"")
    attributes_file(repository).symlink_to(elsewhere)
    before = config(repository)
    with pytest.raises(PathRefused, match="symbolic link"):
        register(repository, WORDS)
    with pytest.raises(PathRefused, match="symbolic link"):
        unregister(repository)
    assert (elsewhere.read_bytes(), config(repository)) == (b"", before)


def test_locked_configuration_changes_nothing(repository: Repository) -> None:
    """If git cannot change its configuration, its own message is shown, and .gitattributes stays unchanged."""
    Path(repository.top, ".git/config.lock").touch()
    with pytest.raises(NexusError, match=r"git could not change its configuration: error: could not lock config file"):
        register(repository, WORDS)
    assert not attributes_file(repository).exists()


def test_concurrent_change_of_attributes_is_kept(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """A concurrent edit of .gitattributes is kept, and the line is added to it."""
    added = driver.add_line

    def late(data: bytes | None, line: bytes) -> bytes | None:
        if data is None:
            attributes_file(repository).write_bytes(b"new\n")
        return added(data, line)

    monkeypatch.setattr(driver, "add_line", late)
    assert register(repository, WORDS).attribute
    written = attributes_file(repository).read_bytes()
    assert written.startswith(b"new\n")
    assert len(written.splitlines()) > 1
