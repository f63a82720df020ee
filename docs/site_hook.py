"""Add to the site what is outside docs/: README, CONTRIBUTING, CHANGELOG, and each file that a page links.

MkDocs calls these functions (mkdocs.yml). The pages keep the links that work on a git host; here they are rewritten.
`python -m docs.site_hook FOLDER` writes a copy of docs/ in which all of that is done, for a builder without such hooks.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = {"README.md": "readme.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Path in the project → path in the site."""
LINK = re.compile(r"(?<=\]\()(?!\w+:)([^)#\s]+)")
_SOURCES = {site: project for project, site in PAGES.items()}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the files with the pages outside docs/, and with each file outside docs/ that a page links."""
    from mkdocs.structure.files import File

    for project, site in PAGES.items():
        files.append(File.generated(config, site, content=(ROOT / project).read_text(encoding="utf-8")))
    linked = {path for file in files.documentation_pages() for path in linked_files(source(file.src_uri))}
    for path in sorted(linked):
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Return the page with the links of the site."""
    return rewritten(markdown, page.file.src_uri)


def source(site: str) -> Path:
    """Return the file from which a page of the site is made."""
    return ROOT / _SOURCES[site] if site in _SOURCES else DOCS / site


def linked_files(page: Path) -> set[str]:
    """Return the files outside docs/ that a page links and that are no pages, as paths in the project."""
    targets = {_in_project(page, target) for target in LINK.findall(page.read_text(encoding="utf-8"))}
    return {path for path in targets if not path.startswith("docs/") and path not in PAGES and (ROOT / path).is_file()}


def rewritten(markdown: str, site: str) -> str:
    """Return the text of the page `site` with its relative links as they are in the site."""
    page = source(site)

    def link(match: re.Match[str]) -> str:
        path = _in_project(page, match[0])
        target = PAGES.get(path, path.removeprefix("docs/"))
        return os.path.relpath(target, os.path.dirname(site) or ".")

    return LINK.sub(link, markdown)


def write_copy(folder: Path) -> None:
    """Write docs/ into a new folder, with the pages outside it, the linked files, and the links of the site."""
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    for site in (*pages, *_SOURCES):
        page = source(site)
        (folder / site).write_text(rewritten(page.read_text(encoding="utf-8"), site), encoding="utf-8")
        for path in linked_files(page):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, folder / path)


def _in_project(page: Path, target: str) -> str:
    return os.path.relpath(os.path.normpath(page.parent / target), ROOT).replace(os.sep, "/")


if __name__ == "__main__":
    write_copy(Path(sys.argv[1]))
