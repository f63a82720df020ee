"""Check the built site: `python -m docs.site_check site`, which `make site` runs.

The pages load nothing from another host, and each has the lists, tables and blocks of code that it has on a git host.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from markdown_it import MarkdownIt

from docs.site_hook import DOCS, PAGES, ROOT

# Attributes that make a browser load something; <a href> does not.
_LOADING = {"src", "srcset", "data", "poster", "xlink:href"}
_LINKS = {"stylesheet", "icon", "preload", "preconnect", "modulepreload", "dns-prefetch", "prefetch", "manifest"}
_FOREIGN = re.compile(r"^\s*(?:https?:)?//")
_IN_CSS = re.compile(r"""(?:url\(|@import)\s*["']?\s*((?:https?:)?//[^"')\s]+)""")
# Elements that both readers of Markdown have to find; Material adds none of these to a page's text.
_COUNTED = {"ul", "ol", "li", "table", "tr", "blockquote", "img", "h1", "h2", "h3"}
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Reader(HTMLParser):
    """Collect what a page loads, and count the elements of its text, the part that Material puts into <article>."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.counts: Counter[str] = Counter()
        self._in_article = False
        self._style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.loads += [value for name, value in values.items() if name in _LOADING]
        if tag == "link" and _LINKS & set(values.get("rel", "").split()):
            self.loads.append(values.get("href", ""))
        if "mermaid" in values.get("class", "").split():
            self.loads.append("https://unpkg.com/mermaid (a diagram of Mermaid, which Material loads from there)")
        self.loads += _IN_CSS.findall(values.get("style", ""))
        self._style = tag == "style"
        if tag == "article":
            self._in_article = True
        elif self._in_article and tag in _COUNTED:
            self.counts[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        self._style = False
        if tag == "article":
            self._in_article = False

    def handle_data(self, data: str) -> None:
        if self._style:
            self.loads += _IN_CSS.findall(data)


def foreign(site: Path) -> Iterator[str]:
    """Yield a line for each thing that a page or a style sheet of the site loads from another host."""
    for path in sorted(site.rglob("*")):
        if path.suffix == ".html":
            loads = read(path.read_text(encoding="utf-8")).loads
        elif path.suffix in (".css", ".svg"):
            loads = _IN_CSS.findall(path.read_text(encoding="utf-8"))
        else:
            continue
        yield from (f"{path.relative_to(site)} loads {value}" for value in loads if _FOREIGN.match(value))


def different(site: Path) -> Iterator[str]:
    """Yield a line for each page whose text has other lists, tables or headings than on a git host."""
    sources = {path.relative_to(DOCS).as_posix(): path for path in DOCS.rglob("*.md")}
    sources |= {name: ROOT / project for project, name in PAGES.items()}
    for name, source in sorted(sources.items()):
        page = site / re.sub(r"(^|/)README\.md$", r"\1index.md", name)
        seen = read(page.with_suffix(".html").read_text(encoding="utf-8")).counts
        wanted = expected(source.read_text(encoding="utf-8"))
        faults = [f"{wanted[tag]} {tag} became {seen[tag]}" for tag in sorted(_COUNTED) if wanted[tag] != seen[tag]]
        if faults:
            yield f"{name}: {', '.join(faults)}"


def read(html: str) -> Reader:
    """Return what a page loads and has."""
    reader = Reader()
    reader.feed(html)
    return reader


def expected(markdown: str) -> Counter[str]:
    """Return how many of each element a git host makes of a page."""
    html = MarkdownIt("commonmark").enable("table").render(markdown)
    return read(f"<article>{html}</article>").counts


def main(folder: str) -> int:
    """Print each fault of the site, and return 1 if there is one."""
    site = Path(folder)
    faults = [*foreign(site), *different(site)]
    print("\n".join(faults) or f"{folder}: {len(list(site.rglob('*.html')))} pages, nothing from other hosts")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
