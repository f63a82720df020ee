"""Translate a call of the contract into calls of another server, and their answers into a result of the contract."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.compared.maps import NAME, Call, Choose, Each, Join, Select, ServerMap, Text, ToolMap, names_in
from nexus_mcp.conformance import jsonpath
from nexus_mcp.conformance.result import MISSING

Json = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """The answer of one call of a server: its text, the JSON in it (None without any), and whether it is an error."""

    text: str
    value: Any = None
    is_error: bool = False


@dataclass(frozen=True)
class Outcome:
    """The result of a call of the contract: the payload, which is {"error": message} if `is_error`."""

    payload: Json
    is_error: bool = False


Ask = Callable[[str, Json], Answer]
"""Call a tool of the server by its own name."""


class NoTool(Exception):
    """The map has no such tool."""


def call(known: ServerMap, tool: str, params: Mapping[str, Any], ask: Ask, project: str) -> Outcome:
    """Make the server's calls for one call of the contract, and return the contract's result. Raise NoTool."""
    mapped = known.tools.get(tool)
    if mapped is None and known.prefix is None:
        raise NoTool(tool)
    if mapped is None:
        return _outcome(known, ask(f"{known.prefix}{tool}", dict(params)), None, [])
    params = {**mapped.fill, **params}
    values = {**params, "project": project}
    answers: list[Answer] = []
    for one in mapped.calls:
        if one.when is not None and one.when not in params:
            continue
        answers.append(ask(one.tool, _arguments(mapped, one, params, values)))
        if answers[-1].is_error:
            break
        for name, select in one.keep.items():
            values[name] = selected(select, answers)
    return _outcome(known, answers[-1], mapped, answers)


def first_call(known: ServerMap, tool: str, params: Json, project: str) -> tuple[str, Json]:
    """Return the first of the server's calls for one call of the contract: the server's tool, and its arguments."""
    mapped = known.tools.get(tool)
    if mapped is None:
        return f"{known.prefix}{tool}", params
    params = {**mapped.fill, **params}
    return mapped.calls[0].tool, _arguments(mapped, mapped.calls[0], params, {**params, "project": project})


def _arguments(mapped: ToolMap, one: Call, params: Mapping[str, Any], values: Mapping[str, Any]) -> Json:
    arguments: Json = filled(one.arguments, values)
    if mapped.pass_on:
        named = {name for template in one.arguments.values() for name in names_in(template)}
        arguments |= {name: value for name, value in params.items() if name not in named}
    return arguments


def _outcome(known: ServerMap, last: Answer, mapped: ToolMap | None, answers: Sequence[Answer]) -> Outcome:
    if last.is_error:
        return Outcome({"error": in_contract_words(known, last)}, is_error=True)
    if mapped is None or mapped.result is None:
        payload = last.value if isinstance(last.value, dict) else {"text": last.text}
    else:
        payload = _fields(mapped.result, lambda select: selected(select, answers))
    return Outcome(payload)


def in_contract_words(known: ServerMap, answer: Answer) -> str:
    """Return the message of an error: the contract's message if the map has one for it, else the server's."""
    error = answer.value.get("error") if isinstance(answer.value, dict) else None
    message = error if isinstance(error, str) else answer.text
    for word in known.errors:
        if found := re.search(word.match, message):
            return found.expand(word.means)
    return message


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """Return a template with its values filled in; MISSING if `values` lacks one of them.

    Fields of an object that are MISSING are left out. A value of another type than the template expects is sent as it
    is, so that the server itself judges it.
    """
    if isinstance(template, Each):
        given = values.get(template.each, MISSING)
        return [filled(template.item, {"item": one}) for one in given] if isinstance(given, list) else given
    if isinstance(template, Join):
        given = values.get(template.join, MISSING)
        return template.by.join(_written(one) for one in given) if isinstance(given, list) else given
    if isinstance(template, Text):
        given = values.get(template.text, MISSING)
        return given if given is MISSING else _written(given)
    if isinstance(template, Choose):
        given = values.get(template.choose, MISSING)
        return template.words.get(given, given) if isinstance(given, str) else given
    if isinstance(template, dict):
        members = {name: filled(value, values) for name, value in template.items()}
        return {name: value for name, value in members.items() if value is not MISSING}
    if isinstance(template, list):
        items = [filled(value, values) for value in template]
        return MISSING if any(item is MISSING for item in items) else items
    if not isinstance(template, str):
        return template
    names = NAME.findall(template)
    if any(values.get(name, MISSING) is MISSING for name in names):
        return MISSING
    if names and template == f"{{{names[0]}}}":
        return values[names[0]]
    return NAME.sub(lambda place: _written(values[place.group(1)]), template)


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def selected(select: Select, answers: Sequence[Answer]) -> Any:
    """Return the value in the answers of the calls, or MISSING."""
    if select.fields is not None and not select.has_place:
        return _fields(select.fields, lambda inner: selected(inner, answers))
    try:
        answer = answers[select.of]
    except IndexError:
        return MISSING
    return _value(select, answer.value, answer.text, {})


def _value(select: Select, document: Any, text: str, groups: Mapping[str, str | None]) -> Any:
    value = _raw(select, document, text, groups)
    if value is MISSING or value is None or value in select.omit:
        return MISSING if select.default is None else select.default
    if select.fields is not None:
        value = _with_fields(select.fields, value)
    if select.choose is not None and isinstance(value, str):
        value = select.choose.get(value, value)
    if select.type is not None:
        value = [_typed(one) for one in value] if isinstance(value, list) else _typed(value)
    if select.reverse and isinstance(value, list):
        value = value[::-1]
    return len(value) if select.count and isinstance(value, list) else value


def _raw(select: Select, document: Any, text: str, groups: Mapping[str, str | None]) -> Any:
    if select.path is not None:
        paths = [select.path] if isinstance(select.path, str) else select.path
        found = (jsonpath.compile(path).find(document).value for path in paths)
        return next((value for value in found if value is not MISSING), MISSING)
    if select.text is not None:
        match = re.search(select.text, text)
        return match.group(1) if match else MISSING
    if select.all is not None:
        if select.within is not None:
            part = re.search(select.within, text)
            text = part.group(1) if part else ""
        if select.fields is None and not select.count:
            return re.findall(select.all, text)
        return list(_matches(select, text))
    if select.group is not None:
        return groups.get(select.group, MISSING)
    return document if document is not None else {}


def _matches(select: Select, text: str) -> Iterator[dict[str, str | None]]:
    """Yield the groups of each match of `all`, with those of the heading above it."""
    parts: list[tuple[dict[str, str | None], str]] = [({}, text)]
    if select.sections is not None:
        headings = list(re.finditer(select.sections, text))
        ends = [*(heading.start() for heading in headings), len(text)][1:]
        parts = [(one.groupdict(), text[one.end() : end]) for one, end in zip(headings, ends, strict=True)]
    for heading, part in parts:
        for match in re.finditer(select.all or "", part):
            yield {**heading, **match.groupdict()}


def _with_fields(fields: Mapping[str, Select], value: Any) -> Any:
    if isinstance(value, list):
        return [_with_fields(fields, one) for one in value]
    groups = value if isinstance(value, dict) else {}
    return _fields(fields, lambda select: _value(select, value, "", groups))


def _fields(fields: Mapping[str, Select], find: Callable[[Select], Any]) -> Json:
    found = {name: find(select) for name, select in fields.items()}
    return {name: value for name, value in found.items() if value is not MISSING}


def _typed(value: Any) -> Any:
    """Return the integer or the boolean that a text stands for; any other value as it is."""
    if isinstance(value, str) and re.fullmatch(r"\d+", value):
        return int(value)
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
