"""Write docs/tools.md, docs/help.md, and the tables of tools and commands from the definitions: `make docs`.

A test compares them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nexus_mcp.cli import COMMANDS
from nexus_mcp.cli.help_texts import command_help, overview
from nexus_mcp.cli.options import Command, Group
from nexus_mcp.tools import TOOLS
from nexus_mcp.tools.definition import Tool

PAGE = Path(__file__).with_name("tools.md")
COMMANDS_PAGE = Path(__file__).with_name("commands.md")
HELP_PAGE = Path(__file__).with_name("help.md")
README = Path(__file__).resolve().parent.parent / "README.md"
_BEGIN, _END = "| tool | what it does |\n|---|---|\n", "\nParameters, results and errors"
_COMMANDS_BEGIN, _COMMANDS_END = "<!-- commands: written by docs/generate.py -->\n\n", "<!-- end of the commands -->"
HELP_HEAD = """\
# Help texts

<!-- Written by docs/generate.py from nexus_mcp/cli/. Do not edit: `make docs` writes it anew. -->

Look up here what `--help` prints for each command. The [commands](commands.md) page explains them.
"""
HEAD = """\
# The tools

<!-- Written by docs/generate.py from nexus_mcp/tools/. Do not edit: `make docs` writes it anew. -->

Look up here the parameters, results and errors of each tool. A client may show the names under a prefix.

Every call answers with one JSON object, as `structuredContent` and as text. A failed call has `isError`, answers
`{"error": "…"}`, and changes nothing. The server checks the arguments in this order: unknown parameters, missing ones,
types and values. One message names all faults of the first kind that occurs. Besides the types below, the server
accepts a number as text (`"2"`), a list or an object as its JSON text, and null for an optional parameter, which counts
as absent.
"""
TYPE_NAMES = {"array": "list", "boolean": "true or false", "integer": "whole number", "string": "text"}


def page() -> str:
    """The whole text of docs/tools.md."""
    contents = "\n".join(f"- [{tool.name}](#{tool.name}): {tool.title}" for tool in TOOLS)
    return "\n".join((HEAD, contents, *(section(tool) for tool in TOOLS)))


def readme(text: str) -> str:
    """Return the text of README.md with the table of today's tools."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    rows = "".join(f"| `{tool.name}` | {tool.summary} |\n" for tool in TOOLS)
    return f"{before}{_BEGIN}{rows}{_END}{after}"


def commands(text: str) -> str:
    """Return the text of docs/commands.md with the table of today's commands."""
    before, rest = text.split(_COMMANDS_BEGIN)
    _, after = rest.split(_COMMANDS_END)
    rows = "".join(
        f"| [`{line}`](#{line.replace(' ', '-')}) | {command.summary} |\n" for line, command in every_command()
    )
    return f"{before}{_COMMANDS_BEGIN}| command | what it does |\n|---|---|\n{rows}\n{_COMMANDS_END}{after}"


def help_page() -> str:
    """Return the whole text of docs/help.md."""
    texts = [("nexus-mcp", overview([load() for load in COMMANDS.values()]))]
    texts += [(line, command_help(command, line)) for line, command in every_command()]
    return "\n".join((HELP_HEAD, *(f"## {line} --help\n\n```text\n{text}\n```\n" for line, text in texts)))


def every_command() -> list[tuple[str, Command | Group]]:
    """Return the command line and the command of each command, those of groups after their group."""
    found: list[tuple[str, Command | Group]] = []
    for name, load in COMMANDS.items():
        _add(found, f"nexus-mcp {name}", load())
    return found


def _add(found: list[tuple[str, Command | Group]], line: str, command: Command | Group) -> None:
    found.append((line, command))
    if isinstance(command, Group):
        for name, load in command.subcommands.items():
            _add(found, f"{line} {name}", load())


def section(tool: Tool) -> str:
    """The part about one tool."""
    parts = [f"\n## {tool.name}\n", f"{_nature(tool)}\n", tool.description]
    if tool.parameters:
        rows = (
            f"| `{name}` | {type_of(schema)} | {'yes' if name in tool.required else ''} | {_cell(schema)} |"
            for name, schema in tool.parameters.items()
        )
        parts += ["\n| parameter | type | required | |", "|---|---|---|---|", *rows]
    else:
        parts += ["\nIt has no parameters."]
    parts += ["\n| answer | type | always | |", "|---|---|---|---|", *_fields(tool.output)]
    return "\n".join(parts)


def type_of(schema: dict[str, Any]) -> str:
    """The values a schema admits, in words."""
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{str(schema['const']).lower()}`"
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return " or ".join(type_of(option) for option in schema[keyword])
    types = schema.get("type", "anything")
    if isinstance(types, list):
        return " or ".join(type_of({**schema, "type": one}) for one in types)
    if types == "array" and "items" in schema:
        return f"list of {type_of(schema['items'])}"
    if types == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {type_of(schema['additionalProperties'])}"
    return TYPE_NAMES.get(str(types), str(types))


def _fields(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    for name, member in schema.get("properties", {}).items():
        always = "yes" if name in schema.get("required", ()) else ""
        yield f"| `{path}{name}` | {type_of(member)} | {always} | {_cell(member)} |"
        yield from _fields(member, f"{path}{name}.")
        yield from _fields(member.get("items", {}), f"{path}{name}[].")


def _nature(tool: Tool) -> str:
    words = ["reads only" if tool.read_only else "writes"]
    if tool.destructive:
        words.append("may replace or remove what is there")
    words.append("safe to repeat" if tool.idempotent else "a second call acts again")
    return f"*{tool.title}: {', '.join(words)}.*"


def _cell(schema: dict[str, Any]) -> str:
    return str(schema.get("description", "")).replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    PAGE.write_text(page() + "\n", encoding="utf-8")
    HELP_PAGE.write_text(help_page(), encoding="utf-8")
    COMMANDS_PAGE.write_text(commands(COMMANDS_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    README.write_text(readme(README.read_text(encoding="utf-8")), encoding="utf-8")
