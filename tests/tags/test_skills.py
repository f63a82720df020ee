"""The skills that an agent may choose by itself."""

from __future__ import annotations

import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.tags.route import selectable


@pytest.mark.requirement("tags.manual-only")
def test_manual_only_skills_are_not_offered() -> None:
    """They are in the catalog, and not in the list."""
    catalog = load(None)
    offered = selectable(catalog)
    by_hand = {name for name, skill in catalog.skills.items() if skill["manual_only"]}
    assert "nx-init" in by_hand
    assert [skill["id"] for skill in offered] == sorted(set(catalog.skills) - by_hand)
    assert [sorted(skill) for skill in offered] == [["description", "id", "name"]] * len(offered)
