"""Unreadable files are named, no link is followed, and the other resources stay available."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nexus_mcp.knowledge import index
from nexus_mcp.server.resources import definition, session
from tests.server.app_requests import Asker
from tests.support import Project, plan, tasks

ADVICE = "Look at what was put there and why; move it away yourself if it is not needed, then call again."


@pytest.mark.requirement("resources.outside")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("../../plan.json", 'has a segment "." or ".."'),
        ("%2E%2E/x", 'has a segment "." or ".."'),
        ("a//b", "has an empty segment"),
        ("/etc/passwd", "is an absolute path"),
        ("a%5Cb", "has a backslash"),
        ("a%00b", "has a control or invisible character"),
        ("a%E2%80%AEb", "has a control or invisible character"),
        (".git/config", "has a segment that git would obey"),
        ("~root", "has a ~"),
        ("C:x", "has a colon"),
        ("con", "has a segment that is a device name on Windows"),
        ("x" * 201, "has a segment over 200 bytes"),
        ("a/" * 16 + "b", "has more than 16 segments"),
        (".nexus-tmp-0", "has a segment that is kept for temporary files"),
    ],
)
def test_invalid_artifact_names_are_refused(ask: Asker, name: str, told: str) -> None:
    """A name that artifact_write would refuse is refused here too, before any file is opened."""
    refused = ask.refused("resources/read", uri=f"nexus://artifacts/{name}")
    assert refused == (-32602, f"Not a usable URI: the name {told}.")


@pytest.mark.requirement("resources.outside")
@pytest.mark.parametrize("kind", ["memory", "context", "rules"])
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("..%2F..%2Fsecret.md", 'the name has a segment "." or ".."'),
        ("a%2Fb.md", "a note is called name.md"),
        ("a.txt", "a note is called name.md"),
        ("a%0A.md", "the name has a control or invisible character"),
    ],
)
def test_invalid_note_names_are_refused(ask: Asker, kind: str, name: str, told: str) -> None:
    """A note has to be in its folder, and to have the name of a note."""
    assert ask.refused("resources/read", uri=f"nexus://{kind}/{name}") == (-32602, f"Not a usable URI: {told}.")


@pytest.mark.requirement("resources.outside")
def test_resource_behind_a_link_is_refused(ask: Asker, project: Project, tmp_path: Path) -> None:
    """No link is followed, whatever it leads to and wherever it stands; none is listed."""
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    project.put("state/artifacts/plain.md", "x")
    project.put("memory/plain.md", "x")
    nexus = project.root / ".nexus"
    (nexus / "state" / "artifacts" / "link.md").symlink_to(secret)
    (nexus / "state" / "artifacts" / "folder").symlink_to(tmp_path)
    (nexus / "memory" / "link.md").symlink_to(secret)
    (nexus / "rules").symlink_to(tmp_path)
    for uri, place, wanted in (
        ("nexus://artifacts/link.md", "state/artifacts/link.md", "a file"),
        ("nexus://artifacts/folder/secret.md", "state/artifacts/folder", "a folder"),
        ("nexus://memory/link.md", "memory/link.md", "a file"),
        ("nexus://rules/secret.md", "rules", "a folder"),
    ):
        told = f".nexus/{place} is a symbolic link where {wanted} belongs; nothing was changed. {ADVICE}"
        assert ask.refused("resources/read", uri=uri) == (-32603, told)
    names = [entry["name"] for entry in ask("resources/list")["resources"]]
    assert [name for name in names if name.startswith(("artifacts/", "memory/", "rules/"))] == [
        "artifacts/plain.md",
        "memory/plain.md",
    ]


def test_pipe_is_neither_read_nor_listed(ask: Asker, project: Project) -> None:
    """A pipe in place of a file blocks no request, and is not listed."""
    project.put("state/artifacts/a.md", "x")
    os.mkfifo(project.root / ".nexus" / "state" / "artifacts" / "pipe")
    code, told = ask.refused("resources/read", uri="nexus://artifacts/pipe")
    assert (code, told.split(";")[0]) == (-32603, ".nexus/state/artifacts/pipe is a special file where a file belongs")
    assert "artifacts/pipe" not in [entry["name"] for entry in ask("resources/list")["resources"]]


@pytest.mark.parametrize("uri", ["nexus://artifacts/a", "nexus://memory/a.md"])
def test_file_beyond_4_mib_is_only_listed(
    ask: Asker, project: Project, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of more than 4 MiB is not read, but listed with its size."""
    assert definition.LIMIT == 4 << 20
    place = "state/artifacts/a" if "artifacts" in uri else "memory/a.md"
    with open(project.put(place, b""), "wb") as file:
        file.truncate(definition.LIMIT)
        assert len(ask("resources/read", uri=uri)["contents"]) == 1
        file.truncate(definition.LIMIT + 1)
    code, told = ask.refused("resources/read", uri=uri)
    advice = "Have its author split it, or read the file itself, a part at a time, on the machine of the server."
    fault = f".nexus/{place} is larger than the 4 MiB that are read"
    assert (code, told) == (-32603, f"{fault}; nothing was changed. {advice}")
    sizes = {entry["uri"]: entry.get("size") for entry in ask("resources/list")["resources"]}
    assert sizes[uri] == definition.LIMIT + 1


