"""YAML files that map one text to another, read strictly: the expected failures, and the names of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nexus_mcp.errors import HarnessFault

if TYPE_CHECKING:
    from yaml import MappingNode, Node

_TEXT = "tag:yaml.org,2002:str"


class Entry(NamedTuple):
    """The text of a key, and the line that the key stands on, from 1."""

    text: str
    line: int


def read(path: str, key: str, value: str) -> dict[str, Entry]:
    """The mapping of a file. `key` and `value` say in messages what stands there, e.g. "test_id" and "reason".

    Raises HarnessFault with a line for each fault: no such file, no YAML, no mapping, a key twice, a value that is no
    text or blank.
    """
    import yaml

    try:
        with open(path, encoding="utf-8") as file:
            # Composed, not loaded: the nodes know their lines, and a key that is there twice is still there twice.
            root = yaml.compose(file, Loader=yaml.SafeLoader)
    except OSError as error:
        raise HarnessFault([f"{path}: could not be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise HarnessFault([f"{path}: is not UTF-8: byte {error.start + 1}"]) from error
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise HarnessFault([f"{path}{line}: is no YAML: {error.problem}"]) from error
    except yaml.YAMLError as error:
        raise HarnessFault([f"{path}: is no YAML: {str(error).splitlines()[0]}"]) from error
    except RecursionError as error:
        raise HarnessFault([f"{path}: is nested too deeply"]) from error
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        raise HarnessFault([f"{path}:{_line(root)}: must be a mapping, {key}: {value}"])
    return _entries(path, root, key, value)


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
            faults.append(f"{place}: {name.value} is there already, in line {found[name.value].line}")
        else:
            found[name.value] = Entry(member.value, _line(name))
    if faults:
        raise HarnessFault(faults)
    return found


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1
