"""Commands change a project's agents and capability map completely or not at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from nexus_mcp.catalog import edits
from nexus_mcp.catalog.capabilities import all_capabilities
from nexus_mcp.catalog.load import load
from nexus_mcp.catalog.sources import read_shipped
from nexus_mcp.errors import CatalogError, LockTimeout, PathRefused, StorageError
from nexus_mcp.store import atomic
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace
from tests.store.crash_points import killed
from tests.support import Project, without_lock

META = ".nexus/agents/writer/meta.yml"
MAP = ".nexus/capability-map.yml"
SHELL = edits.agent_edit("writer", "no_shell_exec", ["no_task_create"], add=True)


def made(project: Project, edit: edits.Edit, wait: float = 10) -> str:
    return edits.carry_out(Store(Workspace(str(project.root)), wait=wait), edit, read_shipped()).path


def shell_tools() -> list[str]:
    """Return the shipped shell tools of Codex."""
    found: list[str] = load(None).maps["codex"]["classes"]["shell_command_exec"]
    return found


def tool(name: str, *, add: bool = True) -> edits.Edit:
    """Adds a tool to that class, or takes it out."""
    return edits.class_edit("codex", "shell_command_exec", name, shell_tools(), add=add)


def test_an_agent_gets_a_capability(project: Project) -> None:
    """The first capability creates the override file with only the project's part; all other fields come from the
    shipped entry.
    """
    assert made(project, SHELL) == META
    assert project.get("agents/writer/meta.yml").decode() == (
        "# What this project adds to the agent. All other fields are as shipped.\n"
        "id: writer\ncapabilities: [no_task_create, no_shell_exec]\n"
    )
    assert all_capabilities(load(str(project.root)).agent("writer")) == ["no_task_create", "no_shell_exec"]
    made(project, edits.agent_edit("writer", "no_shell_exec", [], add=False))
    assert all_capabilities(load(str(project.root)).agent("writer")) == ["no_task_create"]


def test_a_file_without_a_list_gets_one(project: Project) -> None:
    """The list is added, and the rest of the file stays."""
    project.put("agents/writer/meta.yml", "id: writer  # ours\nname: Author\n")
    made(project, SHELL)
    text = project.get("agents/writer/meta.yml").decode()
    assert text == "id: writer  # ours\nname: Author\ncapabilities: [no_task_create, no_shell_exec]\n"


def test_a_class_gets_a_tool(project: Project) -> None:
    """The project's class also gets the shipped tools, because it replaces the shipped class."""
    shipped_tools = load(None).maps["codex"]["classes"]["shell_command_exec"]
    made(project, tool("mcp__term__*"))
    made(project, tool("other"))
    made(project, tool("shell", add=False))
    found = load(str(project.root)).maps["codex"]["classes"]["shell_command_exec"]
    assert found == [*(name for name in shipped_tools if name != "shell"), "mcp__term__*", "other"]
    assert project.get("capability-map.yml").decode().startswith("# The classes of a harness's tools.")


def test_comments_of_the_file_stay(project: Project) -> None:
    """With a change at each level of the map that is missing."""
    text = "# ours\nclaude-code:  # a\n  editing: {x: y}  # b\n# end\n"
    project.put("capability-map.yml", text)
    made(project, tool("new"))
    out = project.get("capability-map.yml").decode()
    assert [line for line in text.splitlines() if line not in out.splitlines()] == []
    assert load(str(project.root)).maps["claude-code"]["editing"]["x"] == "y"


@pytest.mark.parametrize(
    ("path", "content", "edit", "told"),
    [
        (
            "capability-map.yml",
            "codex: [\n",
            tool("new"),
            f"{MAP}:2:1: while parsing a flow node: did not find expected node content",
        ),
        ("capability-map.yml", "a: 1\n", tool("new"), f"{MAP}:1:1: a must be of type object"),
        (
            "agents/writer/meta.yml",
            "id: other\n",
            SHELL,
            f"{META}:1:1: the id must be the name of its folder, writer",
        ),
        ("agents/writer/meta.yml", b"id: \xff\n", SHELL, f"{META}:1:5: not UTF-8"),
        (
            "capability-map.yml",
            "{}\n",
            tool("a b"),
            f"{MAP}:3:81: codex/classes/shell_command_exec/5 must match ^[A-Za-z0-9_.*-]+$",
        ),
        ("agents/tester/meta.yml", "id: [\n", SHELL, ".nexus/agents/tester/meta.yml:2:1: while parsing a flow node"),
    ],
)
def test_edit_that_would_break_a_file_is_refused(
    project: Project, path: str, content: str | bytes, edit: edits.Edit, told: str
) -> None:
    """A broken file, this one or another, and a change that would break it: with file, line and column."""
    project.put(path, content)
    before = project.snapshot()
    with pytest.raises(CatalogError) as caught:
        made(project, edit)
    assert [fault[: len(told)] for fault in caught.value.faults] == [told]
    assert project.snapshot() == before


