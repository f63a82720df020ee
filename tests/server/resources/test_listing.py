"""Lists of resources: entries, templates, pages."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from nexus_mcp.errors import StorageError
from nexus_mcp.packaged import data_path
from nexus_mcp.server.paging import SIZE
from nexus_mcp.server.resources import RESOURCES, artifacts, catalogued, notes
from nexus_mcp.store.codec import without_surrogates
from nexus_mcp.store.folder import Folder
from tests.server.app_requests import Asker
from tests.support import Project

WHEN = 1_767_323_045.25
STAMP = "2026-01-02T03:04:05.250Z"
CATALOG = ("nexus://agents/", "nexus://skills/", "skill://")


def own(ask: Asker) -> list[str]:
    """Return the names in the list, without agents and skills."""
    entries = [entry for page in ask.pages("resources/list", "resources") for entry in page]
    return [entry["name"] for entry in entries if not entry["uri"].startswith(CATALOG)]


def test_empty_project_lists_the_readable_resources(ask: Asker) -> None:
    """The resources that need no file are always listed, and so are the agents and skills."""
    assert own(ask) == ["plan", "tasks", "tasks/ready", "history", "knowledge"]
    names = [entry["name"] for entry in ask("resources/list")["resources"]]
    agents = sorted(os.listdir(data_path("assets", "agents")))
    assert len(agents) == 9
    skills = ["nx-init", "nx-plan", "nx-run", "nx-sync"]
    assert names[5:] == [*(f"agents/{name}" for name in agents), *(f"skills/{name}" for name in skills), *skills]


@pytest.mark.requirement("resources.listed")
def test_entry_has_title_type_size_and_time(ask: Asker, project: Project) -> None:
    """An entry has title, MIME type, the size of its content, and annotations with the time of the last change."""
    os.utime(project.put("memory/a b.md", "ö\n"), (WHEN, WHEN))
    os.utime(project.put("state/artifacts/deep/x.png", b"123"), (WHEN, WHEN))
    entries = {entry["name"]: entry for entry in ask("resources/list")["resources"]}
    assert entries["memory/a b.md"] == {
        "uri": "nexus://memory/a%20b.md",
        "name": "memory/a b.md",
        "title": "a b.md",
        "description": (
            "What was learnt in this project and is worth keeping. Each read is counted in the access record."
        ),
        "mimeType": "text/markdown",
        "size": 3,
        "annotations": {"audience": ["user", "assistant"], "priority": 0.5, "lastModified": STAMP},
    }
    assert entries["artifacts/deep/x.png"] == {
        "uri": "nexus://artifacts/deep/x.png",
        "name": "artifacts/deep/x.png",
        "title": "deep/x.png",
        "description": "A file that an agent left with artifact_write; text, or base64 for any other content.",
        "mimeType": "image/png",
        "size": 3,
        "annotations": {"audience": ["user", "assistant"], "priority": 0.4, "lastModified": STAMP},
    }
    assert entries["plan"]["size"] == len('{"active":false}')
    assert "lastModified" not in entries["plan"]["annotations"]
    for name in ("knowledge", "agents/tester", "skills/nx-run"):
        assert entries[name]["size"] == len(ask.text(f"nexus://{name}").encode())


@pytest.mark.parametrize("when", [-1, 253_402_300_800, 10**17])
def test_impossible_time_is_left_out(ask: Asker, project: Project, when: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that claims one is listed without it, whatever the file system can hold."""
    project.put("memory/a.md", "x")
    path = project.put("state/artifacts/a", "x")
    real = os.lstat

    def lstat(file: str) -> os.stat_result:
        seen = real(file)
        return os.stat_result([*seen[:8], when, *seen[9:10]]) if str(file).startswith(str(project.nexus)) else seen

    monkeypatch.setattr(os, "lstat", lstat)
    assert os.lstat(path).st_mtime == when
    entries = {entry["name"]: entry["annotations"] for entry in ask("resources/list")["resources"]}
    for name in ("memory/a.md", "artifacts/a"):
        assert "lastModified" not in entries[name]


