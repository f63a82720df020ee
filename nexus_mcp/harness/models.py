"""Choose the model of an agent by its category, else by its tier.

The models are in the shipped table of the harness, which `models:` in config.yml overrides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nexus_mcp.catalog import yaml_file
from nexus_mcp.errors import CatalogError
from nexus_mcp.packaged import data_path

BY_CATEGORY = "by_category"


class Models(NamedTuple):
    """The models of one harness, whose id is `harness`: tier → model, and category of agent → model."""

    harness: str
    tiers: dict[str, str]
    by_category: dict[str, str]

    def of(self, agent: dict[str, Any]) -> str:
        """Return the model of an agent; "" where none is set, and the harness then chooses."""
        return self.by_category.get(agent["category"]) or self.tiers.get(agent["model_tier"], "")

    def warning(self, agents: dict[str, dict[str, Any]]) -> str:
        """Return which tiers have no model, and where to set it; "" when each agent has one."""
        tiers = sorted({agent["model_tier"] for agent in agents.values() if not self.of(agent)})
        if not tiers:
            return ""
        names = " and ".join(tiers)
        return (
            f"No model is written for agents of the tier {names}: the harness chooses. "
            f"To choose one, set models: {self.harness}: in .nexus/config.yml."
        )


def read_models(harness: str, settings: dict[str, Any]) -> Models:
    """Return the models of a harness. `settings` are those of config.yml. Raise CatalogError."""
    table = {**_read_shipped(harness), **_without_nulls((settings.get("models") or {}).get(harness) or {})}
    by_category = _without_nulls(table.pop(BY_CATEGORY, None) or {})
    return Models(harness, _without_nulls(table), by_category)


def _read_shipped(harness: str) -> dict[str, Any]:
    shown = f"assets/harnesses/{harness}/models.yml"
    try:
        with open(data_path("assets", "harnesses", harness, "models.yml"), "rb") as file:
            value = yaml_file.read(file.read(), shown).value
    except FileNotFoundError:
        return {}
    if value is not None and not isinstance(value, dict):
        raise CatalogError([f"{shown}: is no mapping"])
    return _without_nulls(value or {})


def _without_nulls(table: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if value is not None}
