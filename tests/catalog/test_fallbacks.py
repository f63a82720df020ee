"""The catalog of a project with faulty files: no fault removes a restriction."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus_mcp.catalog import building
from nexus_mcp.catalog.capabilities import all_capabilities, check_tool
from nexus_mcp.catalog.load import Catalog, load, usable
from nexus_mcp.errors import CatalogError
from tests.catalog.files import AGENT, SKILL, put

ALL = ["no_file_edit", "no_shell_exec", "no_task_create", "no_task_update"]
META = ".nexus/agents/engineer/meta.yml"
OWN_MAP = "claude-code:\n  classes:\n    shell_command_exec: [Bash, mcp__term__run]\n"


@pytest.fixture(params=["kept", "made anew"])
def project(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Make a project with restrictions of its own, cached where it has a state folder."""
    put(
        tmp_path / ".nexus",
        {
            "agents/engineer/meta.yml": "id: engineer\ncapabilities: [no_task_create, no_shell_exec]\n",
            "agents/gardener/meta.yml": AGENT.format(id="gardener").replace("no_task_create", "no_file_edit"),
            "agents/gardener/body.md": "Prune.\n",
            "skills/prune/meta.yml": SKILL.format(id="prune"),
            "skills/prune/body.md": "Prune by {{agent:gardener}} and {{skill:prune}}.\n",
            "capability-map.yml": OWN_MAP,
        },
    )
    if request.param == "kept":
        (tmp_path / ".nexus/state").mkdir()
    return tmp_path


def found(project: Path) -> Catalog:
    """The catalog, the same the second time."""
    first, second = usable(str(project)), usable(str(project))
    for member in ("agents", "skills", "maps", "warnings"):
        assert getattr(first, member) == getattr(second, member)
    return second


def restrictions(catalog: Catalog) -> dict[str, list[str]]:
    return {name: sorted(all_capabilities(agent)) for name, agent in catalog.agents.items()}


def test_catalog_without_faults_has_no_warnings(project: Path) -> None:
    """A catalog without a fault gives no warning."""
    catalog, whole = found(project), load(str(project))
    assert catalog.warnings == []
    assert (catalog.agents, catalog.skills, catalog.maps) == (whole.agents, whole.skills, whole.maps)


@pytest.mark.parametrize(
    ("path", "content", "gone"),
    [
        ("skills/draft/README.md", "soon", None),
        ("skills/prune/meta.yml", "id: [", "prune"),
        ("skills/nx-run/meta.yml", "id: nx-run\nmanual_only: 5\n", None),
        ("skills/a.b/meta.yml", SKILL.format(id="a"), None),
        ("agents/other/body.md", "x", None),
    ],
)
def test_a_fault_elsewhere_takes_nothing_away(project: Path, path: str, content: str, gone: str | None) -> None:
    """Every other entry stays valid; a faulty skill is replaced by the shipped one, or omitted."""
    before = load(str(project))
    put(project / ".nexus", {path: content})
    catalog = found(project)
    after = restrictions(catalog)
    assert {name: after[name] for name in before.agents} == restrictions(before)
    assert catalog.maps == before.maps
    assert catalog.skills == {name: skill for name, skill in before.skills.items() if name != gone}
    assert len(catalog.warnings) == 1
    with pytest.raises(CatalogError):
        load(str(project))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("engineer", b"id: engineer\nextra: 1\n"),
        ("engineer", b"id: engineer\ncapabilities: []\n"),
        ("engineer", b"\xff"),
        ("engineer", None),
        ("gardener", b"id: gardener\n"),
        ("gardener", None),
    ],
)
def test_an_agent_at_fault_may_do_nothing(project: Path, name: str, content: bytes | None) -> None:
    """The faulty file may have held any restriction, so all of them hold; a shipped agent keeps its shipped ones."""
    before = load(str(project))
    put(project / ".nexus", {f"agents/{name}/meta.yml": content})
    catalog = found(project)
    assert restrictions(catalog) == {**restrictions(before), name: ALL}
    agent = catalog.agent(name)
    assert agent["mend"] == f".nexus/agents/{name}/meta.yml"
    assert [check_tool(catalog, name, tool, "claude-code")[0] for tool in ("Bash", "Write", "Read")] == [
        False,
        False,
        True,
    ]
    assert len(catalog.warnings) == 1
    assert catalog.warnings[0].startswith(f".nexus/agents/{name}/meta.yml:")
    assert f"until it is corrected {name} gets every restriction. nexus-mcp" in catalog.warnings[0]
    if name == "engineer":
        shipped = load(None)
        assert agent["capabilities"] == shipped.agent(name)["capabilities"]
        assert catalog.body("agents", name) == shipped.body("agents", name)
    else:
        with pytest.raises(CatalogError, match=r"agents/gardener/meta\.yml: gardener cannot be used as it is"):
            catalog.body("agents", name)


def test_refusal_never_names_an_agent_with_a_fault(project: Path) -> None:
    """A refusal names only agents that may use the refused tool."""
    put(project / ".nexus", {"agents/writer/meta.yml": "id: ["})
    _, reason = check_tool(found(project), "architect", "Write", "claude-code")
    assert reason.endswith("hand it to engineer. What you found out yourself may go into an artifact.")


