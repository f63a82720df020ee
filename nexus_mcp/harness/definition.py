"""Define a harness for `install`: the places of its files, and the rows that an installation writes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nexus_mcp.errors import InstallRefused
from nexus_mcp.log import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.harness.models import Models
    from nexus_mcp.harness.record import Record
    from nexus_mcp.harness.remote_mount import RemoteMount

PROJECT, USER = "project", "user"
SCOPES = (PROJECT, USER)
SERVER, HOOKS, AGENTS, SKILLS, STATUS_LINE = "server", "hooks", "agents", "skills", "status-line"
PARTS = (SERVER, HOOKS, AGENTS, SKILLS)
"""The parts that are installed if the command names none."""
ALL_PARTS = (*PARTS, STATUS_LINE)
GATES = ("block", "auto", "warn", "off")
DEFAULT_GATE = "auto"
SERVER_NAME = "nexus"
JSON, TOML = "json", "toml"
HOOK_TIMEOUT_S = 10
"""Seconds a harness waits for a hook; our own deadline is shorter."""
SHARED_FOLDERS = (".claude/skills", ".agents/skills")
"""Folders of skills that several harnesses read."""

_FOLDERS = 3


class Site(NamedTuple):
    """The place of an installation: its scope, the project folder, and the environment that names the user's
    folders.
    """

    scope: str
    root: str
    environ: Mapping[str, str]

    @property
    def home(self) -> str:
        """The home folder. Raise InstallRefused when there is none."""
        home = self.environ.get("HOME", os.path.expanduser("~"))
        if not os.path.isabs(home) or not os.path.isdir(home):
            raise InstallRefused([f"The home folder {printable(home)} does not exist. Set HOME to one that does."])
        return home

    def folder(self, variable: str, *default: str) -> str:
        """Return the absolute folder that an environment variable names, else the default below the home folder.

        Raise InstallRefused if there is no home folder for the default.
        """
        named = self.environ.get(variable, "")
        return os.path.abspath(named) if named else os.path.join(self.home, *default)

    def find_folder(self, variable: str, *default: str) -> str:
        """Return the same as `folder`, but "" where it raises: a user without a home folder has no files to read."""
        try:
            return self.folder(variable, *default)
        except InstallRefused:
            return ""

    @property
    def within(self) -> str:
        """The folder that links may not lead out of; "" in user scope."""
        return self.root if self.scope == PROJECT else ""

    @property
    def record_folder(self) -> str:
        """The folder of `generated.json`."""
        if self.scope == PROJECT:
            return os.path.join(self.root, ".nexus")
        return os.path.join(self.folder("XDG_STATE_HOME", ".local", "state"), "nexus-mcp", "install")

    @property
    def vault(self) -> str:
        """The folder with the bytes that files had before an installation."""
        return os.path.join(self.root, ".nexus", "state", "install") if self.scope == PROJECT else self.record_folder

    def key(self, path: str) -> str:
        """Return the path in the form of the record: relative to the project, absolute in user scope."""
        return os.path.relpath(path, self.root).replace(os.sep, "/") if self.scope == PROJECT else path

    def path(self, key: str) -> str:
        """Return the absolute path for a key of the record. Raise InstallRefused if the key has another form than the
        method `key` returns, for example if it leaves the project.
        """
        if self.scope == USER:
            if os.path.isabs(key) and os.path.normpath(key) == key:
                return key
        elif not os.path.isabs(key) and os.path.normpath(key) == key and not key.startswith(".."):
            return os.path.join(self.root, key)
        raise InstallRefused(
            [f"The record of installations names {printable(key)[:200]!r}, which no installation writes."]
        )

    def folders_above(self, path: str) -> list[str]:
        """Return the nearest folders above a generated file, at most 3, up to the project folder, the home folder (in
        user scope) or /, which are left out.
        """
        found: list[str] = []
        tops = (self.root, self.home if self.scope == USER else "", os.sep)
        while len(found) < _FOLDERS and (path := os.path.dirname(path)) not in tops:
            found.append(path)
        return found

    def format_path(self, path: str) -> str:
        """Return the path for messages: from the project root (only in project scope), with ~ for the home folder, or
        absolute.
        """
        for base, sign in ((self.root, ""), (self.environ.get("HOME", ""), "~/")):
            if base and path.startswith(os.path.join(base, "")) and (sign or self.scope == PROJECT):
                return printable(sign + os.path.relpath(path, base))
        return printable(path)


class Request(NamedTuple):
    """A request for an installation: the parts, the command of nexus-mcp (a list of words), and the options."""

    parts: Sequence[str]
    command: Sequence[str]
    gate: str
    prefix: str
    fast_hooks: bool
    catalog: Catalog
    models: Models
    server_options: Sequence[str] = ()
    native_skills: bool = True
    """Whether the skills are, or will be, installed for the harness."""
    mount: str = ""
    """The text that the harness puts before the names of our tools, "" for the default of its capability map."""
    hook_options: Sequence[str] = ()
    """More options of the hook."""
    remote: RemoteMount | None = None
    """The server over HTTP to mount, None for the local server."""

    def serve_words(self, harness: str) -> list[str]:
        """Return the command of the server, as a list of words."""
        prefix = ["--tool-prefix", self.prefix] if self.prefix else []
        tool = ["--hook-tool"] if self.fast_hooks else []
        mount = ["--mount", self.mount] if self.mount else []
        return [*self.command, "serve", "--harness-id", harness, *prefix, *mount, *tool, *self.server_options]

    def hook_words(self, harness: str, *options: str) -> list[str]:
        """Return the command of the hook of a harness, as a list of words."""
        skills = ["--skills"] if self.native_skills else []
        found = self.catalog.mount_of(harness, self.prefix)
        mount = ["--mount", found] if found else []
        return [
            *self.command,
            "hook",
            "--native",
            harness,
            *options,
            "--gate",
            self.gate,
            *skills,
            *mount,
            *(self.remote.hook_options() if self.remote else ()),
            *self.hook_options,
        ]


class SplicedEntry(NamedTuple):
    """An entry in a file of the user: `value` at `pointer`, or as an item of the array there (`is_item`)."""

    part: str
    path: str
    format: str
    pointer: tuple[str, ...]
    value: Any
    is_item: bool = False

    @property
    def key(self) -> str:
        """The JSON pointer to the value, as the record has it; the pointer to an array item ends with `/-`."""
        parts = [part.replace("~", "~0").replace("/", "~1") for part in self.pointer]
        return "".join(f"/{part}" for part in parts) + ("/-" if self.is_item else "")


class Whole(NamedTuple):
    """A generated file. `text` includes the line that marks it as generated (harness/marks.py)."""

    part: str
    path: str
    text: str


Row = SplicedEntry | Whole


class Double(NamedTuple):
    """A part that another installation of nexus-mcp (such as a plugin) has, and the place of that installation."""

    part: str
    place: str
    next_step: str


class Harness(Protocol):
    """One harness. Each has its own module with the constant HARNESS; the table HARNESSES lists the modules."""

    id: str
    title: str
    program: str
    package: str
    """The npm package of the program."""
    no_fast_hooks: str
    """The reason why the harness does not support --fast-hooks, "" if it does."""
    no_status_line: str
    """The reason why the part STATUS_LINE does not exist for the harness, "" if it does."""

    def rows(self, site: Site, request: Request, record: Record) -> list[Row]:
        """Return the rows of an installation. Raise InstallRefused, CatalogError."""

    def recognizes(self, value: Any) -> bool:
        """Return whether an entry is one of ours, even if no record names it."""

    def next_steps(self, site: Site, request: Request) -> list[str]:
        """Return the steps that the user takes after an installation."""

    def doubles(self, site: Site) -> list[Double]:
        """Return the parts in plugins of ours that the user installed: they would run beside an installation."""

    def notices(self, site: Site, record: Record) -> list[str]:
        """Return a sentence for each reason why the harness does not use an installed part, such as untrusted hooks."""


def pointer_of(key: str) -> tuple[tuple[str, ...], bool]:
    """Return (the pointer, whether it is an item of an array) for a key of the record."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in key.split("/")[1:]]
    is_item = parts[-1:] == ["-"]
    return tuple(parts[:-1] if is_item else parts), is_item


