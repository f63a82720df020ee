"""Of many faults the first few are listed and the others counted, in bounded time."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus_mcp import wording
from nexus_mcp.catalog import placeholders
from nexus_mcp.catalog.faults import MOST
from nexus_mcp.catalog.load import usable
from nexus_mcp.catalog.sources import PLACEHOLDERS
from tests.catalog.files import AGENT, SKILL, own_faults, put

SKILLED = {"skills/release/meta.yml": SKILL.format(id="release"), "skills/release/body.md": "Go.\n"}


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the number of names that each search for near names compared."""
    made: list[int] = []
    true = wording.nearest

    def counted(name: str, known: list[str], alike: float) -> list[str]:
        made.append(len(known))
        return true(name, known, alike)

    monkeypatch.setattr("nexus_mcp.catalog.placeholders.nearest", counted)
    return made


def test_twenty_unknown_placeholders_are_reported(tmp_path: Path, searches: list[int]) -> None:
    """Twenty unknown placeholders are reported, each with its place, and near names are searched for these alone."""
    put(tmp_path / ".nexus", {**SKILLED, "skills/release/body.md": "{{tool:plan_decid}}\n" * PLACEHOLDERS})
    told = own_faults(tmp_path)
    assert told[1] == ".nexus/skills/release/body.md:2:1: there is no tool 'plan_decid'; did you mean plan_decide?"
    assert told[MOST:] == [f".nexus/skills/release/body.md: and {PLACEHOLDERS - MOST} more"]
    assert len(searches) == MOST


def test_twenty_schema_faults_are_reported(tmp_path: Path) -> None:
    """A schema's faults are as many, and those that follow are counted."""
    keys = "".join(f"x{number}: 1\n" for number in range(1500))
    put(tmp_path / ".nexus", {**SKILLED, "skills/release/meta.yml": SKILL.format(id="release") + keys})
    told = own_faults(tmp_path)
    assert told[0] == ".nexus/skills/release/meta.yml:6:1: x0 is not a known field"
    assert told[MOST:] == [f".nexus/skills/release/meta.yml: and {1500 - MOST} more"]


def test_faults_of_one_file_are_counted_together(tmp_path: Path, searches: list[int]) -> None:
    """Faults of references and of the schema are counted together; those of another file are not cut."""
    names = ", ".join(f"no_{number}" for number in range(3000))
    meta = AGENT.format(id="dba").replace("[no_task_create]", f"[{names}]") + "extra: 1\n"
    put(
        tmp_path / ".nexus",
        {
            "agents/dba/meta.yml": meta,
            "agents/dba/body.md": "{{tool:nope}}",
            "agents/x/meta.yml": "",
            "agents/x/body.md": "x",
        },
    )
    told = own_faults(tmp_path)
    assert told[0] == ".nexus/agents/dba/meta.yml:8:1: extra is not a known field"
    assert told[MOST : MOST + 2] == [
        f".nexus/agents/dba/meta.yml: and {3001 - MOST} more",
        ".nexus/agents/dba/body.md:1:1: there is no tool 'nope'",
    ]
    assert told[MOST + 2 :] == [".nexus/agents/x/meta.yml: is empty"]
    assert len(searches) == MOST


@pytest.mark.parametrize("path", ["agents/dba/meta.yml", "skills/release/meta.yml", "capability-map.yml"])
def test_file_beyond_64_kib_is_not_read(tmp_path: Path, path: str) -> None:
    """A file of more than 64 KiB is not looked into; one of 64 KiB is."""
    put(tmp_path / ".nexus", {**SKILLED, "agents/dba/body.md": "x", path: "#" * ((64 << 10) + 1)})
    assert f".nexus/{path}: larger than 64 KiB, the limit for a YAML file" in own_faults(tmp_path)
    put(tmp_path / ".nexus", {path: "#" * (64 << 10)})
    assert f".nexus/{path}: is empty" in own_faults(tmp_path)
    assert usable(str(tmp_path)).warnings != []


def test_long_lists_of_a_map_are_a_fault(tmp_path: Path) -> None:
    """A list of a map has 200 names at most: each of a class is held against each of those that read."""
    names = [", ".join(f"{letter}{number}" for number in range(201)) for letter in "ab"]
    text = f"codex:\n  classes:\n    file_creation: [{names[0]}]\n  reading: [{names[1]}]\n"
    put(tmp_path / ".nexus", {"capability-map.yml": text})
    told = "201 names, and the limit for a list is 200; * stands for any characters"
    assert own_faults(tmp_path) == [f".nexus/capability-map.yml:{place}: {told}" for place in ("4:3", "3:5")]
    put(tmp_path / ".nexus", {"capability-map.yml": text.replace("a200", "").replace("b200", "")})
    assert own_faults(tmp_path) == []


def test_large_text_has_its_own_bound(tmp_path: Path) -> None:
    """A text has a limit of its own, and the message names it, however large the text is."""
    for size in ((256 << 10) + 1, 2 << 20):
        put(tmp_path / ".nexus", {**SKILLED, "skills/release/body.md": "x" * size})
        told = "larger than 256 KiB, the limit for a text"
        assert own_faults(tmp_path) == [f".nexus/skills/release/body.md: {told}"]


def test_a_fault_is_short(tmp_path: Path) -> None:
    """A quoted text of a file is cut, on one line, with invisible characters escaped."""
    meta = f"{SKILL.format(id='release')}'\\x1b\\u202e{'x' * 250}': 1\n".replace("'", '"')
    put(tmp_path / ".nexus", {**SKILLED, "skills/release/meta.yml": meta})
    (told,) = own_faults(tmp_path)
    assert told.startswith('.nexus/skills/release/meta.yml:6:1: "\\x1b\\u202exxx')
    assert told.endswith('xxx"… is not a known field')


def test_near_names_are_searched_within_bounds(searches: list[int]) -> None:
    """Near names are found quickly among tens of thousands of names, and for a name of thousands of letters."""
    placeholders.near("a", {f"a{number}": None for number in range(20_000)})
    placeholders.near("a" * 10_000, {f"{'a' * 10_000}{number}": None for number in range(20)})
    assert searches == [50]
