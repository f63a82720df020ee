"""The permissions of new files and folders, and of files that replace others."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from nexus_mcp.store import atomic
from nexus_mcp.store.folder import PRIVATE, Copy, Folder
from tests.store.users import ANN, BEN, ROOT, TEAM, by, made


@pytest.mark.parametrize(
    ("folder", "umask", "wanted"),
    [
        (0o0700, 0o000, (0o600, 0o600, 0o700)),
        (0o0755, 0o000, (0o644, 0o600, 0o755)),
        (0o0755, 0o077, (0o600, 0o600, 0o700)),
        (0o0775, 0o002, (0o664, 0o660, 0o775)),
        (0o0775, 0o022, (0o644, 0o640, 0o755)),
        (0o0777, 0o022, (0o644, 0o640, 0o755)),
        (0o2750, 0o077, (0o640, 0o600, 0o2750)),
        (0o2755, 0o022, (0o644, 0o600, 0o2755)),
        (0o2770, 0o077, (0o660, 0o660, 0o2770)),
        (0o2775, 0o022, (0o664, 0o660, 0o2775)),
        (0o2777, 0o022, (0o664, 0o660, 0o2775)),
        (0o3770, 0o022, (0o660, 0o660, 0o2770)),
    ],
)
def test_the_folder_and_the_umask_decide(
    fast_path: Path, folder: int, umask: int, wanted: tuple[int, int, int]
) -> None:
    """A setgid folder decides for its group; in any other one the umask does, too.

    `wanted` are the bits of a plain file, of a private one, and of a folder.
    """
    root = fast_path / "folder"
    root.mkdir()
    root.chmod(folder)
    before = os.umask(umask)
    try:
        with Folder.root(str(root)) as top:
            flags = os.O_CREAT | os.O_WRONLY
            for name, kind in (("plain", None), ("private", PRIVATE)):
                os.close(top.open(name, flags, kind))
                os.close(top.open(name, flags, kind))  # one that is there stays as it is
            top.make("below")[0].close()
    finally:
        os.umask(before)
    found = [stat.S_IMODE((root / name).stat().st_mode) for name in ("plain", "private", "below")]
    assert list(map(oct, found)) == list(map(oct, wanted))


def replaced(root: Path) -> list[str]:
    """A file is replaced, and copied twice; the permissions of all three."""
    with Folder.root(str(root)) as top:
        source = top.plain("file")
        atomic.put(top, "file", b"new")
        atomic.replace(top, "kept", [b"kept"], mode=source)
        atomic.replace(top, "copy", [b"copy"], mode=Copy([source], private=False))
    return [oct(stat.S_IMODE((root / name).stat().st_mode)) for name in ("file", "kept", "copy")]


REPLACED = (
    (0o2770, 0o640, TEAM, ["0o640", "0o640", "0o640"]),
    (0o2770, 0o600, TEAM, ["0o600", "0o600", "0o600"]),
    (0o2770, 0o4755, TEAM, ["0o755", "0o755", "0o640"]),  # no user gets a program that runs as another user
)
# Groups that only root can give to a file.
REPLACED_OF_ANOTHER_GROUP = (
    (0o2770, 0o664, ANN, ["0o664", "0o664", "0o640"]),  # the folder's group takes the place of the other one
    (0o0777, 0o664, ANN, ["0o644", "0o644", "0o644"]),  # the group of the file cannot be kept
    (0o0777, 0o640, ANN, ["0o600", "0o600", "0o600"]),
    (0o0777, 0o640, TEAM, ["0o640", "0o640", "0o600"]),  # here it can
)


@pytest.mark.parametrize(
    ("folder", "bits", "group", "found"), [*REPLACED, *(REPLACED_OF_ANOTHER_GROUP if ROOT else ())]
)
def test_a_file_that_is_replaced_keeps_its_bits(
    fast_path: Path, folder: int, bits: int, group: int, found: list[str]
) -> None:
    """The bits are those for the file's group; another group gets those of all users, or those of the folder."""
    root = made(fast_path / "project", folder)
    (root / "file").write_text("old")
    if ROOT:
        os.chown(root / "file", BEN, group)
    (root / "file").chmod(bits)
    assert by(BEN, root, replaced) == found


def test_refused_group_makes_the_file_no_more_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a mount refuses a change of permissions, the file is created nevertheless, with no more than the requested
    permissions.
    """
    root = made(tmp_path / "project", 0o2770)

    def refuse(fd: int, mode: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchmod", refuse)
    with Folder.root(str(root)) as top:
        os.close(top.open("file", os.O_CREAT | os.O_WRONLY, PRIVATE))
        top.make("folder")[0].close()
    assert (root / "file").stat().st_mode & 0o007 == 0
    assert (root / "folder").is_dir()


def test_a_new_file_whose_permissions_fail_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left of it, and the error is the system's."""
    root = made(tmp_path / "project", 0o2770)
    (root / "old").touch(0o604)
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    def fail(fd: int, mode: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fchmod", fail)
    with Folder.root(str(root)) as top, pytest.raises(OSError, match="Input/output"):
        top.open("new", os.O_CREAT | os.O_WRONLY, (root / "old").stat())
    assert [path.name for path in root.iterdir()] == ["old"]
    assert not descriptors or len(os.listdir("/proc/self/fd")) == descriptors
