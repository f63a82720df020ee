"""The shipped catalog: made from assets/ once, kept in assets/catalog.json, and read from there by everybody.

python -m nexus_mcp.catalog.shipped    writes assets/catalog.json anew (`make catalog`)
"""

from __future__ import annotations

import json

from nexus_mcp.packaged import data_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "catalog.json"


def read() -> dict[str, Any]:
    """What building.shipped_value makes of assets/, without reading any YAML."""
    with open(data_path("assets", NAME), encoding="utf-8") as file:
        value: dict[str, Any] = json.load(file)
    return value


def made() -> str:
    """The text of catalog.json, from assets/ as it is. Raises CatalogError."""
    from nexus_mcp.catalog.building import shipped_value
    from nexus_mcp.catalog.sources import Shipped

    return json.dumps(shipped_value(Shipped()), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    text = made()
    with open(data_path("assets", NAME), "w", encoding="utf-8") as target:
        target.write(text)
