"""The settings in `.nexus/config.yml`, and their faults."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from nexus_mcp.errors import CatalogError, PathRefused
from nexus_mcp.tags import config
from tests.conftest import CHECKOUT
from tests.support import Project
from tests.tags.support import store_of


def read(project: Project) -> dict[str, Any]:
    with store_of(project).nexus() as nexus:
        return config.read(nexus)


def test_settings_are_read_from_the_file(project: Project) -> None:
    """The file's values; nothing for no file, an empty one, and one of comments."""
    assert read(project) == {}
    project.put("memory/a.md", "")
    assert read(project) == {}
    for text in ("", "# nothing\n", "{}\n"):
        project.put("config.yml", text)
        assert read(project) == {}
    for text in ("memory:\n#  propose:\n", "memory:\n  propose:\n#    days_unread: 5\n  delete_unasked:\n"):
        project.put("config.yml", text)
        assert read(project) in ({}, {"memory": {}})
    project.put("config.yml", "memory:\n  propose: {days_unread: 5}\n")
    assert read(project) == {"memory": {"propose": {"days_unread": 5}}}


@pytest.mark.requirement("config.places")
@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("memory: {propose: {days_unread: }}\n", [":1:20: days_unread must be of type integer"]),
        ("memory: [\n", [":2:1: while parsing a flow node: did not find expected node content"]),
        ("a: 1\na: 2\n", [":2:1: this key is repeated"]),
        ("memory: 5\n", [":1:1: memory must be of type object or null"]),
        ("- a\n", [":1:1: the file must be of type object"]),
        ("other: 1\nmemory:\n  propose:\n    days_unread: no\n", [":4:5: days_unread", ':1:1: "other" is not a known']),
        ("memory: {propose: {max_access_count: -1}}", [":1:20: max_access_count must be at least 0"]),
        ("memory:\n  x: &a 1\n  y: *a\n", [":3:6: YAML aliases are not supported"]),
        ("memory: \xff", [":1:9: "]),
        ("a: \x07", [":1:4: not YAML"]),
    ],
)
def test_faults_have_a_place(project: Project, text: str, faults: list[str]) -> None:
    """Each with file, line and column, and the next step."""
    project.put("config.yml", text.encode("latin-1"))
    with pytest.raises(CatalogError) as raised:
        read(project)
    told = sorted(raised.value.faults)
    assert len(told) == len(faults)
    for said, start in zip(told, sorted(faults), strict=True):
        assert said.startswith(f".nexus/config.yml{start}")
    assert (
        raised.value.next_step == "Correct the file, then call again. "
        "Its settings are gates:, worktrees:, context_limit:, models:, tags:, memory: and run:."
    )


@pytest.mark.requirement("config.places")
def test_linked_and_large_files_are_not_read(project: Project) -> None:
    """Neither is read."""
    target = project.put("other", "memory: {}")
    (project.nexus / "config.yml").symlink_to(target)
    with pytest.raises(PathRefused):
        read(project)
    (project.nexus / "config.yml").unlink()
    project.put("config.yml", b"#" * (2 << 20))
    with pytest.raises(CatalogError, match=r"^\.nexus/config\.yml: larger than the 64 KiB that are read"):
        read(project)


def test_without_a_file_no_yaml_is_loaded(project: Project) -> None:
    """Neither YAML nor git is loaded for a message that is routed and acted upon."""
    script = (
        "import sys\n"
        "from nexus_mcp.catalog.load import load\n"
        "from nexus_mcp.store.store import Store\n"
        "from nexus_mcp.tags.act import act\n"
        "from nexus_mcp.tags.route import route\n"
        "from nexus_mcp.workspace import Workspace\n"
        f"store, catalog = Store(Workspace({str(project.root)!r})), load({str(project.root)!r})\n"
        "route('[plan] [m] Slow locks [m:gc]', catalog, store)\n"
        "act('[m] Slow locks [m:gc]', catalog, store)\n"
        "print(sorted({'yaml', 'subprocess', 'argparse', 'dataclasses'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_page_has_every_setting_with_its_default() -> None:
    """The example in docs/config.md keeps the schema, has every setting, and shows its default."""
    import re

    import yaml
    from jsonschema import Draft202012Validator

    from nexus_mcp import schemas
    from nexus_mcp.catalog.load import load

    (block,) = re.findall(r"^```yaml\n(.*?)^```", (CHECKOUT / "docs/config.md").read_text("utf-8"), re.M | re.S)
    shown = yaml.safe_load(block)
    schema = schemas.load("catalog/config")
    Draft202012Validator(schema).validate(shown)
    members = schema["properties"]["memory"]["properties"]
    assert {name: set(part) for name, part in shown["memory"].items()} == {
        name: set(part["properties"]) for name, part in members.items()
    }
    assert shown["memory"]["propose"] == load(None).vocabulary["memory_policy"]["cleanup"]
