"""artifact_write writes a text below state/artifacts, and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import Client, Project

LONGEST = "a" * 200


@pytest.mark.requirement("artifact_write.result", "artifact_write.place", "artifact_write.relative", "root.resolved")
@pytest.mark.parametrize(
    "name",
    [
        "note.md", "a/b/c.txt", "ä/漢字.md", "with space.md", ".hidden", "..a", "a..b", "...b", "UPPER", "conx",
        "com10", "lpt", "nulls.txt", "git", "x.git",
        ".gitattributes", ".github/x", "a-b", "%2e%2e", "%", "a&b", "'q'", '"q"', "a*b?", "<x>", "a|b", LONGEST,
        "é" * 100, "/".join("a" * 16),
        "consul", "auxiliary.md", "e\u0301.md", "😀",
    ],
)  # fmt: skip
def test_valid_names_are_written(call: Client, project: Project, name: str) -> None:
    """An ordinary relative name is written below the artifacts folder and answered as an absolute path."""
    path = project.state / "artifacts" / name
    assert call("artifact_write", filename=name, content="text") == {"success": True, "path": str(path)}
    assert path.read_bytes() == b"text"


@pytest.mark.requirement("artifact_write.overwrites")
def test_second_write_replaces_the_first(call: Client, project: Project) -> None:
    """A second write replaces the first, longer or shorter, and leaves nothing beside it."""
    for content in ("first, long", "2", "third"):
        call("artifact_write", filename="d/x.md", content=content)
        assert project.get("state/artifacts/d/x.md") == content.encode()
    assert os.listdir(project.state / "artifacts" / "d") == ["x.md"]


@pytest.mark.requirement("artifact_write.content")
@pytest.mark.parametrize(
    "content",
    [
        "", " ", "no newline", "\r\n\r", "\ufeffBOM", "漢字 😀 é e\u0301", '{"json": true}', "\x01\x7f\u202e",
        "x" * 100_000,
    ],
)  # fmt: skip
def test_content_is_written_as_given(call: Client, project: Project, content: str) -> None:
    """Neither line ends nor marks nor length change."""
    call("artifact_write", filename="x", content=content)
    assert project.get("state/artifacts/x") == content.encode()


BIDI = [chr(c) for c in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))]
ZERO_WIDTH = [chr(c) for c in (0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF)]
CONTROLS = [chr(c) for c in (*range(1, 32), *range(0x7F, 0xA0))]
DEVICES = ["con", "prn", "aux", "nul", *(f"com{n}" for n in range(1, 10)), *(f"lpt{n}" for n in range(1, 10))]


def attack(rows: list[str]) -> list[str]:
    """Return file names with each attack unchanged, as the first segment, as the last and in the middle."""
    return [form for name in rows for form in (name, f"{name}/x", f"x/{name}", f"x/{name}/y")]


def refused(call: Client, project: Project, name: str) -> None:
    message = call.error("artifact_write", filename=name, content="text")
    assert "filename" in message
    assert not project.nexus.exists()


@pytest.mark.requirement("artifact_write.segments")
@pytest.mark.parametrize(
    "name",
    [
        "", " ", ".", "..", "./", "../", "a/", "a//b", "//", "./a", "a/.", "a/./b", "../a", "a/..", "a/../b",
        "a/../../b", "../../../../etc/passwd",
        "a/b/../../../c", "x/..//y", "a///b", "a/b/", "a/b//",
    ],
)  # fmt: skip
def test_empty_and_dot_segments_are_refused(call: Client, project: Project, name: str) -> None:
    """Empty, dot and dot-dot segments are refused even where they would lead nowhere bad."""
    refused(call, project, name)


@pytest.mark.requirement("artifact_write.absolute")
@pytest.mark.parametrize(
    "name",
    [
        "/a", "/", "//a/b", "/etc/passwd", "~", "~/a", "~root/a", "a/~/b", "\\a", "a\\b", "..\\a", "\\\\server\\share",
        "C:", "C:/a", "C:\\a", "c:a",
        "a/C:/b", "file:///etc/passwd", "http://x/y", "a:b", "x/a:stream", "a:", ":a", "x::$DATA",
    ],
)  # fmt: skip
def test_absolute_names_are_refused(call: Client, project: Project, name: str) -> None:
    """Nothing that means a root, a drive, a home or a scheme anywhere is taken."""
    refused(call, project, name)


@pytest.mark.requirement("artifact_write.characters")
@pytest.mark.parametrize("character", [*CONTROLS, *BIDI, *ZERO_WIDTH], ids=lambda c: f"U+{ord(c):04X}")
@pytest.mark.parametrize("form", ["a{}b", "{}a", "a{}", "d{}/a"])
def test_invisible_characters_are_refused(call: Client, project: Project, character: str, form: str) -> None:
    """No invisible character hides in a name."""
    refused(call, project, form.format(character))


@pytest.mark.requirement("artifact_write.characters", "calls.nul", "calls.surrogates")
@pytest.mark.parametrize("name", ["\0", "a\0b", "a\0/../../b", "\ud800", "a\udc00b", "d\udfff/a"])
def test_nul_and_surrogates_are_refused(call: Client, project: Project, name: str) -> None:
    """Neither NUL nor half a character is in a name."""
    refused(call, project, name)


@pytest.mark.requirement("artifact_write.endings")
@pytest.mark.parametrize("name", attack(["a.", "a ", "a. ", "a .", "...", ". .", "a..", "a.txt.", "b  "]))
def test_trailing_dot_or_space_is_refused(call: Client, project: Project, name: str) -> None:
    """A dot or a space at a segment's end is refused."""
    refused(call, project, name)


