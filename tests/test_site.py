"""The site of the documentation: its pages, their links, and what the check of the built site finds.

`make site` builds it, which these tests do not need: they read mkdocs.yml and the pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs import site_check, site_hook

ROOT = Path(__file__).resolve().parent.parent
CONFIG: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
DECISION = "decisions/0"


def pages(nav: Any) -> Iterator[str]:
    """Yield the pages of a navigation, in order."""
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav if isinstance(nav, list) else nav.values():
            yield from pages(part)


NAV = list(pages(CONFIG["nav"]))


def test_navigation_has_every_page_once() -> None:
    """Each page of docs/ but the single decisions, and each page outside it that the hook adds."""
    folder = ROOT / "docs"
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")}
    assert sorted(NAV) == sorted(
        {page for page in there if not page.startswith(DECISION)} | set(site_hook.PAGES.values())
    )


def test_build_fails_on_each_kind_of_broken_link() -> None:
    """Missing pages, missing anchors and unusual links are warnings, and a warning ends the build."""
    assert CONFIG["strict"] is True
    assert set(CONFIG["validation"]["links"].values()) == {"warn"}
    assert {"anchors", "not_found", "absolute_links", "unrecognized_links"} == set(CONFIG["validation"]["links"])
    assert CONFIG["validation"]["nav"]["omitted_files"] == "warn"


def test_theme_loads_nothing_from_other_hosts() -> None:
    """No fonts of Google, no analytics, no plug-in but the search, and no setting with an address."""
    assert CONFIG["theme"]["font"] is False
    assert CONFIG["plugins"] == ["search"]
    assert "extra_javascript" not in CONFIG
    assert "://" not in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_dark_mode_follows_the_same_setting_as_the_pictures() -> None:
    """Both follow prefers-color-scheme: with a switch of its own the page could be dark and a picture's text, too."""
    assert [one["media"] for one in CONFIG["theme"]["palette"]] == [
        "(prefers-color-scheme: light)",
        "(prefers-color-scheme: dark)",
    ]
    assert [one for one in CONFIG["theme"]["palette"] if "toggle" in one] == []


def test_no_page_has_a_mermaid_diagram() -> None:
    """Material loads Mermaid from another host, so diagrams are pictures."""
    assert [
        path.name for path in (ROOT / "docs").rglob("*.md") if "```mermaid" in path.read_text(encoding="utf-8")
    ] == []


@pytest.mark.parametrize(
    ("site", "before", "after"),
    [
        ("readme.md", "[a](docs/install.md#update)", "[a](install.md#update)"),
        ("readme.md", "[a](CONTRIBUTING.md)", "[a](contributing.md)"),
        ("readme.md", "[a](docs/decisions/README.md) [b](LICENSE)", "[a](decisions/README.md) [b](LICENSE)"),
        ("tags.md", "[a](../README.md), [b](../schemas/x.json)", "[a](readme.md), [b](schemas/x.json)"),
        ("tags.md", "![a](pictures/x.svg) [b](config.md) [c](#here)", "![a](pictures/x.svg) [b](config.md) [c](#here)"),
        ("decisions/0001-x.md", "[a](../agents.md#bounds)", "[a](../agents.md#bounds)"),
        ("decisions/0001-x.md", "[a](../../CHANGELOG.md)", "[a](../changelog.md)"),
        ("tags.md", "[a](https://example.org/x)", "[a](https://example.org/x)"),
        ("tags.md", "[a](mailto:x@example.org)", "[a](mailto:x@example.org)"),
    ],
)
def test_links_are_those_of_the_site(site: str, before: str, after: str) -> None:
    """A link of a git host leads to the same page in the site; addresses and anchors stay."""
    assert site_hook.rewritten(before, site) == after


def test_linked_files_outside_docs_come_along() -> None:
    """A page that links a schema brings it into the site, and pages that the hook adds are no such files."""
    assert site_hook.linked_files(ROOT / "docs" / "config.md") == {"schemas/catalog/config.schema.json"}
    assert site_hook.linked_files(ROOT / "README.md") == {"LICENSE"}


def test_copy_for_other_builders_has_every_target(tmp_path: Path) -> None:
    """In the copy each link leads to a file of the copy, from the pages outside docs/, too."""
    site_hook.write_copy(tmp_path / "docs")
    pages = list((tmp_path / "docs").rglob("*.md"))
    assert {page.name for page in pages} >= set(site_hook.PAGES.values())
    missing = [
        (page.name, target)
        for page in pages
        for target in site_hook.LINK.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).is_file()
    ]
    assert missing == []


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/css">',
        '<link rel="preconnect" href="https://fonts.example">',
        '<img src="http://example.org/x.png">',
        "<style>@import 'https://example.org/x.css'; a {}</style>",
        '<p style="background: url(https://example.org/x.png)">x</p>',
        '<pre class="mermaid"><code>flowchart TD</code></pre>',
    ],
)
def test_check_finds_what_another_host_would_serve(html: str, tmp_path: Path) -> None:
    """Scripts, styles, fonts, pictures and diagrams from another host are faults."""
    (tmp_path / "x.html").write_text(html, encoding="utf-8")
    (fault,) = site_check.foreign(tmp_path)
    assert fault.startswith("x.html loads ")


def test_check_finds_a_foreign_font_in_a_style_sheet(tmp_path: Path) -> None:
    """Style sheets are searched, too; a picture in the sheet itself is no request."""
    (tmp_path / "x.css").write_text("@font-face{src:url(https://example.org/x.woff2)}", encoding="utf-8")
    (tmp_path / "y.css").write_text("a{background:url(data:image/svg+xml;base64,AA) url(../z.png)}", encoding="utf-8")
    assert list(site_check.foreign(tmp_path)) == ["x.css loads https://example.org/x.woff2"]


def test_links_and_own_files_are_no_faults(tmp_path: Path) -> None:
    """A reader may follow a link; the files of the site itself are loaded."""
    page = '<a href="https://example.org">x</a><script src="assets/x.js"></script><img src="pictures/x.svg">'
    (tmp_path / "x.html").write_text(page, encoding="utf-8")
    assert list(site_check.foreign(tmp_path)) == []


def test_structure_of_a_page_is_counted() -> None:
    """A list without a blank line before it is a list on a git host: the check expects it in the site, too."""
    counts = site_check.expected("Text:\n- one\n- two\n\n## Title\n\n| a |\n|---|\n| b |\n")
    assert {tag: counts[tag] for tag in ("ul", "li", "h2", "table", "tr")} == {
        "ul": 1,
        "li": 2,
        "h2": 1,
        "table": 1,
        "tr": 2,
    }
    assert site_check.read("<nav><ul><li>x</li></ul></nav><article><h2>x</h2></article>").counts == {"h2": 1}
