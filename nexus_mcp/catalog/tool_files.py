"""Match tool names against a capability map, and find the files that a tool call reads or writes.

In a pattern `*` stands for any characters, or none. fnmatch is not used, because it builds a regular expression for
each pattern, and hooks do not load `re`. The module reads no file.
"""

from __future__ import annotations

from nexus_mcp.catalog import patches

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypeVar

    Found = TypeVar("Found")

ANY = "*"
FILE_CLASSES = ("file_creation", "file_modification", "file_deletion", "partial_file_edit", "structured_document_edit")
SHELL_CLASSES = ("shell_command_exec", "subprocess_spawn", "interactive_shell_session")
FAILED = ("error", "fail", "den", "block", "cancel", "interrupt")
"""Prefixes of the status of a failed or refused call."""
_FOLDERS = ("workdir", "cwd", "working_directory")
"""Parameters with the folder that relative paths start from."""
_ABSOLUTE = ("/", "\\", "~")
_MAX_VALUES = 10_000
"""Maximum number of values of an input that are searched for paths."""


def matches(pattern: str, name: str) -> bool:
    """Return whether `pattern` matches the tool `name`. A part between two `*` is matched at its first occurrence."""
    first, *rest = pattern.split(ANY)
    if not rest:
        return pattern == name
    *middle, last = rest
    if not name.startswith(first):
        return False
    at, end = len(first), len(name) - len(last)
    for part in middle:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return at <= end and name.endswith(last)


def matches_any(patterns: Iterable[str], name: str) -> bool:
    """Return whether one of the patterns matches the tool `name`."""
    return any(matches(pattern, name) for pattern in patterns)


def meant_names(known: Mapping[str, Any], tool: str) -> list[str]:
    """Return the names and patterns of restricted and editing tools of which `tool` is an odd spelling.

    An odd spelling differs by case, white space, control or invisible characters, or Unicode compatibility forms. The
    result is [] if one of these names or patterns matches `tool` as it is.
    """
    names = [one for names in known["classes"].values() for one in names]
    names = list(dict.fromkeys([*names, *known["editing"], *known["patching"]]))
    if matches_any(names, tool):
        return []
    plain = _plain(tool)
    return [name for name in names if matches(_plain(name), plain)]


def entry_of(table: Mapping[str, Found], name: str) -> Found | None:
    """Return the value for the tool `name` in a table with patterns as keys, None without a match; an exact name has
    precedence.
    """
    if name in table:
        return table[name]
    return next((value for pattern, value in table.items() if matches(pattern, name)), None)


def own_name(naming: str, tool: str) -> str:
    """Return the name of a nexus-mcp tool in a naming such as `mcp__nexus__*`."""
    return naming.replace(ANY, tool)


def class_tools(known: Mapping[str, Any], name: str, vocabulary: Mapping[str, Any]) -> list[str]:
    """Return the names and patterns of the tools of a class in a capability map.

    They include the tools of nexus-mcp in this class, named as in `nexus_tools`. So an agent that may not use the class
    may not use these tools either.
    """
    own = [own_name(known["nexus_tools"], tool) for tool in own_tools(vocabulary, name)]
    return list(dict.fromkeys([*known["classes"].get(name, ()), *own]))


def classes_with(known: Mapping[str, Any], names: Iterable[str], tool: str, vocabulary: Mapping[str, Any]) -> list[str]:
    """Return those of the classes `names` to which a capability map assigns the tool."""
    return [name for name in names if matches_any(class_tools(known, name, vocabulary), tool)]


def own_tools(vocabulary: Mapping[str, Any], name: str) -> list[str]:
    """Return our tools of a class, in the order of the table TOOLS."""
    return [tool for tool, classes in vocabulary["tools"].items() if name in classes]


def only_reads(known: Mapping[str, Any], tool: str) -> bool:
    """Return whether the map lists the tool as read-only."""
    return matches_any(known["reading"], tool)


def came_to_nothing(status: str) -> bool:
    """Return whether the harness reports, by this status, a failed or refused call."""
    return status.strip().lower().startswith(FAILED)


def is_edit(known: Mapping[str, Any], tool: str) -> bool:
    """Return whether the tool writes files: it is under editing or patching, or in a class about files.

    A shell counts only if it is under editing, because most of its commands write nothing.
    """
    if entry_of(known["editing"], tool) is not None:
        return True
    return not _is_of(known, SHELL_CLASSES, tool) and (
        entry_of(known["patching"], tool) is not None or _is_of(known, FILE_CLASSES, tool)
    )


def written_paths(
    known: Mapping[str, Any], tool: str, tool_input: object, file: str = ""
) -> tuple[list[str], bool] | None:
    """Return (the paths that a call writes, whether these are certainly all); None for a call that writes no files.

    The list may be incomplete, for example, if the map lacks the parameter for the paths, if the call lacks it, if a
    patch can be parsed in two ways, or if a path may be read as a pattern. The paths are those in the call; a relative
    path also counts below the working folder of the call. `file` comes from the adapter. It counts in addition, and it
    is the only source if the map has no parameter or the call has no input.
    """
    is_known = is_edit(known, tool)
    found = None if is_known and tool_input is None else _patch_paths(known, tool, tool_input)
    if found is None:
        if not is_known:
            return None
        parameters = entry_of(known["editing"], tool)
        found = (
            ([], bool(file))
            if parameters is None or tool_input is None
            else _parameter_paths(known, parameters, tool_input)
        )
    paths, is_certain = found
    folders = [text for name in _FOLDERS if isinstance(text := _member(tool_input, name), str) and text]
    relative = [one for one in paths if not one.startswith(_ABSOLUTE)] if folders else []
    paths += [f"{folder}/{one}" for folder in folders for one in relative]
    is_certain = is_certain and bool(paths or file)
    paths = [*paths, *([file] if file else [])]
    return paths, is_certain and not any(map(_is_odd, paths))


