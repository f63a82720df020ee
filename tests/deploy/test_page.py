"""docs/http.md shows the files of deploy/ as they are."""

from __future__ import annotations

import pytest

from tests.deploy.proxies import ROOT


@pytest.mark.parametrize("name", ["nginx.conf", "Caddyfile"])
def test_page_shows_the_file_of_a_proxy(name: str) -> None:
    """The page shows the file that the tests run, with tabs as four blanks."""
    text = (ROOT / "deploy" / name).read_text(encoding="utf-8").expandtabs(4)
    assert f"\n{text}```" in (ROOT / "docs" / "http.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["nexus-mcp.service", "Containerfile"])
def test_page_names_the_other_files(name: str) -> None:
    """The page names the paths of both files."""
    assert f"deploy/{name}" in (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