@pytest.mark.requirement("artifact_write.devices")
@pytest.mark.parametrize("name", attack([d.upper() for d in DEVICES[:6]]))
def test_device_name_is_refused_in_every_segment(call: Client, project: Project, name: str) -> None:
    """A device name is refused as any segment."""
    refused(call, project, name)


@pytest.mark.requirement("artifact_write.devices")
@pytest.mark.parametrize("device", [*DEVICES, "conin$", "conout$", "com¹", "com²", "com³", "lpt¹", "lpt²", "lpt³"])
@pytest.mark.parametrize("form", ["{}", "{}.txt", "{}.tar.gz", "x/{}"])
def test_device_names_are_refused(call: Client, project: Project, device: str, form: str) -> None:
    """Device names are refused in any case and with any extension."""
    refused(call, project, form.format(device))
    refused(call, project, form.format(device.title()))


@pytest.mark.requirement("artifact_write.devices")
@pytest.mark.parametrize("name", ["nul .txt", "con  .a", "NUL. .txt", "aux.  x"])
def test_device_name_before_a_padded_extension_is_refused(call: Client, project: Project, name: str) -> None:
    """Windows ignores blanks before the extension, so they do not help."""
    refused(call, project, name)


@pytest.mark.requirement("artifact_write.git")
@pytest.mark.parametrize("name", attack([".git", ".GIT", ".Git", ".gitignore", ".GitIgnore"]))
def test_git_segments_are_refused(call: Client, project: Project, name: str) -> None:
    """Nothing that git takes for its own is written, on any file system."""
    refused(call, project, name)


@pytest.mark.requirement("artifact_write.hyphen")
@pytest.mark.parametrize("name", attack(["-", "-rf", "--help"]))
def test_leading_hyphen_is_refused(call: Client, project: Project, name: str) -> None:
    """No segment can be taken for an option."""
    refused(call, project, name)


@pytest.mark.requirement("artifact_write.length")
@pytest.mark.parametrize(
    "name",
    [
        "a" * 201, "é" * 101, "x/" + "a" * 201, "/".join("a" * 17), "漢" * 67, "/".join("a" * 5000),
    ],
)  # fmt: skip
def test_long_names_are_refused(call: Client, project: Project, name: str) -> None:
    """A segment has at most 200 bytes of UTF-8, a name at most 16 segments."""
    refused(call, project, name)


@pytest.mark.requirement("artifact_write.links", "links.refused", "tree.outside")
@pytest.mark.parametrize(
    "link",
    [
        ".nexus", ".nexus/state", ".nexus/state/artifacts", ".nexus/state/artifacts/d", ".nexus/state/artifacts/d/x",
    ],
)  # fmt: skip
@pytest.mark.parametrize("target", ["folder", "file", "missing"])
def test_link_on_the_way_is_refused(call: Client, project: Project, tmp_path: Path, link: str, target: str) -> None:
    """A link on the way is refused, wherever it points, and nothing appears behind it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "folder").mkdir()
    (outside / "file").write_text("kept")
    place = project.root / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(outside / target)
    call.error("artifact_write", filename="d/x", content="text")
    assert sorted(os.listdir(outside)) == ["file", "folder"]
    assert os.listdir(outside / "folder") == []
    assert (outside / "file").read_text() == "kept"


@pytest.mark.requirement("artifact_write.links")
def test_link_inside_the_folder_is_refused(call: Client, project: Project) -> None:
    """A link is refused even when it stays inside."""
    project.put("state/artifacts/real/x", b"kept")
    (project.state / "artifacts" / "alias").symlink_to("real")
    call.error("artifact_write", filename="alias/x", content="text")
    assert project.get("state/artifacts/real/x") == b"kept"


@pytest.mark.requirement("files.kind")
def test_folder_in_place_of_the_file_is_refused(call: Client, project: Project) -> None:
    """A folder is not replaced by a file, nor a file by a folder."""
    project.put("state/artifacts/d/x", b"kept")
    call.error("artifact_write", filename="d", content="text")
    call.error("artifact_write", filename="d/x/y", content="text")


@pytest.mark.requirement("files.kind")
def test_pipe_in_place_of_the_file_is_refused(call: Client, project: Project) -> None:
    """A pipe is neither written to nor waited for."""
    project.put("state/artifacts/keep", b"")
    os.mkfifo(project.state / "artifacts" / "x")
    call.error("artifact_write", filename="x", content="text")


@pytest.mark.requirement("artifact_write.overwrites")
def test_a_hard_link_is_not_written_through(call: Client, project: Project, tmp_path: Path) -> None:
    """Another name of the same file keeps its content."""
    outside = tmp_path / "other-name"
    outside.write_text("kept")
    (project.state / "artifacts").mkdir(parents=True)
    os.link(outside, project.state / "artifacts" / "x")
    call("artifact_write", filename="x", content="text")
    assert outside.read_text() == "kept"
    assert project.get("state/artifacts/x") == b"text"


@pytest.mark.requirement("calls.missing", "calls.types")
def test_both_parameters_are_required_texts(call: Client) -> None:
    """Both parameters are required and are texts."""
    assert call.error("artifact_write") == "filename is required; content is required"
    assert "content" in call.error("artifact_write", filename="x", content={"a": 1})
    assert "content" in call.error("artifact_write", filename="x", content=5)
    assert "filename" in call.error("artifact_write", filename=5, content="x")


@pytest.mark.requirement("artifact_write.place", "files.broken-kept")
def test_artifact_is_written_despite_broken_files(call: Client, project: Project) -> None:
    """An artifact can be written while plan, tasks and history are broken."""
    for name in ("history.json", "state/plan.json", "state/tasks.json"):
        project.put(name, b"{")
    assert call("artifact_write", filename="x", content="text")["success"] is True
    assert [project.get(n) for n in ("history.json", "state/plan.json", "state/tasks.json")] == [b"{"] * 3