def our_command(value: Any) -> bool:
    """Return whether an entry of a configuration, with `command` and `args`, starts our server."""
    if not isinstance(value, dict):
        return False
    command, arguments = value.get("command"), value.get("args")
    words = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    return starts_server(words)


def is_installed_form(value: Any, installed: Any) -> bool:
    """Return whether an entry of ours has the form that an installation writes, `installed`, with any command.

    The harness's own command, such as `claude mcp add`, writes other fields: such an entry is the user's.
    """
    if not (isinstance(value, dict) and isinstance(installed, dict)):
        return bool(value == installed)
    return value.keys() == installed.keys() and _harness_option(value) == _harness_option(installed)


def _harness_option(value: dict[str, Any]) -> list[Any]:
    """Return the option that tells the server its harness, with its value; [] if the entry has none."""
    words = [word for name in ("command", "args") if isinstance(part := value.get(name), list) for word in part]
    at = words.index("--harness-id") if "--harness-id" in words else len(words)
    return words[at : at + 2]


def our_hook(value: Any, harness: str) -> bool:
    """Return whether an entry of a table of hooks holds exactly one hook, which is ours for the harness."""
    hooks = value.get("hooks") if isinstance(value, dict) else None
    if not isinstance(hooks, list) or len(hooks) != 1 or not isinstance(hooks[0], dict):
        return False
    return starts_hook(hooks[0].get("command"), harness)


def starts_server(words: Sequence[Any]) -> bool:
    """Return whether the words of a command line start our server."""
    texts = [word for word in words if isinstance(word, str)]
    return "serve" in texts and any(
        os.path.basename(text) == "nexus-mcp" or text == "nexus_mcp" for text in texts[: texts.index("serve")]
    )


def shows_status(line: object) -> bool:
    """Return whether a command line prints our line for a status bar."""
    if not isinstance(line, str):
        return False
    return " status --line" in line and ("nexus-mcp" in line or "nexus_mcp" in line)


def starts_hook(line: object, harness: str) -> bool:
    """Return whether a command line starts our hook for the harness."""
    return isinstance(line, str) and f" hook --native {harness}" in line
