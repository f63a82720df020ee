"""Compose the texts of generated files: the roles of agents and the skills, with placeholders replaced.

The text of a skill names our tools without the prefix of a harness, because several harnesses may read its folder. If
the skill needs the notes of the harness (`harness_notes`), a chapter with the notes of each of these harnesses follows
the text.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from nexus_mcp.catalog.capabilities import all_capabilities, shown_tools
from nexus_mcp.catalog.load import has_text
from nexus_mcp.catalog.placeholders import fill, options_of, read_notes
from nexus_mcp.catalog.tool_files import ANY, own_name, own_tools

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from nexus_mcp.catalog.load import Catalog

PLAIN = f"the nexus tool `{ANY}`"
"""The name of a tool of ours in the texts of skills."""
SOME_HARNESS = "<harness>"
_TITLES = {"claude-code": "Claude Code", "codex": "Codex", "opencode": "OpenCode"}


class Mounts(NamedTuple):
    """The form of our tools' names in the notes of a harness (`noted`), and the form that replaces it (`written`); `*`
    is the place of the tool's name.
    """

    noted: str
    written: str

    def rename(self, text: str) -> str:
        """Return the text with the part of `noted` before `*` replaced by that of `written`."""
        return text.replace(self.noted.split(ANY, 1)[0], self.written.split(ANY, 1)[0]) if self.noted else text


SAME = Mounts("", "")
"""Rename nothing: the notes already have the right names."""


class Naming(NamedTuple):
    """The names in a text: `tools` for our tools (with `*` for the tool's name), `harness` for the harness id in
    commands, and `command`, which starts nexus-mcp.
    """

    tools: str
    harness: str
    command: str
    mount: str = ""
    """The value of the option --mount of commands, "" for none."""


def naming_of(catalog: Catalog, harness: str, prefix: str, command: str) -> Naming:
    """Return the naming for a text that only `harness` reads."""
    return Naming(f"`{mount(catalog, harness, prefix)}`", harness, command, catalog.mount_of(harness, prefix))


def skill_naming(catalog: Catalog, readers: Sequence[str], prefix: str, command: str) -> Naming:
    """Return the naming for the text of a skill, which several harnesses, `readers`, may read."""
    if len(readers) > 1:
        return Naming(PLAIN, SOME_HARNESS, command)
    return Naming(PLAIN, readers[0], command, catalog.mount_of(readers[0], prefix))


def mount(catalog: Catalog, harness: str, prefix: str) -> str:
    """Return how the harness names our tools, with `*` for the name of the tool."""
    return own_name(catalog.maps[harness]["nexus_tools"], f"{prefix}{ANY}")


def with_mount(catalog: Catalog, harness: str, mount: str) -> Catalog:
    """Return a copy of the catalog in which the harness puts `mount` before the names of our tools."""
    from copy import copy

    return copy(catalog).mount(harness, mount)


def resolve(text: str, naming: Naming, catalog: Catalog) -> str:
    """Return the text with each placeholder replaced; unknown ones stay."""
    return fill(
        text,
        lambda name: own_name(naming.tools, name),
        lambda name: f"{naming.command} {name}{options_of(name, naming.harness, naming.mount)}",
        catalog.vocabulary["invocations"],
    )


def role(catalog: Catalog, agent: str, naming: Naming, result: str) -> str:
    """Return the text of an agent. `result` says how its result reaches the lead. Raise as Catalog.body does."""
    text = resolve(catalog.body("agents", agent), naming, catalog).strip()
    return f"{text}\n\n## How your result reaches the lead\n\n{result}\n"


def usable_agents(catalog: Catalog) -> dict[str, dict[str, Any]]:
    """Return the agents that have a text."""
    return {name: agent for name, agent in catalog.agents.items() if has_text(agent)}


def skill_file(catalog: Catalog, skill: str, naming: Naming, readers: Sequence[str], mounts: Mounts = SAME) -> str:
    """Return SKILL.md of a skill for the harnesses `readers`, without its mark. Raise as Catalog.body does."""
    entry = catalog.skill(skill)
    text = resolve(catalog.body("skills", skill), naming, catalog).strip()
    parts = [text]
    if entry["harness_notes"] and (notes := [(name, read_notes(name)) for name in readers]):
        chapters = [
            f"### In {_TITLES.get(name, name)}\n\n{mounts.rename(_lower_headings(note))}"
            for name, note in notes
            if note
        ]
        head = "## The harness\n\nRead the chapter of the harness that you run in."
        parts.append("\n\n".join([head, *chapters]))
    if SOME_HARNESS in text:
        names = " or ".join([", ".join(f"`{name}`" for name in readers[:-1]), f"`{readers[-1]}`"])
        parts.append(f"In commands, replace `{SOME_HARNESS}` with the harness that you run in: {names}.")
    fields = {"name": skill, "description": entry["description"]}
    front = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
    if entry["manual_only"]:
        front.append("disable-model-invocation: true")
    return front_matter(front, "\n\n".join(parts))


def front_matter(lines: Sequence[str], text: str) -> str:
    """Return a Markdown file with these lines of YAML before the text."""
    return "\n".join(("---", *lines, "---", "", text.rstrip(), ""))


def exact_tools(catalog: Catalog, agent: str, harness: str, prefix: str) -> list[str]:
    """Return the tools that an agent may not use, by their exact names.

    Left out are patterns, and the names of our tools under the usual mount if our server has another one, because the
    harness knows neither. The hook denies these tools nevertheless.
    """
    own = mount(catalog, harness, prefix)
    bare = mount(catalog, harness, "")
    first, last = bare.split(ANY, 1)
    names = []
    capabilities = all_capabilities(catalog.agent(agent))
    for name in (tool for capability in capabilities for tool in shown_tools(catalog, capability, harness)):
        if prefix and name.startswith(first) and name.endswith(last) and ANY not in name:
            names.append(own_name(own, name.removeprefix(first).removesuffix(last)))
        elif ANY not in name:
            names.append(name)
    return list(dict.fromkeys(names))


def reading_tools(catalog: Catalog, naming: str = ANY) -> list[str]:
    """Return the names of our tools that change nothing; in `naming`, `*` is the place of the name."""
    return [own_name(naming, name) for name in own_tools(catalog.vocabulary, "reading")]


def _lower_headings(notes: str) -> str:
    """Return the notes of a harness without their title, with headings of level 2 lowered to level 4."""
    lines = notes.splitlines()
    body = lines[1:] if lines and lines[0].startswith("# ") else lines
    return "\n".join(f"##{line}" if line.startswith("## ") else line for line in body).strip()