@pytest.mark.parametrize("where", ["agents", "agents/writer", "agents/writer/meta.yml", "capability-map.yml"])
def test_links_are_not_followed(project: Project, tmp_path: Path, where: str) -> None:
    """A cloned repository can plant one: nothing is written through it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "meta.yml").write_text("id: writer\n")
    link = project.nexus / where
    link.parent.mkdir(parents=True)
    link.symlink_to(outside / "meta.yml" if where.endswith(".yml") else outside)
    before = without_lock(project.snapshot())
    with pytest.raises(PathRefused):
        made(project, tool("new") if where == "capability-map.yml" else SHELL)
    assert without_lock(project.snapshot()) == before
    assert sorted(os.listdir(outside)) == ["meta.yml"]
    assert (outside / "meta.yml").read_text() == "id: writer\n"


def test_a_failure_leaves_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk a failed first change leaves neither a file nor a folder."""

    def full(*_: object) -> None:
        raise StorageError(META, "write", "No space left on device")

    before = project.snapshot()
    monkeypatch.setattr(atomic, "put", full)
    with pytest.raises(StorageError):
        made(project, SHELL)
    assert project.snapshot() == before


def test_a_change_waits_for_the_lock(project: Project) -> None:
    """Two commands at once do not lose each other's change."""
    with Store(Workspace(str(project.root))).locked_state(), pytest.raises(LockTimeout):
        made(project, SHELL, wait=0.01)
    assert not (project.nexus / "agents").exists()


def test_leftovers_of_a_crash_are_deleted(project: Project) -> None:
    """A temporary file that a dead writer left beside the target."""
    project.put(f"agents/writer/{atomic.PREFIX}0", "half")
    project.put("agents/writer/meta.yml", "id: writer\n")
    made(project, SHELL)
    assert os.listdir(project.nexus / "agents/writer") == ["meta.yml"]


@pytest.mark.parametrize("add", [SHELL, tool("new")], ids=["agent", "map"])
def test_crash_during_the_removal_of_an_entry_leaves_a_valid_catalog(project: Project, add: edits.Edit) -> None:
    """The catalog reads as before or as shipped, and the command run again leaves nothing."""
    remove = (
        edits.agent_edit("writer", "no_shell_exec", ["no_task_create"], add=False)
        if add is SHELL
        else edits.class_edit("codex", "shell_command_exec", "new", [], add=False, below=shell_tools())
    )
    number, seen, plain = 0, set(), load(None)
    while (number := number + 1) < 500:
        made(project, add)
        done = killed(number, lambda: made(project, remove))
        found = load(str(project.root))
        is_back = (found.agents, found.maps) == (plain.agents, plain.maps)
        seen.add(is_back)
        if not is_back:
            made(project, remove)
        assert [path for path in ("agents/writer", "capability-map.yml") if (project.nexus / path).exists()] == []
        if done is not None:
            break
    assert (seen, number > 5) == ({True, False}, True)


@pytest.mark.parametrize("first", [True, False])
def test_edit_killed_at_any_moment_is_whole_or_absent(project: Project, first: bool) -> None:
    """After a kill the catalog has the old or the new content, and a repeated command gives the same result."""
    if not first:
        project.put("agents/writer/meta.yml", "id: writer  # ours\n")
    before, number, seen = all_capabilities(load(str(project.root)).agent("writer")), 0, set()
    start = project.snapshot()
    while (number := number + 1) < 500:
        done = killed(number, lambda: made(project, SHELL))
        found = all_capabilities(load(str(project.root)).agent("writer"))
        seen.add(len(found))
        assert found in (before, [*before, "no_shell_exec"])
        made(project, SHELL)
        assert all_capabilities(load(str(project.root)).agent("writer")) == [*before, "no_shell_exec"]
        assert os.listdir(project.nexus / "agents") == ["writer"]
        assert os.listdir(project.nexus / "agents/writer") == ["meta.yml"]
        if done is not None:
            break
        shutil.rmtree(project.nexus)
        for path, content in start.items():
            if path.startswith(".nexus/") and isinstance(content, bytes):
                project.put(path.removeprefix(".nexus/"), content)
    assert seen == {1, 2}
    assert number > 20
