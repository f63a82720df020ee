"""The cached catalog of a project is used only for the files from which it was built."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.catalog.load import load, usable
from tests.catalog.files import AGENT, SKILL, put

Json = Any
KEPT = ".nexus/state/cache/catalog.json"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a project with an agent, a skill, an override, a map, and a cache of them."""
    put(
        tmp_path / ".nexus",
        {
            "agents/gardener/meta.yml": AGENT.format(id="gardener"),
            "agents/gardener/body.md": "Prune.\n",
            "agents/tester/meta.yml": "id: tester\ncapabilities: [no_file_edit, no_task_create, no_shell_exec]\n",
            "skills/prune/meta.yml": SKILL.format(id="prune"),
            "skills/prune/body.md": "Prune.\n",
            "skills/nx-init/meta.yml": "id: nx-init\nname: Ours\n",
            "capability-map.yml": "codex:\n  editing: {mcp__docs__save: target}\n",
        },
    )
    (tmp_path / ".nexus/state").mkdir()
    usable(str(tmp_path))
    return tmp_path


def edited(project: Path, change: Callable[[Json], Json]) -> None:
    """Changes the file in its place, and sets back its time."""
    path = project / KEPT
    info = path.stat()
    value = json.loads(path.read_text())
    value["own"] = change(value["own"])
    with path.open("r+") as file:
        file.truncate()
        json.dump(value, file)
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (info.st_ino, info.st_mtime_ns)


def put_in(path: str, value: Json) -> Callable[[Json], Json]:
    """A change of one member, by its path."""

    def change(own: Json) -> Json:
        *parents, last = path.split("/")
        at = own
        for name in parents:
            at = at[name]
        at[last] = value
        return own

    return change


def widened(own: Json) -> Json:
    """Return the entry of a shipped agent without restrictions, which the project does not mention."""
    own["agents"]["reviewer"] = {**own["agents"]["tester"], "id": "reviewer", "capabilities": [], "added": []}
    return own


def dropped(own: Json) -> Json:
    del own["agents"]["gardener"]
    return own


def test_valid_cache_is_used(project: Path) -> None:
    """A valid cache is used; so the tests below fail for the fault that each of them plants."""
    edited(project, put_in("skills/prune/name", "Believed"))
    assert usable(str(project)).skills["prune"]["name"] == "Believed"


@pytest.mark.parametrize(
    "change",
    [
        widened,
        dropped,
        lambda _: 5,
        lambda _: None,
        lambda _: [],
        lambda _: {},
        put_in("agents", 5),
        put_in("agents/tester", 5),
        put_in("agents/tester/capabilities", []),
        put_in("agents/tester/capabilities", ["no_file_edit"]),
        put_in("agents/tester/capabilities", 5),
        put_in("agents/tester/added", ["everything"]),
        put_in("agents/tester/added", [["no_file_edit"]]),
        put_in("agents/tester/added", None),
        put_in("agents/tester/id", "writer"),
        put_in("agents/tester/category", "x"),
        put_in("agents/tester/resume_tier", []),
        put_in("agents/tester/mend", "x"),
        put_in("agents/tester/own_body", "yes"),
        put_in("agents/tester/more", 1),
        put_in("skills", {}),
        put_in("skills/nx-init/manual_only", False),
        put_in("skills/prune/name", 5),
        put_in("skills/prune/harness_notes", [5]),
        put_in("skills/prune/triggers", [5]),
        put_in("skills/prune/triggers", ["x"]),
        put_in("skills/prune/hint", "x"),
        put_in("skills/more", {}),
        put_in("maps", []),
        put_in("maps/codex", {}),
        put_in("maps/codex/classes", {}),
        put_in("maps/codex/classes/file_creation", []),
        put_in("maps/codex/classes/file_creation", "apply_patch"),
        put_in("maps/codex/reading", "*"),
        put_in("maps/codex/editing", {"a": 5}),
        put_in("maps/codex/nexus_tools", None),
        put_in("warnings", "x"),
        put_in("warnings", [5]),
    ],
)
def test_implausible_cache_is_rebuilt(project: Path, change: Callable[[Json], Json]) -> None:
    """Whatever the cache contains, a shipped agent keeps its restrictions, and a value of the wrong shape is
    not used.
    """
    first = load(str(project))
    edited(project, change)
    again = usable(str(project))
    assert (again.agents, again.skills, again.maps) == (first.agents, first.skills, first.maps)
    assert again.warnings == []


def test_a_change_in_place_is_noticed(project: Path) -> None:
    """A plausible cache that another program wrote is recognized by its time."""
    path = project / KEPT
    text = path.read_text()
    assert '"added": ["no_shell_exec"]' in text
    with path.open("r+") as file:
        file.write(text.replace('"added": ["no_shell_exec"]', '"added": []               '))
    assert usable(str(project)).agents["tester"]["added"] == ["no_shell_exec"]


@pytest.mark.parametrize("text", ["[" * 200_000, "{" * 9, "5", '"x"', "", "\0"])
def test_cache_that_is_no_catalog_is_ignored(project: Path, text: str) -> None:
    """Whatever stands in the file, the catalog is made of the files of the project."""
    first = load(str(project)).agents
    (project / KEPT).write_text(text)
    assert usable(str(project)).agents == first


def test_leftover_of_a_crash_is_deleted_with_the_next_write(project: Path) -> None:
    """The next write of the cache removes an unfinished file, unless a process writes it, or it is a foreign file."""
    cache = (project / KEPT).parent
    for name in ("catalog-0.new", "catalog-1.new", "catalog-2", "history-0.new"):
        (cache / name).write_text("{")
    (cache / "catalog-3.new").mkdir()
    (project / ".nexus/agents/gardener/body.md").write_text("Prune twice.\n")
    with (cache / "catalog-1.new").open() as busy:
        fcntl.flock(busy, fcntl.LOCK_EX)
        usable(str(project))
        left = ["catalog-1.new", "catalog-2", "catalog-3.new", "catalog-rows.json", "catalog.json", "history-0.new"]
        assert sorted(os.listdir(cache)) == left
