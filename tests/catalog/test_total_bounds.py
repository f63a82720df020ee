"""The bounds of a project's agents, skills and map together, and the effect of exceeding them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.catalog import building, cache, reading, sources
from nexus_mcp.catalog.capabilities import all_capabilities, check_tool
from nexus_mcp.catalog.load import load, usable
from nexus_mcp.errors import CatalogError
from tests.catalog.files import AGENT, SKILL, own_faults, put

FREE = AGENT.replace("[no_task_create]", "[]")
EVERY = 4  # capabilities


def agents(*names: str, meta: str = "", body: str = "x") -> dict[str, Any]:
    """Write files of agents without restrictions; `meta` is appended to each."""
    return {
        f"agents/{name}/{file}": text
        for name in names
        for file, text in (("meta.yml", FREE.format(id=name) + meta), ("body.md", body))
    }


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (agents(*"abcdefg", meta="#" * 60_000), ".nexus/agents/e/meta.yml: " + sources.TOO_LARGE_TOGETHER),
        (
            agents(*(f"a{n:02}" for n in range(20)), body="x" * 250_000),
            "a16/body.md: " + sources.TOO_MUCH_TEXT_TOGETHER,
        ),
        (
            agents(*(f"a{n:02}" for n in range(30)), body="{{tool:context}}" * 1_000),
            "a19/body.md: " + sources.TOO_MANY_TOGETHER,
        ),
    ],
)
def test_all_files_together_are_bounded(tmp_path: Path, files: dict[str, Any], told: str) -> None:
    """The first agent beyond the limit, and all later ones, get every restriction; earlier agents keep their
    own ones.
    """
    put(tmp_path / ".nexus", files)
    (tmp_path / ".nexus/state").mkdir()
    for _ in ("read", "kept"):
        catalog = usable(str(tmp_path))
        own = [name for name, agent in catalog.agents.items() if agent["origin"] == "project"]
        limits = [len(all_capabilities(catalog.agents[name])) for name in sorted(own)]
        first = limits.index(EVERY)
        assert first > 1
        assert limits == [0] * first + [EVERY] * (len(own) - first)
        assert told in catalog.warnings[0]
    assert any(building.NO_ROOM in fault for fault in own_faults(tmp_path))


@pytest.mark.parametrize(
    ("path", "content", "told"),
    [
        ("skills/s/meta.yml", SKILL.format(id="s") + f"x: [{'a,' * 4_000}]\n", "more than 4000 values"),
        ("skills/s/body.md", "{{tool:context}}" * 1_001, "more than 1000 placeholders, the limit for a text"),
        (
            "capability-map.yml",
            "".join(f"h{n}: {{}}\n" for n in range(21)),
            "21 harnesses, and the limit for a map is 20",
        ),
        ("capability-map.yml", f"codex:\n  reading: [{'a' * 201}]\n", "a name has at most 200 characters"),
        (
            "capability-map.yml",
            f"codex:\n  reading: [{', '.join(f'a{n}*' for n in range(51))}]\n",
            "51 names with *, and the limit for a list is 50",
        ),
    ],
)
def test_each_file_is_bounded(tmp_path: Path, path: str, content: str, told: str) -> None:
    """A file with too many entries is reported by its name."""
    put(tmp_path / ".nexus", {"skills/s/meta.yml": SKILL.format(id="s"), "skills/s/body.md": "x", path: content})
    (fault,) = own_faults(tmp_path)
    assert fault.startswith(f".nexus/{path}")
    assert told in fault


@pytest.mark.parametrize("number", [sources.ENTRIES + 1, sources.NAMES + 1])
@pytest.mark.parametrize("kind", ["agents", "skills"])
def test_too_many_entries_restrict_every_name(tmp_path: Path, kind: str, number: int) -> None:
    """With too many agents each name may be one of them, so every restriction holds for every name."""
    put(tmp_path / ".nexus", agents("gardener"))
    (tmp_path / ".nexus/state").mkdir()
    (tmp_path / f".nexus/{kind}").mkdir(exist_ok=True)
    for entry in range(number):
        (tmp_path / f".nexus/{kind}/x{entry}").mkdir()
    for _ in ("read", "kept"):
        catalog = usable(str(tmp_path))
        assert catalog.warnings[0].startswith(f".nexus/{kind}: has ")
        restricted = {name: len(all_capabilities(agent)) == EVERY for name, agent in catalog.agents.items()}
        assert set(restricted.values()) == ({True} if kind == "agents" else {False})
        unlisted = catalog.unlisted_agent("gardener")
        assert (unlisted is not None) == (kind == "agents")
        assert check_tool(catalog, "gardener", "Write", "claude-code")[0] == (kind == "skills")
    with pytest.raises(CatalogError, match=rf"^\.nexus/{kind}: has "):
        load(str(tmp_path))


def test_results_before_the_deadline_are_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pass continues where the earlier one was stopped; entries that were not read yet count as faulty
    meanwhile.
    """
    names = [f"a{number}" for number in range(6)]
    put(tmp_path / ".nexus", agents(*names))
    (tmp_path / ".nexus/state").mkdir()
    read: list[str] = []
    real = reading.entry_at

    def entry_at(source: Any, kind: str, name: str, *rest: Any, **named: Any) -> Any:
        read.append(name)
        return real(source, kind, name, *rest, **named)

    monkeypatch.setattr("nexus_mcp.catalog.building.entry_at", entry_at)
    free: list[int] = []
    for _ in range(4):
        before = len(read)
        catalog = usable(str(tmp_path), lambda before=before: len(read) - before >= 2)  # type: ignore[misc]
        free.append(sum(not all_capabilities(catalog.agents[name]) for name in names))
    assert free == [2, 4, 6, 6]
    assert read == names


def test_killed_pass_leaves_its_results_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are stored after some time already, not only at the end."""
    put(tmp_path / ".nexus", agents("a", "b", "c"))
    (tmp_path / ".nexus/state").mkdir()
    monkeypatch.setattr(building, "SAVE_EVERY_S", 0.0)

    class Killed(BaseException):
        pass

    real = reading.entry_at

    def entry_at(source: Any, kind: str, name: str, *rest: Any, **named: Any) -> Any:
        if name == "c":
            raise Killed
        return real(source, kind, name, *rest, **named)

    with monkeypatch.context() as patch:
        patch.setattr("nexus_mcp.catalog.building.entry_at", entry_at)
        with pytest.raises(Killed):
            usable(str(tmp_path))
    kept = json.loads((tmp_path / ".nexus/state/cache/catalog-rows.json").read_text())["own"]
    assert {"agents/a", "agents/b"} <= kept.keys()
    assert not all_capabilities(usable(str(tmp_path)).agents["c"])


@pytest.mark.parametrize("value", [5, [], {"agents/a": 5}, {"agents/a": {}}, {"agents/a": None}])
def test_rows_of_another_shape_are_none(value: object) -> None:
    """A foreign file at this place is not used."""
    assert not cache.is_rows(value)
