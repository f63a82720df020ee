"""Load the shipped texts, and check each by rules. A test breaks each rule on purpose."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from nexus_mcp.catalog import placeholders
from nexus_mcp.catalog.load import load
from nexus_mcp.tools import TOOLS

SECTIONS = ("Role", "Limits", "Procedure", "Hand back", "Stop and ask")
LENGTHS = {"agents": (60, 140), "skills": (120, 260)}
WIDTH = 140
LONG_SENTENCE = 12
HERE = Path(__file__).parent
# Names of harnesses and of their tools, wherever they stand. A hit is a whole word in this very spelling.
_NAMES = (HERE / "tool_names.txt").read_text(encoding="utf-8").split()
# English words, too: a tool only in a code span, or as "the Read tool".
_WORDS = (HERE / "english_tool_names.txt").read_text(encoding="utf-8").split()


def bodies() -> dict[tuple[str, str], str]:
    """(kind, id) -> text of every shipped agent and skill, placeholders and all."""
    catalog = load(None)
    return {
        (kind, name): catalog.body(kind, name)
        for kind, of in (("agents", catalog.agents), ("skills", catalog.skills))
        for name in of
    }


def tools_of_maps() -> set[str]:
    """The concrete names of the shipped capability maps that are no English words; patterns are left out."""
    named = {
        tool
        for harness in load(None).maps.values()
        for part in (*harness["classes"].values(), harness["reading"], harness["editing"])
        for tool in part
        if "*" not in tool
    }
    return {name for name in named if "_" in name or not name.islower()} - set(_WORDS)


def structure_faults(kind: str, text: str) -> Iterator[str]:
    """One title, the five sections in their order with something in each, the length and the width."""
    headings = re.findall(r"^(##? .*)$", _without_fences(text), re.MULTILINE)
    if not text.startswith("# ") or sum(heading.startswith("# ") for heading in headings) != 1:
        yield "has no title, or two"
    wanted = [f"## {section}" for section in SECTIONS]
    if [heading for heading in headings if heading in wanted] != wanted:
        yield "has not the five sections in their order"
    for title, content in re.findall(r"^## (.*)\n((?:(?!## ).*\n?)*)", text, re.MULTILINE):
        if not content.strip():
            yield f"has nothing under {title}"
    low, high = LENGTHS[kind]
    if not low <= len(text.splitlines()) <= high:
        yield f"has {len(text.splitlines())} lines"
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > WIDTH or line != line.rstrip():
            yield f"has a line {number} that is too long, or has space at its end"


def name_faults(text: str) -> Iterator[str]:
    """Tools of a harness by name, and tools of ours that are no placeholder: a harness may call them otherwise."""
    plain = re.sub(r"\{\{.*?\}\}", "", text)
    for name in sorted({*_NAMES, *tools_of_maps(), *(tool.name for tool in TOOLS if "_" in tool.name)}):
        if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", plain):
            yield name
    if "mcp__" in plain:
        yield "mcp__"
    words = "|".join(_WORDS)
    for hit in re.finditer(rf"`({words})`|\b({words}) tool\b", plain):
        yield hit.group()


def placeholder_faults(text: str) -> list[str]:
    """Placeholders that name nothing."""
    catalog = load(None)
    known: Mapping[str, Mapping[str, object] | tuple[str, ...]] = {
        "tool": catalog.vocabulary["tools"],
        "command": placeholders.COMMANDS,
        "agent": catalog.agents,
        "skill": catalog.skills,
        "action": catalog.vocabulary["invocations"],
    }
    return [told() for _, told in placeholders.find_faults(text, known)]


def sentences(text: str) -> set[str]:
    """The sentences of more than LONG_SENTENCE words, in lower case and without marks."""
    found = set()
    for paragraph in re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) |\n\|", text):
        for sentence in re.split(r"(?<=[.!?:;|])\s", " ".join(paragraph.split())):
            words = re.findall(r"[\w{}]+", sentence.lower())
            if len(words) > LONG_SENTENCE:
                found.add(" ".join(words))
    return found


def _without_fences(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