@pytest.mark.requirement("resources.listed")
def test_listed_types_and_sizes_match_the_content(ask: Asker, project: Project) -> None:
    """The list has no MIME type that depends on unread content, and the size of the content that is sent."""
    for name, data in (("a.txt", b"x"), ("b.txt", b"\xff"), ("c.pdf", b"x"), ("d", b"x"), ("e.md", b"\0")):
        project.put(f"state/artifacts/{name}", data)
    project.put("memory/a.md", "x")
    os.close(os.open(os.fsencode(project.nexus / "memory") + b"/\xff\xfe.md", os.O_CREAT | os.O_WRONLY))
    entries = ask("resources/list")["resources"]
    assert {entry["title"]: entry.get("mimeType") for entry in entries if "artifacts/" in entry["name"]} == {
        "a.txt": None,
        "b.txt": None,
        "c.pdf": "application/pdf",
        "d": None,
        "e.md": None,
    }
    for entry in entries:
        (content,) = ask("resources/read", uri=entry["uri"])["contents"]
        assert entry.get("mimeType") in (None, content["mimeType"])
        if "text" in content:
            assert entry.get("size") in (None, len(without_surrogates(content["text"]).encode()))


@pytest.mark.requirement("resources.listed")
def test_every_entry_can_be_read(ask: Asker, project: Project) -> None:
    """Each URI that is listed is one of a resource."""
    project.put("rules/ö.md", "x")
    project.put("context/c.md", "x")
    project.put("state/artifacts/a/ä?#% .md", "x")
    listed = [entry["uri"] for page in ask.pages("resources/list", "resources") for entry in page]
    assert len(listed) == 5 + 13 + 4 + 3
    for uri in listed:
        assert ask("resources/read", uri=uri)["contents"][0]["uri"] == uri


def test_unreadable_names_are_not_listed(ask: Asker, project: Project) -> None:
    """A file that could not be read by its name is not listed; and no listed text has raw control characters."""
    for name in ("a\u202eb.md", "a\nb.md", "x.txt", ".hidden.md", "~a.md"):
        project.put(f"memory/{name}", "x")
    for name in ("a\nb", ".nexus-tmp-1", "good"):
        project.put(f"state/artifacts/{name}", "x")
    project.put("state/artifacts/-folder/x", "x")
    assert own(ask) == ["plan", "tasks", "tasks/ready", "history", "artifacts/good", "knowledge"]


@pytest.mark.requirement("resources.pages")
@pytest.mark.parametrize("count", [SIZE, 1000])
def test_long_list_has_pages_of_100(ask: Asker, project: Project, count: int) -> None:
    """A long list comes in pages of a hundred, folder by folder, each resource once."""
    for number in range(count):
        project.put(f"state/artifacts/{number % 7}/{number % 3}/{number:04}", "x")
        project.put(f"memory/n{number:04}.md", "x")
    pages = ask.pages("resources/list", "resources")
    assert [len(page) for page in pages[:-1]] == [SIZE] * (len(pages) - 1)
    names = [entry["name"] for page in pages for entry in page if not entry["uri"].startswith(CATALOG)]
    artifacts = sorted(f"artifacts/{number % 7}/{number % 3}/{number:04}" for number in range(count))
    notes = [f"memory/n{number:04}.md" for number in range(count)]
    assert names == ["plan", "tasks", "tasks/ready", "history", *artifacts, "knowledge", *notes]


