"""The catalog for a command whose work goes on without what is broken in it."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.catalog.load import Catalog


def catalog_of(root: str) -> Catalog:
    """The catalog of the project at `root` as far as it can be used; stderr has what is wrong with the rest."""
    from nexus_mcp.catalog.load import usable
    from nexus_mcp.quoting import inert

    catalog = usable(root)
    if sys.stderr is not None:
        for told in catalog.told:
            print(f"nexus-mcp: {inert(told)}", file=sys.stderr)
    return catalog
