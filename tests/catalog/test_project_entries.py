"""Entries in `.nexus/agents` and `.nexus/skills` add to the shipped ones and override them."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import patch

import pytest

from nexus_mcp.catalog import building
from nexus_mcp.catalog.load import load
from nexus_mcp.errors import CatalogError, UnknownEntry
from tests.catalog.files import AGENT, SKILL, own_faults, put


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with an agent and a skill of its own, and changes of shipped ones."""
    put(
        tmp_path / ".nexus",
        {
            "agents/gardener/meta.yml": AGENT.format(id="gardener"),
            "agents/gardener/body.md": "Prune with {{tool:task_update}}.\n",
            "agents/engineer/meta.yml": "id: engineer\ncapabilities: [no_task_create, no_shell_exec]\n",
            "agents/README.md": "not an agent\n",
            "skills/prune/meta.yml": SKILL.format(id="prune"),
            "skills/prune/body.md": "Prune.\n",
            "skills/nx-run/meta.yml": "id: nx-run\nname: Ours\n",
            "skills/nx-run/body.md": "Our way.\n",
        },
    )
    return tmp_path


def test_a_project_adds_and_overrides(project: Path) -> None:
    """Fields that an override leaves out stay as shipped; a new entry has its own text."""
    catalog, shipped = load(str(project)), load(None)
    assert catalog.agents.keys() - shipped.agents.keys() == {"gardener"}
    assert catalog.skills.keys() - shipped.skills.keys() == {"prune"}
    engineer = {**shipped.agents["engineer"], "added": ["no_shell_exec"], "origin": "project", "own_body": False}
    assert catalog.agents["engineer"] == engineer
    assert catalog.body("agents", "engineer") == shipped.body("agents", "engineer")
    assert catalog.body("agents", "gardener") == "Prune with {{tool:task_update}}.\n"
    assert catalog.skills["nx-run"]["name"] == "Ours"
    assert catalog.skills["nx-run"]["harness_notes"] == ["resume"]
    assert catalog.body("skills", "nx-run") == "Our way.\n"
    assert catalog.agents["architect"] == shipped.agents["architect"]


def test_taking_a_capability_away_is_refused(tmp_path: Path) -> None:
    """Contract §5: effective = canonical ∪ additions; the refusal gives the reason."""
    put(tmp_path / ".nexus", {"agents/architect/meta.yml": "id: architect\ncapabilities: [no_file_edit]\n"})
    told = own_faults(tmp_path)
    assert [
        fault.partition(" is a restriction of the shipped agent architect and cannot be removed")[0] for fault in told
    ] == [
        ".nexus/agents/architect/meta.yml:2:1: no_task_create",
        ".nexus/agents/architect/meta.yml:2:1: no_task_update",
    ]


@pytest.mark.parametrize(
    ("path", "content", "told"),
    [
        ("agents/new/meta.yml", AGENT.format(id="new"), ".nexus/agents/new/body.md: is missing"),
        ("agents/new/body.md", "Work.", ".nexus/agents/new/meta.yml: is missing"),
        (
            "agents/engineer/meta.yml",
            "id: engineer\nx: 1\n",
            ".nexus/agents/engineer/meta.yml:2:1: x is not a known field",
        ),
        (
            "agents/engineer/meta.yml",
            "id: [",
            ".nexus/agents/engineer/meta.yml:1:6: while parsing a flow node: did not find expected node content",
        ),
        ("skills/nx-run/body.md", "Run.", ".nexus/skills/nx-run/meta.yml: is missing"),
        (
            "agents/engineer/meta.yml",
            "x" * (2 << 20),
            ".nexus/agents/engineer/meta.yml: larger than 64 KiB, the limit for a YAML file",
        ),
    ],
)
def test_faults_are_reported_with_file_line_and_column(tmp_path: Path, path: str, content: str, told: str) -> None:
    """With its file, and its line and column where it has some."""
    put(tmp_path / ".nexus", {path: content})
    assert own_faults(tmp_path) == [told]
    with pytest.raises(CatalogError):
        load(str(tmp_path))


def test_an_unknown_entry_names_the_nearest(project: Path) -> None:
    """Bad input: an unknown agent or skill lists the near names."""
    catalog = load(str(project))
    with pytest.raises(UnknownEntry, match=r"There is no agent \"enginer\"\. Did you mean engineer\?"):
        catalog.agent("enginer")
    with pytest.raises(
        UnknownEntry, match=r"There is no skill \"zzz\"\. nexus-mcp catalog list shows the known ones\."
    ):
        catalog.skill("zzz")


@pytest.mark.parametrize("kind", ["agents", "skills"])
def test_folder_with_a_dot_is_a_fault(project: Path, kind: str) -> None:
    """A restriction in a folder that is called wrongly is not passed over, not even when all else is kept already."""
    (project / ".nexus/state").mkdir()
    load(str(project))
    folder = project / f".nexus/{kind}/my.own"
    folder.mkdir()
    told = (
        f".nexus/{kind}/my.own: the name of this folder must be an id, which has no dot; rename the folder, or move it "
        "away"
    )
    assert own_faults(project) == [told]
    with pytest.raises(CatalogError) as raised:
        load(str(project))
    assert raised.value.faults == [told]


@pytest.mark.parametrize("kind", ["agents", "skills"])
def test_hidden_folders_are_ignored(project: Path, kind: str) -> None:
    """An editor's folder, and one that a tool has not finished, are no agents."""
    for name in (".idea", ".nexus-tmp-1"):
        (project / f".nexus/{kind}" / name).mkdir()
    assert own_faults(project) == []


