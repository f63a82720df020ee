"""Read the shipped catalog from assets/catalog.json, which is built from the files beside it.

Hooks read this file alone: building the catalog parses YAML, which takes too long for them.
`python -m nexus_mcp.catalog.shipped` (`make catalog`) rewrites it.
"""

from __future__ import annotations

import json

from nexus_mcp.packaged import data_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "catalog.json"


def read() -> dict[str, Any]:
    """Return the shipped catalog, as building.shipped_value returns it."""
    with open(data_path("assets", NAME), encoding="utf-8") as file:
        value: dict[str, Any] = json.load(file)
    return value


def build_json() -> str:
    """Return the text for catalog.json, built from the files in assets/. Raises CatalogError."""
    from nexus_mcp.catalog.building import shipped_value
    from nexus_mcp.catalog.sources import Shipped

    return json.dumps(shipped_value(Shipped()), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    text = build_json()
    with open(data_path("assets", NAME), "w", encoding="utf-8") as target:
        target.write(text)
