"""All faults of a catalog are reported at once, each with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus_mcp.catalog.load import load, usable
from nexus_mcp.errors import CatalogError, StorageError
from nexus_mcp.store.folder import Folder
from tests.catalog.files import AGENT, SKILL, own_faults, put

DBA = ".nexus/agents/dba"
SKILLED = {"skills/release/meta.yml": SKILL.format(id="release"), "skills/release/body.md": "Go.\n"}


def test_all_faults_of_an_agent_are_reported_at_once(tmp_path: Path) -> None:
    """A schema fault hides neither faults in other fields nor faults in the text."""
    meta = (
        "id: dba\nname: D\ndescription: D\nextra: 1\ncategory: hwo\nresume_tier: persistant\nmodel_tier: 5\n"
        "capabilities: [no_file_edti, 5]\n"
    )
    put(tmp_path / ".nexus", {"agents/dba/meta.yml": meta, "agents/dba/body.md": "Call\n {{tool:nope}}.\n"})
    assert own_faults(tmp_path) == [
        f"{DBA}/meta.yml:4:1: extra is not a known field",
        f"{DBA}/meta.yml:7:1: model_tier must be of type string",
        f"{DBA}/meta.yml:8:30: capabilities/1 must be of type string",
        f"{DBA}/meta.yml:5:1: category 'hwo' is not in the vocabulary",
        f"{DBA}/meta.yml:6:1: resume_tier 'persistant' is not in the vocabulary; did you mean persistent?",
        f"{DBA}/meta.yml:8:16: there is no capability 'no_file_edti'; did you mean no_file_edit?",
        f"{DBA}/body.md:2:2: there is no tool 'nope'",
    ]


def test_wrong_id_is_reported_beside_other_faults(tmp_path: Path) -> None:
    """An id that differs from its folder, or a missing text, is reported together with the other faults."""
    put(tmp_path / ".nexus", {"agents/tester/meta.yml": "id: dba\ncapabilities: [no_file_edit]\n"})
    told = [fault.partition(" ")[2][:50] for fault in own_faults(tmp_path)]
    assert told == [
        "the id must be the name of its folder, tester",
        "no_task_create is a restriction of the shipped age",
    ]


def test_links_hide_no_other_fault(tmp_path: Path) -> None:
    """A link, or a file in the place of a folder, is reported once, beside the other faults."""
    put(tmp_path / ".nexus", {**SKILLED, "agents/dba/meta.yml": "id: [", "agents/NOTES": "x"})
    (tmp_path / ".nexus/agents/dba/body.md").symlink_to("/etc/hostname")
    (tmp_path / ".nexus/skills/other").symlink_to(tmp_path)
    (tmp_path / ".nexus/capability-map.yml").symlink_to("/etc/hostname")
    told = [
        ".nexus/agents/NOTES: is a file where a folder belongs",
        f"{DBA}/meta.yml:1:6: while parsing a flow node: did not find expected node content",
        f"{DBA}/body.md: is a symbolic link where a file belongs",
        ".nexus/skills/other: is a symbolic link where a folder belongs",
        ".nexus/capability-map.yml: is a symbolic link where a file belongs",
    ]
    assert own_faults(tmp_path) == told
    with pytest.raises(CatalogError) as raised:
        load(str(tmp_path))
    assert raised.value.faults == told


def test_disk_error_is_a_fault_that_is_not_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk error is reported as a fault and not cached, because the files may be valid."""
    put(tmp_path / ".nexus", {**SKILLED, "agents/dba/meta.yml": AGENT.format(id="dba"), "agents/dba/body.md": "x"})
    (tmp_path / ".nexus/state").mkdir()

    def fails(self: Folder, name: str, limit: int) -> bytes | None:
        raise StorageError(self.show(name), "read", "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "read", fails)
        assert own_faults(tmp_path)[0] == f"{DBA}/meta.yml: could not be read: Input/output error"
        assert len(usable(str(tmp_path)).warnings) == 3
    assert usable(str(tmp_path)).warnings == []
    assert "dba" in load(str(tmp_path)).agents


def test_reference_to_a_faulty_entry_is_no_second_fault(tmp_path: Path) -> None:
    """One slip is one fault."""
    put(tmp_path / ".nexus", {**SKILLED, "skills/release/body.md": "{{agent:dba}}", "agents/dba/meta.yml": "id: ["})
    assert [fault.partition(":")[0] for fault in own_faults(tmp_path)] == [f"{DBA}/meta.yml", f"{DBA}/body.md"]


def test_all_faults_of_a_map_are_reported_at_once(tmp_path: Path) -> None:
    """Every harness of the map is checked, and the valid entries of a harness that breaks the schema, too."""
    text = (
        "codex:\n  extra: 1\n  classes: {x: [a]}\nMine: {}\nopencode:\n  reading: 5\n  classes: {file_creation: []}\n"
    )
    put(tmp_path / ".nexus", {"capability-map.yml": text})
    assert [fault.removeprefix(".nexus/capability-map.yml:").partition(";")[0] for fault in own_faults(tmp_path)] == [
        "2:3: codex/extra is not a known field",
        "6:3: opencode/reading must be of type array",
        '3:13: there is no semantic class "x"',
        "4:1: The harness id 'Mine' is not usable: a harness id starts with a-z and goes on with a-z, 0-9 and -.",
        "7:13: the class file_creation has no tool, so it forbids nothing",
    ]


@pytest.mark.parametrize(
    ("path", "content", "told"),
    [
        ("meta.yml", SKILL.format(id="release").replace("Name", "'  '"), "meta.yml:2:1: name must not be blank"),
        ("meta.yml", SKILL.format(id="release").replace("Name", "''"), "meta.yml:2:1: name must not be blank"),
        (
            "meta.yml",
            SKILL.format(id="release").replace("When to choose it.", '"\\t"'),
            "meta.yml:3:1: description must not be blank",
        ),
        ("meta.yml", "# soon\n", "meta.yml: is empty"),
        ("meta.yml", "[]\n", "meta.yml:1:1: must be of type object"),
        ("body.md", "One\nschön é".encode() + b" \xe9t\xe9\n", "body.md:2:9: not UTF-8"),
        ("body.md", b"One\ntwo \0 three", "body.md:2:5: holds NUL"),
    ],
)
def test_faults_have_line_and_column_in_characters(tmp_path: Path, path: str, content: str | bytes, told: str) -> None:
    """Blank words, bytes that are no text, files without anything: the line, and the column in characters."""
    put(tmp_path / ".nexus", {**SKILLED, f"skills/release/{path}": content})
    assert own_faults(tmp_path) == [f".nexus/skills/release/{told}"]


def test_blank_words_of_an_agent_are_a_fault(tmp_path: Path) -> None:
    """They are a fault as in a skill."""
    meta = AGENT.format(id="dba").replace("name: Name", "name: ' '")
    put(tmp_path / ".nexus", {"agents/dba/meta.yml": meta, "agents/dba/body.md": "x"})
    assert own_faults(tmp_path) == [f"{DBA}/meta.yml:2:1: name must not be blank"]


def test_manual_only_skill_cannot_become_automatic(tmp_path: Path) -> None:
    """A shipped manual_only skill is never offered for automatic selection; a project may make other skills
    manual_only.
    """
    put(
        tmp_path / ".nexus",
        {
            "skills/nx-init/meta.yml": "id: nx-init\nmanual_only: false\n",
            "skills/nx-run/meta.yml": "id: nx-run\nmanual_only: true\n",
        },
    )
    assert own_faults(tmp_path) == [
        ".nexus/skills/nx-init/meta.yml:2:1: the shipped skill nx-init is started by users only, and a project cannot "
        "change that; remove this field, or write a skill of your own under another id"
    ]
    put(tmp_path / ".nexus", {"skills/nx-init/meta.yml": "id: nx-init\nmanual_only: true\n"})
    assert load(str(tmp_path)).skills["nx-run"]["manual_only"] is True
