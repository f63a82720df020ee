"""The names that the templates use: jinja2 shows an unknown one as nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nexus_mcp.board import render
from nexus_mcp.board.links import Links, StaticLinks

TEMPLATES = Path(render.__file__).parent / "templates"


@pytest.mark.parametrize("links", [Links("k", ["k"], many=True), StaticLinks("", many=True, up="", cycles=())])
def test_each_link_of_a_template_exists(links: Links) -> None:
    """A link that no class has would be an empty text on the page, such as the projects of a live page."""
    used = {name for path in TEMPLATES.iterdir() for name in re.findall(r"\blinks\.(\w+)", path.read_text())}
    assert len(used) > 10
    assert [name for name in sorted(used) if not hasattr(links, name)] == []