@pytest.mark.requirement("resources.pages")
def test_entries_of_other_pages_are_not_opened(ask: Asker, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes, artifacts and agents of other pages are not opened for this one."""
    for number in range(3 * SIZE):
        project.put(f"state/artifacts/{number:04}", "x")
        project.put(f"memory/n{number:04}.md", "x")
    looked: Counter[str] = Counter()

    def counted(module: ModuleType, name: str, word: Callable[..., str]) -> None:
        real = getattr(module, name)

        def look(*given: Any) -> Any:
            looked[word(*given)] += 1
            return real(*given)

        monkeypatch.setattr(module, name, look)

    counted(artifacts, "is_safe", str)
    counted(notes, "read_head", lambda _, name: str(name))
    counted(catalogued, "has_text", lambda entry: str(entry["id"]))
    names = [entry["name"].rpartition("/")[2] for page in ask.pages("resources/list", "resources") for entry in page]
    listed = set(names) - {"plan", "tasks", "ready", "history", "knowledge"}
    assert looked.keys() == listed
    assert max(looked.values()) <= 2  # the first of the next page tells that there is one


@pytest.mark.requirement("resources.listed")
def test_unreadable_folder_hides_no_other(
    ask: Asker, project: Project, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """An unreadable folder is logged, and hides no later entry, neither from the list nor from completion."""
    for name in ("a", "b/c/x", "b/d", "e"):
        project.put(f"state/artifacts/{name}", "x")
    child = Folder.child

    def refused(self: Folder, name: str) -> Folder | None:
        if name == "c":
            raise StorageError(self.show(name), "open", "Permission denied")
        return child(self, name)

    monkeypatch.setattr(Folder, "child", refused)
    assert [name for name in own(ask) if name.startswith("artifacts/")] == [
        "artifacts/a",
        "artifacts/b/d",
        "artifacts/e",
    ]
    assert "not all artifacts are listed: Could not open .nexus/state/artifacts/b/c" in capfd.readouterr().err
    assert ask.complete("nexus://artifacts/{+path}", "path")["values"] == ["a", "b/d", "e"]


def test_pages_list_folders_and_files_in_one_order(ask: Asker, project: Project) -> None:
    """Folders and files are in one order, wherever a page ends."""
    names = ["a", "a.md", "a0/x", "b/a", "b/b/c", "b.md"]
    for name in names:
        project.put(f"state/artifacts/{name}", "x")
    found = [name.removeprefix("artifacts/") for name in own(ask) if name.startswith("artifacts/")]
    assert found == sorted(names, key=lambda name: name.split("/"))
    (artifacts,) = [resource for resource in RESOURCES if resource.name == "artifacts"]
    from nexus_mcp.server.resources.definition import ReadContext

    look = ReadContext(ask.app.workspace, ask.app._store, "", "")
    for number, name in enumerate(found):
        assert [entry.key for entry in artifacts.entries(look, name)] == found[number + 1 :]


def test_templates_are_on_one_page(ask: Asker) -> None:
    """The templates are listed on one page, with the MIME type where all of a kind have the same."""
    found = ask("resources/templates/list")["resourceTemplates"]
    assert [template["uriTemplate"] for template in found] == [
        "nexus://run/{id}",
        "nexus://history{?query,last_n}",
        "nexus://cycle/{completed_at}",
        "nexus://artifacts/{+path}",
        "nexus://memory/{name}",
        "nexus://context/{name}",
        "nexus://rules/{name}",
        "nexus://agents/{id}",
        "nexus://skills/{id}",
        "skill://{id}/SKILL.md",
    ]
    assert [template["uriTemplate"] for template in found if "mimeType" not in template] == [
        "nexus://artifacts/{+path}"
    ]
    assert found[2] == {
        "uriTemplate": "nexus://cycle/{completed_at}",
        "name": "cycle",
        "title": "A closed cycle",
        "description": "The whole cycle that was closed at this time, with its plan and all its tasks.",
        "mimeType": "application/json",
        "annotations": {"audience": ["user", "assistant"], "priority": 0.5},
    }
    told = "Invalid cursor: this list has one page; ask for it without a cursor"
    assert ask.refused("resources/templates/list", cursor="x") == (-32602, told)


@pytest.mark.requirement("resources.pages")
def test_unknown_cursor_is_refused(ask: Asker) -> None:
    """No cursor, an empty one and null mean the first page; a cursor of another list is refused."""
    first = ask("resources/list")
    assert ask("resources/list", cursor="") == ask("resources/list", cursor=None) == first
    told = "Invalid cursor: take the nextCursor of a page of this list, or none"
    assert ask.refused("resources/list", cursor="x") == (-32602, told)
    assert ask.refused("prompts/list", cursor="x") == (-32602, told)
