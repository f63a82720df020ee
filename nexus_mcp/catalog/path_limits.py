"""Limit the files that a session of a run may edit: capabilities that forbid edits of some files, by any tool.

The other capabilities forbid classes of tools. No capability map has the classes of this module, because they are not
about tools. The environment of the session names the capability and the patterns of files, and hooks read them there.
The functions here are pure: the caller passes the environment.
"""

from __future__ import annotations

from nexus_mcp.workspace import LIMIT_VARIABLE

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

PATTERNS = "NEXUS_PATHS"
"""Environment variable with the patterns of paths, as a JSON list."""
NO_TEST_EDIT = "no_test_edit"
NO_SOURCE_EDIT = "no_source_edit"
CLASSES = {NO_TEST_EDIT: "test_file_edit", NO_SOURCE_EDIT: "source_file_edit"}
"""Capability -> the class that it forbids: edits of files that match a pattern, or edits of files that match none."""
REASONS = {NO_TEST_EDIT: "test_write_denial", NO_SOURCE_EDIT: "source_write_denial"}
_TEXTS = {
    NO_TEST_EDIT: "This session must not change tests: files that match {}.",
    NO_SOURCE_EDIT: "This session writes tests: it may change only files that match {}.",
}
_SHOWN = 20


class Limit:
    """The limit of one session. With NO_TEST_EDIT, `patterns` match the files that the session may not change, and with
    NO_SOURCE_EDIT those that it may change. If they are None (unknown), or the capability is unknown, the session may
    change no file.
    """

    __slots__ = ("capability", "patterns")

    def __init__(self, capability: str, patterns: Sequence[str] | None) -> None:
        self.capability = capability
        self.patterns = patterns

    def allows(self, path: str) -> bool:
        """Return whether the session may change the file, a path from the project root with `/`."""
        if self.patterns is None or self.capability not in CLASSES:
            return False
        return matches(path, self.patterns) is (self.capability == NO_SOURCE_EDIT)

    def describe(self) -> str:
        """Return the limit in one sentence."""
        text = _TEXTS.get(self.capability)
        if text is None or self.patterns is None:
            return "The limit of this session cannot be read, so it may change no file."
        return text.format(", ".join(self.patterns[:_SHOWN]))

    def environ(self) -> dict[str, str]:
        """Return the variables that carry the limit."""
        import json

        patterns = None if self.patterns is None else list(self.patterns)
        return {LIMIT_VARIABLE: self.capability, PATTERNS: json.dumps(patterns)}


def limit_of(environ: Mapping[str, str]) -> Limit | None:
    """Return the limit in an environment, None without one. A damaged limit allows no change."""
    capability = environ.get(LIMIT_VARIABLE)
    if not capability:
        return None
    import json

    try:
        patterns = json.loads(environ.get(PATTERNS, ""))
    except ValueError:
        patterns = None
    is_list = isinstance(patterns, list) and all(isinstance(one, str) for one in patterns)
    return Limit(capability, patterns if is_list else None)


def matches(path: str, patterns: Collection[str]) -> bool:
    """Return whether a path from the project root matches one of the patterns; `**` spans folders."""
    return any(_matches(path.split("/"), pattern.split("/")) for pattern in patterns)


def _matches(path: Sequence[str], pattern: Sequence[str]) -> bool:
    from fnmatch import fnmatchcase  # fnmatch loads re, which hooks without a limit do not need

    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_matches(path[start:], pattern[1:]) for start in range(len(path) + 1)) or (
            len(pattern) == 1 and bool(path)
        )
    return bool(path) and fnmatchcase(path[0], pattern[0]) and _matches(path[1:], pattern[1:])
