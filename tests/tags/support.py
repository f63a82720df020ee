"""Helpers of the tests of tags."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from nexus_mcp.catalog.load import load
from nexus_mcp.store.store import Store
from nexus_mcp.tags.act import act
from nexus_mcp.tags.parse import parse
from nexus_mcp.tags.route import route
from nexus_mcp.workspace import Workspace
from tests.conftest import CHECKOUT
from tests.support import Project

NAMES = ("plan", "run", "sync", "d", "m", "rule")
DAY = 86_400
NOW = 1_767_225_600.0  # 2026-01-01


def found(text: str) -> list[tuple[str, str, str]]:
    """(tag, variant, text) of each tag of a message."""
    return [(tag["tag"], tag["variant"], tag["text"]) for tag in parse(text, NAMES)]


def store_of(project: Project, now: float = NOW) -> Store:
    return Store(Workspace(str(project.root)), lambda: now)


def check(value: Any, name: str) -> None:
    """Hold a value against schemas/catalog/NAME.schema.json, by the reference validator."""
    folder = CHECKOUT / "schemas" / "catalog"
    paths = sorted(folder.glob("*.schema.json"))
    bodies = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in paths}
    registry: Any = Registry().with_resources((name, Resource.from_contents(body)) for name, body in bodies.items())
    Draft202012Validator({"$ref": f"{name}.schema.json"}, registry=registry).validate(value)


def routed(project: Project, message: str, harness_id: str = "") -> list[dict[str, Any]]:
    """The tags of a message with their outcomes, held against the schema; nothing is changed by looking."""
    before = project.snapshot()
    answer = route(message, load(str(project.root)), store_of(project), harness_id)
    assert project.snapshot() == before
    check(answer, "route")
    tags: list[dict[str, Any]] = answer["tags"]
    return tags


def acted(project: Project, message: str, now: float = NOW) -> list[dict[str, Any]]:
    """The steps of a message, held against the schema."""
    answer = act(message, load(str(project.root)), store_of(project, now))
    check(answer, "act")
    steps: list[dict[str, Any]] = answer["steps"]
    return steps


def aged(path: Path, days: float, now: float = NOW) -> None:
    """Set the time at which a file was last written."""
    os.utime(path, (now - days * DAY, now - days * DAY))