def test_faulty_map_is_replaced_only_for_its_harness(project: Path) -> None:
    """The shipped map replaces a project's map only for the harness with the fault."""
    before = load(str(project))
    put(project / ".nexus", {"capability-map.yml": f"{OWN_MAP}codex:\n  extra: 1\n"})
    catalog = found(project)
    assert catalog.maps == before.maps
    put(project / ".nexus", {"capability-map.yml": f"{OWN_MAP}  extra: 1\n"})
    catalog = found(project)
    assert catalog.maps == load(None).maps
    assert restrictions(catalog) == restrictions(before)
    assert catalog.warnings == [
        ".nexus/capability-map.yml:4:3: claude-code/extra is not a known field; until it is corrected the shipped map "
        "applies to the harnesses in it. nexus-mcp catalog check lists all faults."
    ]


def test_faulty_map_forbids_unknown_tools(project: Path) -> None:
    """A tool that the shipped map does not know may have been in any class; others are as shipped."""
    tools = ("Bash", "Read", "Edit", "mcp__nexus__task_list", "mcp__term__run", "mcp__docs__save")
    before = [check_tool(found(project), "gardener", tool, "claude-code")[0] for tool in tools]
    assert before == [True, True, False, True, True, True]
    put(project / ".nexus", {"capability-map.yml": f"{OWN_MAP}  extra: 1\nmine: []\n"})
    catalog = found(project)
    assert [check_tool(catalog, "gardener", tool, "claude-code")[0] for tool in tools] == [*before[:4], False, False]
    assert [check_tool(catalog, "gardener", tool, "mine")[0] for tool in tools] == [False] * len(tools)
    _, reason = check_tool(catalog, "gardener", "mcp__docs__save", "claude-code")
    assert (
        ".nexus/capability-map.yml has a fault: until it is corrected, this agent may use only tools of the" in reason
    )
    put(project / ".nexus", {"capability-map.yml": f"{OWN_MAP}codex:\n  extra: 1\n"})
    assert check_tool(found(project), "gardener", "mcp__docs__save", "claude-code")[0]


@pytest.mark.parametrize("what", ["file", "link"])
def test_agents_in_an_unreadable_folder_are_restricted(
    project: Path, tmp_path_factory: pytest.TempPathFactory, what: str
) -> None:
    """Each of them may have been restricted, so each of them is, in everything."""
    (project / ".nexus/agents").rename(project / ".nexus/was")
    if what == "file":
        (project / ".nexus/agents").write_text("x")
    else:
        (project / ".nexus/agents").symlink_to(tmp_path_factory.mktemp("outside"))
    catalog = found(project)
    assert restrictions(catalog) == dict.fromkeys(load(None).agents, ALL)
    assert "where a folder belongs; until it is corrected every agent gets every restriction" in catalog.warnings[0]
    assert "prune" in catalog.skills


def test_linked_nexus_restricts_every_agent(tmp_path: Path) -> None:
    """If `.nexus` is a link, its content is unknown, so every agent has every restriction."""
    (tmp_path / ".nexus").symlink_to(tmp_path)
    assert restrictions(usable(str(tmp_path))) == dict.fromkeys(load(None).agents, ALL)
    with pytest.raises(CatalogError, match=r"^\.nexus: is a symbolic link where a folder belongs"):
        load(str(tmp_path))


def test_reported_faults_are_bounded(project: Path) -> None:
    """The first few entries with a fault, each on a line that is not too long, and how many more there are."""
    keys = "".join(f"{'x' * 250}{number}: 1\n" for number in range(20))
    put(project / ".nexus", {f"skills/s{number}/meta.yml": f"id: s{number}\n{keys}" for number in range(9)})
    told = found(project).warnings
    assert [line.partition(":")[0] for line in told[:3]] == [f".nexus/skills/s{number}/meta.yml" for number in range(3)]
    assert told[3:] == [
        "6 more agents, skills or maps of this project cannot be used. nexus-mcp catalog check lists all faults."
    ]
    assert "(and 24 more)" in told[0]
    assert max(map(len, told)) < 700


def test_faulty_catalog_is_cached(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault is found once as long as the files do not change."""
    put(project / ".nexus", {"agents/engineer/meta.yml": "id: ["})
    first = usable(str(project))
    if not (project / ".nexus/state").exists():
        return
    with monkeypatch.context() as patch:
        patch.setattr(building, "usable_value", None)
        assert usable(str(project)).agents == first.agents
    put(project / ".nexus", {"agents/engineer/meta.yml": "id: engineer\n"})
    assert usable(str(project)).warnings == []


def test_entry_name_that_is_no_text_is_a_fault(project: Path) -> None:
    """A folder may be called by bytes that are no UTF-8."""
    (project / ".nexus/agents/\udcff").mkdir()
    catalog = found(project)
    assert catalog.warnings[0].startswith('".nexus/agents/\\udcff/meta.yml": is missing (and 1 more); ')
    assert all_capabilities(catalog.agents["\udcff"]) != []