def parameters_of(known: Mapping[str, Any], tool: str) -> tuple[str, str]:
    """Return (the parameters of the tool that hold paths, the one that holds a patch), "" for a parameter that the map
    does not have.
    """
    return entry_of(known["editing"], tool) or "", entry_of(known["patching"], tool) or ""


def read_paths(known: Mapping[str, Any], tool: str, tool_input: object) -> list[str]:
    """Return the paths of the files that a call reads, as the call names them, each once; [] if it reads none."""
    parameter = entry_of(known["opening"], tool)
    value = tool_input.get(parameter) if parameter is not None and isinstance(tool_input, dict) else None
    paths = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(path for path in paths if isinstance(path, str) and path))


def _is_of(known: Mapping[str, Any], classes: tuple[str, ...], tool: str) -> bool:
    return any(matches_any(known["classes"].get(name, ()), tool) for name in classes)


def _member(tool_input: object, name: str) -> object:
    return tool_input.get(name) if isinstance(tool_input, dict) else None


def _patch_paths(known: Mapping[str, Any], tool: str, tool_input: object) -> tuple[list[str], bool] | None:
    """Return (the paths of the patch in a call, whether they are certainly complete); None if there is no patch.

    A shell call has a patch if its command passes one to apply_patch; a call of any other tool under patching always
    has one. If the parameter that the map names is not a text, the map describes another release of the tool, so any
    text may be the patch.
    """
    parameter = entry_of(known["patching"], tool)
    if parameter is None:
        return None
    text = tool_input if isinstance(tool_input, str) else _member(tool_input, parameter)
    if _is_of(known, SHELL_CLASSES, tool):
        commands = [tool_input] if text is None and isinstance(tool_input, list) else [text]
        if text is None and isinstance(tool_input, dict):
            commands = list(tool_input.values())[:_MAX_VALUES]
        return next((found for one in commands if (found := patches.command_patch_paths(one)) is not None), None)
    if isinstance(text, str):
        return patches.patch_paths(text)
    return patches.command_patch_paths(text) or patches.possible_paths(_texts(tool_input))


def _texts(value: object) -> list[str]:
    """Return the texts among the first _MAX_VALUES values of an input."""
    pending, found, seen = [value], [], 0
    while pending and seen < _MAX_VALUES:
        one = pending.pop()
        seen += 1
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict | list):
            pending += list(one.values() if isinstance(one, dict) else one)[: _MAX_VALUES - seen]
    return found


def _parameter_paths(known: Mapping[str, Any], parameters: str, tool_input: object) -> tuple[list[str], bool]:
    """Return (the paths in an input, whether they are complete). They are complete if each of the `parameters` has a
    path, and the input is not too large. `parameters` are separated by blanks.

    A field with the name of a path parameter of any tool counts anywhere in the input, because a tool may take several
    files.
    """
    names = {_bare(one) for table in ("editing", "opening") for text in known[table].values() for one in text.split()}
    found: dict[str, None] = {}
    is_whole = _collect(tool_input, names, found)
    values = [_member(tool_input, parameter) for parameter in parameters.split()]
    return list(found), is_whole and all(_is_path(value) or _is_listed(value) for value in values)


def _collect(value: object, names: set[str], found: dict[str, None]) -> bool:
    """Add each text in a field with one of the `names` to `found`, also from lists. Return False for too much input."""
    left, seen = [value], 0
    while left:
        one = left.pop()
        seen += len(one) if isinstance(one, dict | list) else 0
        if seen > _MAX_VALUES:
            return False
        pairs = one.items() if isinstance(one, dict) else [("", item) for item in one] if isinstance(one, list) else ()
        for name, item in pairs:
            if isinstance(item, dict | list):
                left.append(item)
            if _bare(name) in names:
                texts = item if isinstance(item, list) else [item]
                found.update((text, None) for text in texts if _is_path(text))
    return True


def _plain(name: str) -> str:
    """Return the name of a tool in small letters and NFKC, without white space, control and invisible characters."""
    if not name.isascii():
        from unicodedata import normalize

        name = normalize("NFKC", name)
    return "".join(char for char in name if char.isprintable() and char != " ").casefold()


def _bare(name: str) -> str:
    """Return the name of a parameter in a form that is the same in all harnesses' spellings."""
    return name.replace("_", "").replace("-", "").lower()


def _is_path(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_listed(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_path, value))


def _is_odd(path: str) -> bool:
    """Return whether a tool may read the path as a pattern or as several lines."""
    return "*" in path or "?" in path or any(map(_is_control, path))


def _is_control(char: str) -> bool:
    """Return whether the character is a control character or a surrogate."""
    return char < " " or "\x7f" <= char < "\xa0" or "\ud800" <= char <= "\udfff"
