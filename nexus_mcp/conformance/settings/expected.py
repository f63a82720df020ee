"""Read YAML files that map one text to another: the expected failures, and the names of tools.

An expected failure is a fixture that fails for a known reason. An entry that passes now fails the run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from nexus_mcp.conformance.nearest import did_you_mean
from nexus_mcp.errors import HarnessFault

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from yaml import MappingNode, Node

    from nexus_mcp.conformance.result import FixtureResult, RunResult

_TEXT = "tag:yaml.org,2002:str"


class Entry(NamedTuple):
    """The text of a value, and the line of its key, from 1."""

    text: str
    line: int


def read(path: str, key: str, value: str) -> dict[str, Entry]:
    """Return the mapping of a file. `key` and `value` name its parts in messages, such as "test_id" and "reason".

    Raises HarnessFault with a line for each fault: a missing file, invalid YAML, no mapping, a duplicate key, a value
    that is blank or not a text.
    """
    import yaml

    try:
        with open(path, encoding="utf-8") as file:
            # Composed, not loaded: nodes know their lines, and duplicate keys are still there.
            root = yaml.compose(file, Loader=yaml.SafeLoader)
    except OSError as error:
        raise HarnessFault([f"{path}: could not be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise HarnessFault([f"{path}: is not UTF-8: byte {error.start + 1}"]) from error
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise HarnessFault([f"{path}{line}: is not YAML: {error.problem}"]) from error
    except yaml.YAMLError as error:
        raise HarnessFault([f"{path}: is not YAML: {str(error).splitlines()[0]}"]) from error
    except RecursionError as error:
        raise HarnessFault([f"{path}: is nested too deeply"]) from error
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        raise HarnessFault([f"{path}:{_line(root)}: must be a mapping, {key}: {value}"])
    return _entries(path, root, key, value)


def load(path: str, known: Collection[str]) -> dict[str, str]:
    """Return test_id -> reason from a YAML mapping. `known` are the ids of the whole suite.

    Raises HarnessFault with a line for each fault, including an id that is not in the suite.
    """
    entries = read(path, "test_id", "reason")
    faults = [
        f"{path}:{entry.line}: no fixture has the id {test_id}{did_you_mean(test_id, known)}"
        for test_id, entry in entries.items()
        if test_id not in known
    ]
    if faults:
        raise HarnessFault(faults, next_step="Remove the entry, or correct its id.")
    return {test_id: entry.text.strip() for test_id, entry in entries.items()}


def mark(result: FixtureResult, reasons: Mapping[str, str]) -> FixtureResult:
    """Return the result with the reason that `reasons` has for it."""
    return replace(result, expected=reasons.get(result.test_id, ""))


def apply(run: RunResult, reasons: Mapping[str, str]) -> RunResult:
    """Return the run with every result marked."""
    return replace(run, results=tuple(mark(result, reasons) for result in run.results))


def _entries(path: str, root: MappingNode, key: str, value: str) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    faults = []
    for name, member in root.value:
        place = f"{path}:{_line(name)}"
        if name.tag != _TEXT:
            faults.append(f"{place}: the {key} must be a text; put it in quotes")
        elif member.tag != _TEXT or not member.value.strip():
            faults.append(f"{place}: the {value} of {name.value} must be a text that is not blank")
        elif name.value in found:
            faults.append(f"{place}: {name.value} is already defined in line {found[name.value].line}")
        else:
            found[name.value] = Entry(member.value, _line(name))
    if faults:
        raise HarnessFault(faults)
    return found


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1
