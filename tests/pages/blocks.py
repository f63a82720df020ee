"""Find the commands on the pages: lines of shell blocks, and lines after `$ ` in what a terminal shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from tests.e2e import capture

ROOT = Path(__file__).resolve().parents[2]
PATHS = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md")), *sorted((ROOT / "docs").glob("*.md"))]
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PATHS}
SHELLS = ("sh", "bash", "console", "shell")
_FENCE = re.compile(r"^( *)(```+|~~~+)(\w*)\n(.*?)^\1\2$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(nexus-mcp [^`]+)`")


class Block(NamedTuple):
    """The commands of one block. `printed` is the text that the page shows after each, None in a shell block."""

    page: str
    line: int
    commands: tuple[str, ...]
    printed: tuple[str, ...] | None = None


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page that have commands, without the captures of real clients."""
    text = PAGES[page]
    found = []
    for match in _FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        language, body = match[3], _dedented(match[4], len(match[1]))
        if language in SHELLS:
            found.append(Block(page, line, tuple(_commands(body))))
        elif language == "text" and body.startswith("$ "):
            parts = [one.partition("\n") for one in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]]
            found.append(Block(page, line, tuple(part[0] for part in parts), tuple(part[2] for part in parts)))
        elif "$ nexus-mcp" in body:
            assert text[: match.start()].endswith(f"{capture.BEGIN}\n"), (
                f"{page}:{line} shows commands after other text"
            )
    return found


def inline(page: str) -> list[str]:
    """Return the command lines in the sentences and tables of a page."""
    prose = _FENCE.sub("", PAGES[page])
    return [" ".join(line.split()) for line in _INLINE.findall(prose)]


def nexus_words(command: str) -> list[str] | None:
    """Return the words after `nexus-mcp` where a command line runs it, up to a redirection of its output, else None."""
    words = shlex.split(command)
    for place, word in enumerate(words):
        begins = place == 0 or words[place - 1] in ("|", "--")
        if begins and word.rpartition("/")[2] == "nexus-mcp":
            return words[place + 1 : words.index(">") if ">" in words else None]
    return None


def _commands(body: str) -> list[str]:
    """Return the command lines of a shell block, without comments and empty lines."""
    lines = body.replace("\\\n", "").splitlines()
    shown = [re.sub(r"(^|\s+)#\s.*$", "", line).strip() for line in lines]
    return [line for line in shown if line]


def _dedented(body: str, by: int) -> str:
    return "".join(line[by:] if line.strip() else line for line in body.splitlines(keepends=True))