def test_empty_folder_is_a_fault_beside_cached_entries(project: Path) -> None:
    """Cached entries do not hide an entry whose folder was only just created."""
    (project / ".nexus/state").mkdir()
    load(str(project))
    (project / ".nexus/agents/new").mkdir()
    with pytest.raises(CatalogError, match=r"\.nexus/agents/new/meta\.yml: is missing"):
        load(str(project))


def test_links_in_a_clone_are_refused(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A link in a cloned repository is refused: nothing outside of the project is read."""
    outside = tmp_path_factory.mktemp("outside") / "secret.md"
    outside.write_text("secret")
    body = project / ".nexus/agents/gardener/body.md"
    body.unlink()
    body.symlink_to(outside)
    told = ".nexus/agents/gardener/body.md: is a symbolic link where a file belongs"
    with pytest.raises(CatalogError) as raised:
        load(str(project))
    assert raised.value.faults == [told]
    assert own_faults(project) == [told]


def test_yaml_is_parsed_once(project: Path) -> None:
    """The parsed catalog is cached in the state folder, and parsed again after a change of a file."""
    (project / ".nexus/state").mkdir()
    first = load(str(project)).agents
    with patch.object(building, "usable_value", side_effect=AssertionError("parsed again")):
        assert load(str(project)).agents == first
    path = project / ".nexus/agents/gardener/meta.yml"
    path.write_text(path.read_text().replace("Name", "Mane"))
    assert load(str(project)).agents["gardener"]["name"] == "Mane"


@pytest.mark.parametrize("planted", ["copied", "broken", "a folder", "absent"])
def test_cache_from_a_clone_is_ignored(project: Path, planted: str) -> None:
    """A cache from a repository could remove restrictions, so it is ignored; a broken cache, too."""
    (project / ".nexus/state").mkdir()
    first = load(str(project)).agents
    kept = project / ".nexus/state/cache/catalog.json"
    data = kept.read_bytes()
    kept.unlink()
    if planted == "copied":
        (kept.parent / "other").write_bytes(b"")  # takes the inode that became free
        kept.write_bytes(data.replace(b"no_shell_exec", b"no_shell_xxxx"))
    elif planted == "broken":
        kept.write_bytes(b'{"for":')
    elif planted == "a folder":
        kept.mkdir()
    assert load(str(project)).agents == first


def test_without_state_nothing_is_made(project: Path) -> None:
    """Reads create nothing."""
    before = sorted(os.fspath(path) for path in project.rglob("*"))
    load(str(project))
    assert sorted(os.fspath(path) for path in project.rglob("*")) == before


def test_changed_or_missing_body_is_a_fault(project: Path) -> None:
    """A body that is missing or no text any more is reported as a fault of its file."""
    catalog, body = load(str(project)), project / ".nexus/agents/gardener/body.md"
    body.write_bytes(b"ab\xff")
    with pytest.raises(CatalogError, match=r"^\.nexus/agents/gardener/body\.md:1:3: not UTF-8 Corr"):
        catalog.body("agents", "gardener")
    body.unlink()
    with pytest.raises(CatalogError, match=r"body\.md: is missing"):
        catalog.body("agents", "gardener")


HINTED = SKILL.format(id="prune") + "triggers: [prune]\nhint: Do it.\n"


@pytest.mark.parametrize(
    ("name", "meta", "told"),
    [
        ("prune", HINTED, []),
        ("prune", HINTED.replace("Do it.", "|\n  One.\n  Two.\n  Three.\n"), []),
        (
            "prune",
            HINTED.replace("manual_only: false", "manual_only: true"),
            [":6:1: a skill that only users start has no hint; remove triggers and hint, or set manual_only: false"],
        ),
        (
            "prune",
            HINTED.replace("hint: Do it.\n", ""),
            [":6:1: triggers need a hint, the text for the model"],
        ),
        (
            "prune",
            HINTED.replace("triggers: [prune]\n", ""),
            [":6:1: a hint needs triggers, the words of a message that trigger it"],
        ),
        ("prune", HINTED.replace("Do it.", "x" * 401), [":7:1: hint must have at most 400 characters"]),
        (
            "prune",
            HINTED.replace("Do it.", '"1\\n2\\n3\\n4"'),
            [":7:1: hint must have three lines at most, none of them empty"],
        ),
        ("prune", HINTED.replace("[prune]", "[' ']"), [":6:12: triggers/0 must not be blank"]),
        ("prune", HINTED.replace("[prune]", "prune"), [":6:1: triggers must be of type array"]),
        (
            "nx-init",
            "id: nx-init\ntriggers: [x]\nhint: Do.\n",
            [":2:1: a skill that only users start has no hint"],
        ),
        ("nx-plan", "id: nx-plan\ntriggers: [x]\n", []),
        ("nx-plan", "id: nx-plan\ntriggers: []\nhint: ''\n", []),
    ],
)
def test_skill_has_both_triggers_and_hint_or_neither(tmp_path: Path, name: str, meta: str, told: list[str]) -> None:
    """A skill has both or neither, and none that users alone start has them; three lines and 400 characters at most."""
    put(tmp_path / ".nexus", {f"skills/{name}/meta.yml": meta, f"skills/{name}/body.md": "# T\n"})
    found = own_faults(tmp_path)
    assert [fault.partition("meta.yml")[2][: len(text)] for fault, text in zip(found, told, strict=True)] == told


def test_skill_that_a_project_makes_manual_has_no_hint(tmp_path: Path) -> None:
    """Triggers of the shipped skill go with the choice that users alone start it."""
    put(tmp_path / ".nexus", {"skills/nx-plan/meta.yml": "id: nx-plan\nmanual_only: true\n"})
    skill = load(str(tmp_path)).skills["nx-plan"]
    assert (skill["manual_only"], skill["triggers"], skill["hint"]) == (True, [], "")
