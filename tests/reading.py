"""Print a random sample of the project's sentences, for a reader to mark those that need a second reading.

`python -m tests.reading --seed 1` picks 40 modules of `nexus_mcp/` and 10 pages (docs/ and README.md, without
docs/decisions/) and prints each sentence of their docstrings, comments and prose with its number, file and line. The
same seed picks the same files as long as no file is added, removed or renamed.
"""

from __future__ import annotations

import argparse
import ast
import io
import random
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parent.parent
MODULES = 40
PAGES = 10
WORD = re.compile(r"[^\W\d_]{2,}")
WORDS = 3  # a table cell with fewer words, such as a figure or a name, is no sentence
# A sentence ends at a full stop, question mark or exclamation mark before a blank and a capital, quote or backtick.
END = re.compile(r"(?<=[.!?])[)\"'*`]*\s+(?=[A-Z`\"'(*\[])")
TOOL_COMMENT = re.compile(r"#\s*(?:type:|noqa|pragma|fmt:|ruff:|!)")


def sentences(line: int, lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield each sentence of one paragraph with the line on which it begins; the paragraph begins on `line`."""
    text = ""
    starts: list[tuple[int, int]] = []
    for number, part in enumerate(lines, line):
        starts.append((len(text), number))
        text += f"{part.strip()} "
    position = 0
    for end in [*(match.end() for match in END.finditer(text)), len(text)]:
        if sentence := text[position:end].strip():
            yield max(number for start, number in starts if start <= position), sentence
        position = end


def paragraphs(line: int, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the blocks of a docstring between blank lines, each with its first line."""
    block: list[str] = []
    for number, part in enumerate([*text.splitlines(), ""], line):
        if part.strip():
            block.append(part)
        elif block:
            yield number - len(block), block
            block = []


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the sentences of texts that stand alone: docstrings, and texts below a constant."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for line, block in paragraphs(node.lineno, node.value.value):
                yield from sentences(line, block)


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of the comments; comments on consecutive lines in one column are one paragraph."""
    run: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or TOOL_COMMENT.match(token.string):
            continue
        if run and (token.start[0] - 1, token.start[1]) != run[-1].start:
            yield from sentences(run[0].start[0], (one.string.lstrip("#") for one in run))
            run = []
        run.append(token)
    if run:
        yield from sentences(run[0].start[0], (one.string.lstrip("#") for one in run))


def of_module(path: Path) -> list[tuple[int, str]]:
    source = path.read_text(encoding="utf-8")
    return sorted([*docstrings(ast.parse(source)), *comments(source)], key=lambda found: found[0])


def of_page(path: Path) -> list[tuple[int, str]]:
    """Return the sentences of paragraphs, list items and table cells, without headings, code blocks and figures."""
    found: list[tuple[int, str]] = []
    heading = False
    for token in MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8")):
        if token.type in ("heading_open", "heading_close"):
            heading = token.nesting == 1
        elif token.type == "inline" and token.map and not heading:
            spoken = sentences(token.map[0] + 1, token.content.splitlines())
            found += [one for one in spoken if len(WORD.findall(one[1])) >= WORDS]
    return found


def sample(seed: int) -> tuple[list[Path], list[Path]]:
    """Return the modules and the pages that the seed picks."""
    chance = random.Random(seed)
    modules = sorted((ROOT / "nexus_mcp").rglob("*.py"))
    pages = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
    return sorted(chance.sample(modules, MODULES)), sorted(chance.sample(pages, PAGES))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reading", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="chooses the sample (default: 1)")
    seed = parser.parse_args(arguments).seed
    modules, pages = sample(seed)
    count = 0
    for path, found in [*((p, of_module(p)) for p in modules), *((p, of_page(p)) for p in pages)]:
        for line, sentence in found:
            count += 1
            print(f"{count:>5}  {path.relative_to(ROOT)}:{line}: {sentence}")
    print(f"{count} sentences in {len(modules)} modules and {len(pages)} pages, seed {seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
