"""The form of a map: how a server that is not a Nexus server is started, called and read. Maps are in conformance/maps.

A map translates names and forms. It may leave out, rename, collect and count values of a server's answer. It cannot add
a value that the server did not answer.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from nexus_mcp.packaged import data_path

FOLDER = Path(data_path("conformance", "maps"))
NAME = re.compile(r"\{([a-z_]+)\}")
"""The place of a value in a template."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Each(_Part):
    """An argument that is a list: the template `item`, filled once for each value of the caller's list."""

    each: str = Field(description="The parameter of the contract that is the list.")
    item: str = Field(description="The template of an item; {item} stands for the value.")


class Join(_Part):
    """An argument that is one text: the values of a list, joined."""

    join: str = Field(description="The parameter of the contract that is the list.")
    by: str = Field(description="The text between two values.")


class Choose(_Part):
    """An argument whose values have other names on the server. A value that `words` lacks is sent as it is."""

    choose: str = Field(description="The parameter of the contract.")
    words: dict[str, str] = Field(description="The contract's name of a value → the server's name.")


class Text(_Part):
    """An argument that the server takes as a text, although the contract has a number."""

    text: str = Field(description="The parameter of the contract, or a value kept from an earlier answer.")


Template = Each | Text | Join | Choose | str | bool | int | list[str | int] | dict[str, Any]
"""The value of an argument. A text is a template: {name} is a parameter of the contract, a value kept from an earlier
answer, or {project}. An argument whose parameter the caller did not give is left out."""


class Select(_Part):
    """Where a field of the contract is in the answers. A field that is found nowhere is left out."""

    of: int = Field(-1, description="Which call's answer, from 0; -1 is the last one.")
    path: str | list[str] | None = Field(
        None, description="JSONPath into the answer's JSON; of several, the first found."
    )
    text: str | None = Field(None, description="A pattern; its first group in the answer's text is the value.")
    all: str | None = Field(None, description="A pattern; the value is a list of all its matches in the text.")
    within: str | None = Field(None, description="A pattern; its first group is the text in which `all` looks.")
    sections: str | None = Field(
        None, description="A pattern of headings; its groups are also groups of the matches below."
    )
    group: str | None = Field(None, description="Of one match of `all`: the name of the group that is the value.")
    fields: dict[str, Select] | None = Field(None, description="The fields of an object, or of each item of a list.")
    choose: dict[str, str] | None = Field(None, description="The server's name of a value → the contract's name.")
    type: Literal["integer", "boolean"] | None = Field(None, description="The type of a text, or of each in a list.")
    count: bool = Field(False, description="The value is the number of items.")
    reverse: bool = Field(False, description="The list is in the opposite order.")
    omit: list[Any] = Field(default=[], description="Values that stand for an absent field.")
    default: Any = Field(None, description="What an absent field means.")

    @property
    def has_place(self) -> bool:
        """Return whether a path or a pattern finds the value; an object of fields may have neither."""
        return any((self.path, self.text, self.all, self.group))

    @model_validator(mode="after")
    def _has_one_place(self) -> Self:
        places = [self.path, self.text, self.all, self.group]
        if sum(place is not None for place in places) > 1 or not (self.has_place or self.fields):
            raise ValueError("a field needs one of path, text, all and group, or else fields")
        return self


class Call(_Part):
    """One call of the server."""

    tool: str = Field(description="The server's tool.")
    arguments: dict[str, Template] = Field(default={}, description="Its arguments.")
    when: str | None = Field(None, description="The call is made only if the caller gave this parameter.")
    keep: dict[str, Select] = Field(default={}, description="Values of its answer for the templates of later calls.")


class ToolMap(_Part):
    """A tool of the contract: the server's calls that do the same, and where their answers have the result."""

    calls: list[Call] = Field(min_length=1, description="The calls, in order; the first error is the result.")
    fill: dict[str, Any] = Field(default={}, description="Parameters that the server demands, if the caller gave none.")
    pass_on: bool = Field(False, description="Parameters that no template names are sent under their own names.")
    result: dict[str, Select] | None = Field(None, description="The result; without it, the JSON of the last answer.")


class Word(_Part):
    """An error message of the server, and the contract's message for the same error."""

    match: str = Field(description="A pattern of the server's message.")
    means: str = Field(description="The contract's message; \\1 is the first group.")


