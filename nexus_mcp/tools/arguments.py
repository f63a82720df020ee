"""Check a call's arguments in the contract's order: unknown names, missing ones, types and values.

All faults of the first kind that occurs are reported together, but at most 100 unknown names. Three habits of model
clients are accepted: a number sent as a string, an array or object sent as its JSON text, and null for an optional
parameter.
"""

from __future__ import annotations

from nexus_mcp.errors import InvalidArguments
from nexus_mcp.schemas import is_integer
from nexus_mcp.store.codec import MAX_DIGITS, SESSION_DEPTH, STRICT, is_too_deep, strict_decoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.tools.definition import Tool

_SHOWN_NAME = 60
_MOST_UNKNOWN = 100  # one line can hold hundreds of thousands of names


class _Unfit(Exception):
    """A value that does not fit its parameter. The message continues a sentence that begins with the name of the
    parameter.
    """


def check_arguments(tool: Tool, call_arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments for `tool.run`: coerced, absent and null ones left out. Raise InvalidArguments."""
    unknown = [name for name in call_arguments if name not in tool.parameters]
    if unknown:
        accepted = ", ".join(tool.parameters)
        hint = f"the accepted parameters are {accepted}" if accepted else "no parameters are accepted"
        texts = [f"unknown parameter {_quote_name(name)}" for name in unknown[:_MOST_UNKNOWN]]
        more = [f"{len(unknown) - len(texts)} more unknown parameters"] if len(unknown) > len(texts) else []
        raise InvalidArguments([*texts, *more, hint])
    missing = [name for name in tool.required if call_arguments.get(name) is None]
    if missing:
        raise InvalidArguments([f"{name} is required" for name in missing])
    arguments: dict[str, Any] = {}
    unfit: list[str] = []
    for name, schema in tool.parameters.items():
        if call_arguments.get(name) is None:
            continue
        if name in tool.own_checks:
            schema = {"type": schema["type"]}  # noqa: PLW2901
        try:
            arguments[name] = _coerce(call_arguments[name], schema)
        except _Unfit as fault:
            unfit.append(f"{name} {fault}")
    if unfit:
        raise InvalidArguments(unfit)
    return arguments


def _quote_name(name: str) -> str:
    """Return the name of an unknown parameter or of a member of an object, quoted and shortened for a message."""
    from nexus_mcp.quoting import quote

    return quote(name, _SHOWN_NAME)


def _coerce(value: Any, schema: dict[str, Any]) -> Any:
    return _BY_TYPE[schema["type"]](value, schema)


def _string(value: Any, schema: dict[str, Any]) -> str:
    if not isinstance(value, str):
        raise _Unfit("must be a string")
    if "\0" in value:
        raise _Unfit("must not contain NUL characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _Unfit("must not contain lone surrogates") from None
    if schema.get("minLength") and not value.strip():
        raise _Unfit("must not be blank")
    if "enum" in schema and value not in schema["enum"]:
        raise _Unfit(f"must be one of {', '.join(schema['enum'])}")
    return value


def _integer(value: Any, schema: dict[str, Any]) -> int:
    least = schema["minimum"]
    if isinstance(value, str):
        value = _number_in(value)
    if value in (float("inf"), float("-inf")):
        raise _Unfit(f"must be an integer of at most {MAX_DIGITS} digits")
    if not is_integer(value) or value < least:
        raise _Unfit(f"must be an integer of at least {least}")
    return int(value)


def _array(value: Any, schema: dict[str, Any]) -> list[Any]:
    value = _json_in(value) if isinstance(value, str) else value
    if not isinstance(value, list):
        raise _Unfit("must be an array, or its JSON text")
    return [_inner(f"item {at} of {len(value)}", item, schema["items"]) for at, item in enumerate(value, 1)]


def _object(value: Any, schema: dict[str, Any]) -> dict[str, Any]:
    value = _json_in(value) if isinstance(value, str) else value
    if not isinstance(value, dict):
        raise _Unfit("must be an object, or its JSON text")
    for name in value:
        _inner("has a member name that", name, {"type": "string"})
    members = schema["additionalProperties"]
    return {name: _inner(f"member {_quote_name(name)}", item, members) for name, item in value.items()}


def _inner(place: str, value: Any, schema: dict[str, Any]) -> Any:
    try:
        return _coerce(value, schema)
    except _Unfit as fault:
        raise _Unfit(f"{place} {fault}") from None


_BY_TYPE = {"string": _string, "integer": _integer, "array": _array, "object": _object}


def _number_in(text: str) -> Any:
    """Return the number in `text`; None if `text` as a whole is not a JSON number."""
    if not (text[:1] in tuple("-0123456789") and text[-1:].isdigit()):
        return None
    try:
        # Python refuses to parse more than MAX_DIGITS digits. Return infinity instead, which is refused as too large,
        # like such a number without quotes.
        return strict_decoder(float, _int_or_infinity).decode(text)
    except ValueError:
        return None


def _int_or_infinity(digits: str) -> float:
    return int(digits) if len(digits) <= MAX_DIGITS else float(digits)


def _json_in(text: str) -> Any:
    """Return the value of a JSON text; None if `text` is no strict JSON, or is nested too deeply."""
    try:
        value = STRICT.decode(text)
    except (ValueError, RecursionError):
        return None
    return None if is_too_deep(value, SESSION_DEPTH) else value
