"""Rules for the parts of a fixture: values, files and paths. Each function yields faults with their places."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from typing import Any

from nexus_mcp.conformance import jsonpath, matchers
from nexus_mcp.conformance.fixture import WHOLE_TEXT
from nexus_mcp.conformance.tokens import STATE_ROOT, path_fault
from nexus_mcp.schemas import Fault, escape

NO_STATE = "is not a state file: write files in .git in precondition.files, or set precondition.git: false"
SPECIAL = ("base64", "symlink", "directory")


def text_faults(value: Any, place: str) -> Iterator[Fault]:
    """Yield faults for keys that appear twice and texts that are not Unicode."""
    if isinstance(value, str):
        if any("\ud800" <= char <= "\udfff" for char in value):
            yield Fault(place, "has a lone surrogate, which can neither be sent nor written")
    elif isinstance(value, dict):
        for name in getattr(value, "duplicates", ()):
            yield Fault(f"{place}/{escape(name)}", "appears twice")
        for name, member in value.items():
            yield from text_faults(name, place)
            yield from text_faults(member, f"{place}/{escape(name)}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from text_faults(item, f"{place}/{index}")


def one_of(value: dict[str, Any], names: tuple[str, ...], place: str) -> Iterator[Fault]:
    """Yield a fault when `value` has more than one of the keys `names`; the schema checks that it has one."""
    found = [name for name in names if name in value]
    if len(found) > 1:
        yield Fault(place, f"must have only one of {', '.join(names)}; it has {' and '.join(found)}")


def precondition_faults(precondition: dict[str, Any]) -> Iterator[Fault]:
    """Yield faults of the files that exist before the start."""
    state_files, files = members(precondition.get("state_files")), members(precondition.get("files"))
    places = {
        f"/precondition/{group}/{escape(path)}": path
        for group, paths in (("state_files", state_files), ("files", files))
        for path in paths
    }
    for place, path in places.items():
        if path in state_files and path.split("/")[0] == ".git":
            yield Fault(place, NO_STATE)
        yield from path_faults(path, place)
    yield from _duplicate_faults(places.items())
    for path, what in files.items():
        place = f"/precondition/files/{escape(path)}"
        yield from one_of(members(what), SPECIAL, place)
        yield from base64_faults(members(what).get("base64"), f"{place}/base64")
    plain = [path for path, what in state_files.items() if what is not None]
    plain += [path for path, what in files.items() if isinstance(what, str) or "base64" in members(what)]
    for place, path in places.items():
        for above in plain:
            if _whole(path).startswith(f"{_whole(above)}/"):
                yield Fault(place, f"lies below {above}, which is a file")


def value_faults(assertions: Any, place: str) -> Iterator[Fault]:
    """Yield faults of JSONPaths with their expected values."""
    for path, expected in members(assertions).items():
        inner = f"{place}/{escape(path)}"
        try:
            jsonpath.compile(path)
        except ValueError as error:
            yield Fault(inner, str(error))
        yield from matchers.faults(expected, inner)


def file_faults(files: Any, place: str) -> Iterator[Fault]:
    """Yield faults of assertions on files."""
    yield from _duplicate_faults((f"{place}/{escape(path)}", path) for path in members(files))
    for path, wanted in members(files).items():
        inner = f"{place}/{escape(path)}"
        yield from path_faults(path, inner, git=False)
        assertions = dict(members(wanted))
        if WHOLE_TEXT in assertions:
            yield from _whole_text_faults(assertions.pop(WHOLE_TEXT), f"{inner}/{WHOLE_TEXT}")
        yield from value_faults(assertions, inner)


def unchanged_faults(unchanged: Any, place: str) -> Iterator[Fault]:
    """Yield faults of a list of paths."""
    for inner, path in each(unchanged, place):
        yield from path_faults(path, inner, git=False)


def path_faults(path: Any, place: str, *, git: bool = True) -> Iterator[Fault]:
    """Yield the fault of a path."""
    if isinstance(path, str) and (wrong := path_fault(path, git=git)):
        yield Fault(place, wrong)


def base64_faults(text: Any, place: str) -> Iterator[Fault]:
    """Yield the fault of bytes that are written as base64."""
    if isinstance(text, str):
        try:
            base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            yield Fault(place, "is not base64")


def members(value: Any) -> dict[str, Any]:
    """Return the value when it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def each(value: Any, place: str) -> list[tuple[str, Any]]:
    """Return place and value of each item when the value is an array, else nothing."""
    return [(f"{place}/{index}", item) for index, item in enumerate(value)] if isinstance(value, list) else []


def _whole_text_faults(expected: Any, place: str) -> Iterator[Fault]:
    kind = expected.get("type") if isinstance(expected, dict) else type(expected).__name__
    if kind in ("string", "iso8601", "str"):
        yield from matchers.faults(expected, place)
    else:
        yield Fault(place, "must be a string or a matcher with type string: it is about the text of the file")


def _duplicate_faults(places: Iterable[tuple[str, str]]) -> Iterator[Fault]:
    """Yield a fault for each path that names the same file as an earlier one."""
    seen: dict[str, str] = {}
    for place, path in places:
        if _whole(path) in seen:
            yield Fault(place, f"is the same file as {seen[_whole(path)]}")
        seen.setdefault(_whole(path), path)


def _whole(path: str) -> str:
    return path.replace("{STATE_ROOT}", STATE_ROOT)
