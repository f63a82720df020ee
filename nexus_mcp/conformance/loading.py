"""Read fixtures from files and folders, and report every fault of all of them at once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nexus_mcp.conformance import fixture
from nexus_mcp.conformance.authoring.claims import state_schemas
from nexus_mcp.conformance.authoring.rules import bound_faults, expected_places, rule_faults
from nexus_mcp.conformance.authoring.shape import shape_faults
from nexus_mcp.conformance.document import Unparsable, count_values, parse
from nexus_mcp.conformance.fixture import Fixture
from nexus_mcp.conformance.limits import FAULTS, FIXTURE_FILE, FIXTURE_FILES, FIXTURE_NAME, VALUES
from nexus_mcp.errors import HarnessFault
from nexus_mcp.packaged import data_path
from nexus_mcp.wording import place_of_byte

BOUND = " at most "
"""Text that every message about an exceeded bound contains."""
EXAMPLES = "examples"
"""The folder of the packaged suite that has examples of servers, and no fixtures."""


@dataclass(frozen=True)
class Read:
    """The fixtures without faults of their own, and a line for every fault: `file: /pointer: fault`."""

    fixtures: list[Fixture]
    faults: list[str]


def load(paths: Sequence[str] = ()) -> list[Fixture]:
    """Return the fixtures of these files and folders (all *.json below them); without paths, the packaged ones.

    The order is that of the paths, by name within a folder. Raise HarnessFault with every fault of every file.
    """
    found = read(paths)
    if found.faults:
        raise HarnessFault(found.faults)
    return found.fixtures


def read(paths: Sequence[str] = ()) -> Read:
    """Return the fixtures of `paths`, as for `load`, and every fault. A fixture with a fault of its own is left out."""
    out = Read([], [])
    seen: dict[str, str] = {}
    for shown, path in _files(paths, out.faults):
        for pointer, raw in _raws(shown, path, out.faults):
            place = f"{shown}: {pointer}" if pointer else shown
            faults = _faults(raw)
            test_id = _test_id(raw)
            out.faults.extend(line(shown, pointer + fault[0], _of(test_id, fault[1])) for fault in faults)
            if test_id:
                if test_id in seen:
                    out.faults.append(line(shown, f"{pointer}/test_id", f"{test_id} is also the id of {seen[test_id]}"))
                seen.setdefault(test_id, place)
            if not faults:
                out.fixtures.append(fixture.build_fixture(raw, shown, pointer))
    return out


def line(file: str, pointer: str, what: str) -> str:
    """Return a fault as one line."""
    return f"{file}: {pointer}: {what}" if pointer else f"{file}: {what}"


def _test_id(raw: Any) -> str:
    """Return the id of a fixture, "" when it has none that can be shown."""
    test_id = raw.get("test_id") if isinstance(raw, dict) else None
    return test_id if isinstance(test_id, str) and len(test_id) <= FIXTURE_NAME else ""


def _of(test_id: str, what: str) -> str:
    """Return the fault's text; a fault about a bound also names the fixture, since the pointer may not identify it."""
    return f"{what} (fixture {test_id})" if test_id and BOUND in what else what


def _faults(raw: Any) -> list[tuple[str, str]]:
    """Return pointer and text of every fault, each once."""
    try:
        return _find_faults(raw)
    except RecursionError:
        return [("", "is nested too deeply")]


def _find_faults(raw: Any) -> list[tuple[str, str]]:
    if beyond := bound_faults(raw):
        return [(fault.pointer, fault.message) for fault in beyond[:FAULTS]]
    if isinstance(raw, dict) and "$schema" in raw and "test_id" not in raw:
        return [("", "is a JSON schema and no fixture; name the folders or the files of the fixtures")]
    matched = tuple(expected_places(raw))
    shape = [
        fault
        for fault in shape_faults(raw)
        if not any(fault.pointer == place or fault.pointer.startswith(f"{place}/") for place in matched)
    ]
    if any(BOUND in fault.message for fault in shape):
        return list(dict.fromkeys((fault.pointer, fault.message) for fault in shape))
    faults = [*shape, *rule_faults(raw, state_schemas())]
    return list(dict.fromkeys((fault.pointer, fault.message) for fault in faults))


def _files(paths: Sequence[str], faults: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the shown name and the path of each file, each file once."""
    known: set[str] = set()
    room = FIXTURE_FILES
    base = data_path("conformance")
    for path in paths or (base,):
        if os.path.isdir(path):
            files = _below(path, "" if paths else os.path.join(base, EXAMPLES))
            if not files:
                faults.append(f"{path}: is a folder without fixtures (*.json files)")
        elif os.path.exists(path):
            files = [path]
        else:
            faults.append(f"{path}: no such file or folder")
            continue
        for file in files:
            if (real := os.path.realpath(file)) not in known:
                known.add(real)
                room -= os.path.getsize(real) if os.path.isfile(real) else 0
                if room < 0:
                    faults.append(f"{file}: is not read: all files together may have at most {FIXTURE_FILES} bytes")
                    return
                yield (file if paths else os.path.relpath(file, base)), file


def _below(folder: str, besides: str) -> list[str]:
    """Return the *.json files below `folder`, without those below `besides`."""
    found = []
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if os.path.join(at, name) != besides]
        found += [os.path.join(at, name) for name in names if name.endswith(".json")]
    return sorted(found)


def _raws(shown: str, path: str, faults: list[str]) -> list[tuple[str, Any]]:
    """Return pointer and JSON of each fixture of a file. If there is none, add the reason to `faults`."""
    if os.path.exists(path) and not os.path.isfile(path):
        # Reading a pipe would block, and a device never ends.
        faults.append(f"{shown}: is not a regular file")
        return []
    try:
        with open(path, "rb") as file:
            data = file.read(FIXTURE_FILE + 1)
        if len(data) > FIXTURE_FILE or count_values(data, VALUES) > VALUES:
            faults.append(f"{shown}: must have at most {FIXTURE_FILE} bytes and {VALUES} JSON values")
            return []
        document = parse(data.decode())
    except OSError as error:
        faults.append(f"{shown}: could not be read: {error.strerror}")
    except UnicodeDecodeError as error:
        faults.append(f"{shown}: is not UTF-8: {place_of_byte(error.object, error.start)}")
    except Unparsable as error:
        faults.append(f"{shown}: {error}")
    else:
        if document == []:
            faults.append(f"{shown}: contains no fixture")
        return [(f"/{i}", one) for i, one in enumerate(document)] if isinstance(document, list) else [("", document)]
    return []