class Step(_Part):
    """One step of a probe: a call of the server, a restart, a command, or a look at the list of its tools."""

    tool: str | None = Field(None, description="The server's tool to call.")
    arguments: dict[str, Template] = Field(default={}, description="Its arguments.")
    command: list[str] | None = Field(None, description="A command to run in the project.")
    restart: bool = Field(False, description="The server is ended and started again.")
    no_tool: str | None = Field(None, description="A pattern that the name of no listed tool may match.")
    has_tool: str | None = Field(None, description="A pattern that the name of a listed tool must match.")
    file: str | None = Field(None, description="A pattern of files in the project, to read.")
    seen: str | None = Field(None, description="A pattern that the answer, output or text must match.")
    ends: bool = Field(False, description="The server must end instead of answering.")

    @model_validator(mode="after")
    def _does_one_thing(self) -> Self:
        parts = (self.tool, self.command, self.restart, self.no_tool, self.has_tool, self.file)
        if sum(map(bool, parts)) != 1:
            raise ValueError("a step needs one of tool, command, restart, no_tool, has_tool and file")
        return self


class Probe(_Part):
    """A row of the table that no call of the contract can judge: the verdict, a note, and the steps that prove it."""

    verdict: Literal["yes", "partly", "no"] = Field(description="What the steps show.")
    note: str = Field(description="What the cell adds to the verdict, in a few words.")
    steps: list[Step] = Field(min_length=1, description="The steps; each one must show what it expects.")


class Beyond(_Part):
    """A feature that the contract lacks, with the steps that prove it."""

    what: str = Field(description="One sentence.")
    steps: list[Step] = Field(min_length=1, description="The steps that prove it.")


class ServerMap(_Part):
    """A server, and its map."""

    title: str = Field(description="Its name in tables.")
    package: str | None = Field(None, description="Its entry in the table of npm packages; none for our own server.")
    start: list[str] = Field(min_length=1, description="The command: {program} and {package} of npm, {node}, {us}.")
    environment: dict[str, str] = Field(default={}, description="Variables for it.")
    project: str = Field(".", description="Its project, below that of a fixture.")
    setup: list[list[str]] = Field(default=[], description="Commands that make a project, run in it.")
    files: str = Field(description="Pattern of the files in the project that hold its tasks.")
    same_files: bool = Field(False, description="Whether these are the files of the contract, so that they are judged.")
    prefix: str | None = Field(
        None, description="Tools without a map are called with this prefix; without it the server lacks them."
    )
    tools: dict[str, ToolMap] = Field(default={}, description="Tool of the contract → its map.")
    ready: ToolMap | None = Field(
        None, description="Calls that return the next task in the field `next`, if no list has the ready tasks."
    )
    errors: list[Word] = Field(default=[], description="Messages of errors; the first that matches counts.")
    unknown: Step = Field(description="A call with an unknown argument that succeeds without it.")
    probes: dict[str, Probe] = Field(description="Row of the table → its probe.")
    beyond: list[Beyond] = Field(default=[], description="Features that the contract lacks.")

    def parameters(self, tool: str) -> set[str] | None:
        """Return the parameters of a tool of the contract that reach the server; None for all of them."""
        if tool not in self.tools or self.tools[tool].pass_on:
            return None
        return {
            name for call in self.tools[tool].calls for value in call.arguments.values() for name in names_in(value)
        }


def names_in(template: Any) -> set[str]:
    """Return the names of the parameters in a template."""
    if isinstance(template, Each):
        return {template.each}
    if isinstance(template, Join):
        return {template.join}
    if isinstance(template, Text):
        return {template.text}
    if isinstance(template, Choose):
        return {template.choose}
    if isinstance(template, dict):
        return {name for value in template.values() for name in names_in(value)}
    if isinstance(template, list):
        return {name for value in template for name in names_in(value)}
    return set(NAME.findall(template)) if isinstance(template, str) else set()


def load(name: str) -> ServerMap:
    """Return the map of this name. Raise ValueError, with every fault and its place, if the file is no map."""
    return ServerMap.model_validate(yaml.safe_load((FOLDER / f"{name}.yml").read_text(encoding="utf-8")))