@pytest.mark.requirement("resources.broken")
@pytest.mark.parametrize(
    ("uri", "file", "found"),
    [
        ("nexus://plan", "state/plan.json", ("{", "(line 1, column 2) is not JSON")),
        ("nexus://tasks", "state/tasks.json", ("[]", "is not a valid tasks file")),
        ("nexus://tasks/ready", "state/tasks.json", ("", "is empty")),
        ("nexus://history", "history.json", ('{"cycles": 1}', "")),
        ("nexus://cycle/x", "history.json", ("<<<<<<< a\n", "(line 1) has git conflict markers")),
        ("nexus://memory/a.md", "memory/a.md", ("\ufeffok\né".encode() + b"\xff", "(line 2, column 2) is not UTF-8")),
        ("nexus://agents/x", "agents/x/meta.yml", ("a: [", "x cannot be used as it is")),
    ],
)
def test_malformed_file_does_not_break_the_list(
    ask: Asker, project: Project, uri: str, file: str, found: tuple[str | bytes, str]
) -> None:
    """A malformed file is reported by its name and place, stays unchanged, and does not break the list."""
    content, told = found
    project.put(file, content)
    before = project.snapshot()
    code, message = ask.refused("resources/read", uri=uri)
    assert code == -32603
    assert f".nexus/{file}" in message
    assert told in message
    listed = [entry["uri"] for page in ask.pages("resources/list", "resources") for entry in page]
    assert listed[:3] == ["nexus://plan", "nexus://tasks", "nexus://tasks/ready"]
    assert project.snapshot() == before


def test_folder_with_too_many_notes_is_not_listed(
    ask: Asker, project: Project, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The notes of a folder with too many notes are not listed, and the log has the next step; each note is
    readable.
    """
    monkeypatch.setattr(index, "MOST_NOTES", 1)
    for name in ("a", "b"):
        project.put(f"memory/{name}.md", name)
    assert "memory" not in {entry["name"].split("/")[0] for entry in ask("resources/list")["resources"]}
    assert (
        "nexus://memory/{name} is not listed: .nexus/memory has 2 notes, more than the 1 that are listed; nothing was "
        "changed. Merge notes about one subject, and move unneeded notes out of the folder; each note can still be read"
    ) in capfd.readouterr().err
    assert ask.text("nexus://memory/b.md") == "b"


@pytest.mark.parametrize("name", ["plan", "tasks", "tasks/ready"])
def test_large_session_file_is_listed_without_size(
    ask: Asker, project: Project, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session file is read up to the limit of the tools; a larger one is not read for the size in the list."""
    file = "state/plan.json" if name == "plan" else "state/tasks.json"
    with open(project.put(file, plan(1) if name == "plan" else tasks()), "r+b") as opened:
        size = len(opened.read())
        for bound, is_known in ((size, True), (size - 1, False)):
            monkeypatch.setattr(session, "SIZED", bound)
            (entry,) = [entry for entry in ask("resources/list")["resources"] if entry["name"] == name]
            assert (entry.get("size") == len(ask.text(f"nexus://{name}")), "size" in entry) == (is_known, is_known)
            assert "lastModified" in entry["annotations"]
        opened.truncate((64 << 20) + 1)
    code, told = ask.refused("resources/read", uri=f"nexus://{name}")
    assert (code, told.split(";")[0]) == (-32603, f".nexus/{file} is larger than the 64 MiB that are read")


def test_unreadable_file_is_listed_without_size(ask: Asker, project: Project) -> None:
    """An unreadable file is listed without a size."""
    project.put("state/tasks.json", tasks())
    sizes = {entry["name"]: entry.get("size") for entry in ask("resources/list")["resources"]}
    assert (sizes["tasks"], sizes["history"]) == (len(ask.text("nexus://tasks")), None)
    project.put("state/tasks.json", "{")
    sizes = {entry["name"]: entry.get("size") for entry in ask("resources/list")["resources"]}
    assert (sizes["tasks"], sizes["tasks/ready"], sizes["plan"]) == (None, None, len('{"active":false}'))
