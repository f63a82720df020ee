"""Which files a call of a harness's tool is about, by the capability map of that harness.

Pure, and loaded by hooks: nothing here reads a file.
"""

from __future__ import annotations

from nexus_mcp.catalog.tool_names import entry_of, named, of_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FILE_CLASSES = (
    "file_creation",
    "file_modification",
    "file_deletion",
    "partial_file_edit",
    "structured_document_edit",
)
SHELL_CLASSES = ("shell_command_exec", "subprocess_spawn", "interactive_shell_session")
FAILED = ("error", "fail", "den", "block", "cancel", "interrupt")
"""How a status begins that says that the tool did not do what it is for."""
_PATCH = "*** Begin Patch"
# What stands before a path in such a patch; the tools that take one ignore blanks around the line.
_HEADS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


def only_reads(known: Mapping[str, Any], tool: str) -> bool:
    """Whether the map names the tool as one that changes nothing."""
    return named(known["reading"], tool)


def came_to_nothing(status: str) -> bool:
    """Whether a harness's word for how a tool came out says that it failed, or was not let."""
    return status.strip().lower().startswith(FAILED)


def edits(known: Mapping[str, Any], tool: str) -> bool:
    """Whether the tool writes files: the map has it under editing, or in one of the classes about files.

    A shell is none, whatever else a project has it under: most of what it runs writes nothing.
    """
    if entry_of(known["editing"], tool) is not None:
        return True
    return _is_of(known, FILE_CLASSES, tool) and not _is_of(known, SHELL_CLASSES, tool)


def edited(known: Mapping[str, Any], tool: str, tool_input: object) -> list[str] | None:
    """The paths that a call writes, as it names them; None for a tool that writes no files.

    An empty list: it does write, and which files is not to be seen, or the map does not tell where. A tool with several
    parameters, with blanks between them in the map, writes all that they name, and none is known when one is missing.
    An input that is itself a text may be a patch.
    """
    if not edits(known, tool):
        return None
    parameters = entry_of(known["editing"], tool)
    if parameters is None:
        return []
    if isinstance(tool_input, str):
        return _in_patch(tool_input) if _PATCH in tool_input else []
    given = [_text(tool_input, parameter) for parameter in parameters.split()]
    if not all(given):
        return []
    return [path for text in given for path in (_in_patch(text) if _PATCH in text else [text])]


def opened(known: Mapping[str, Any], tool: str, tool_input: object) -> list[str]:
    """The paths of the files that a call reads, as it names them, each once; none for any other tool."""
    parameter = entry_of(known["opening"], tool)
    value = tool_input.get(parameter) if parameter is not None and isinstance(tool_input, dict) else None
    paths = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(path for path in paths if isinstance(path, str) and path))


def _is_of(known: Mapping[str, Any], classes: tuple[str, ...], tool: str) -> bool:
    return any(named(of_class(known, name), tool) for name in classes)


def _text(tool_input: object, parameter: str) -> str:
    value = tool_input.get(parameter) if isinstance(tool_input, dict) else None
    return value if isinstance(value, str) else ""


def _in_patch(patch: str) -> list[str]:
    """The paths in the head lines of a patch, each once."""
    paths: dict[str, None] = {}
    for line in patch.split("\n"):
        bare = line.strip()
        head = next((head for head in _HEADS if bare.startswith(head)), None)
        if head is not None:
            paths[bare[len(head) :].strip()] = None
    return list(paths)
