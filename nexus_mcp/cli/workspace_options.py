"""Options and inputs that several commands share: project, harness, prefix, mount, catalog, task, message, JSON."""

from __future__ import annotations

import os
import sys

from nexus_mcp.cli.options import Argument, Option, parse_count
from nexus_mcp.errors import NexusError, UsageError
from nexus_mcp.wording import join_first, place_of_byte
from nexus_mcp.workspace import DEFAULT_HARNESS_ID, Workspace, check_harness_id, find_root

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.cli.options import Values
    from nexus_mcp.store.session import SessionSnapshot
    from nexus_mcp.store.store import Store

PROJECT = Option("--project", "DIR", "the project (default: the git repository around you)")
HARNESS_ID = Option("--harness-id", "ID", f"the id of your harness (default: {DEFAULT_HARNESS_ID})")
TOOL_PREFIX = Option("--tool-prefix", "PREFIX", "the text before every tool name, e.g. nx_")

TASK_ID = Argument("TASK-ID", "the id of a task, as task_list has it", is_number=True)
MESSAGE = Argument("[MESSAGE]", "the message of a user (default: stdin)", least=0)
JSON = Option("--json", "", "print one line of JSON")

MOUNT = Option("--mount", "TEXT", "the text that your client puts before our tool names")

# Clients add a prefix of their own to tool names, and several clients allow 64 characters in all.
PREFIX_LIMIT = 32
LIMIT = 4 << 20
"""The maximum size of a message on stdin, in bytes."""
MOUNT_LIMIT = 96
"""The maximum length of the value of --mount in characters, the tool prefix included."""
_MAX_TASK_ID = 10**15 - 1  # larger than the ids of any list
_MAX_LISTED_IDS = 20
_CHUNK = 1 << 16  # bytes


def workspace_from(values: Values) -> Workspace:
    """Return the workspace that the options and the environment name.

    Raise UsageError for an invalid value or a working directory that is gone, StorageError if the system fails to look
    for `.git`.
    """
    harness_id = check_harness_id(values.get("--harness-id", DEFAULT_HARNESS_ID))
    try:
        here = os.getcwd()
    except OSError:
        raise UsageError(
            "The working directory is gone.", next_step="Change to a folder that exists, then start again."
        ) from None
    root = find_root(values.get("--project"), os.environ, here)
    return Workspace(root, harness_id, shared_state(root), check_mount(values.get(MOUNT.name, "")))


def shared_state(root: str) -> str:
    """Return the main worktree whose state and history `root`, a linked worktree, uses; "" if `root` uses its own."""
    from nexus_mcp.worktree import is_linked

    if not is_linked(root):
        return ""
    from nexus_mcp.tags.config import worktree_mode
    from nexus_mcp.worktree import state_root

    found = state_root(root, worktree_mode(root))
    return "" if found == root else found


def check_prefix(value: str) -> str:
    """Return `value`. Raise UsageError unless it is empty or every client accepts it before a tool name."""
    if value and not (_begins_names(value) and len(value) <= PREFIX_LIMIT):
        raise UsageError(
            f"The tool prefix {value!r} is not usable: it must be a letter, then letters, digits, _ and -, "
            f"at most {PREFIX_LIMIT} in all.",
            next_step="Example: --tool-prefix nx_",
        )
    return value


def check_mount(value: str) -> str:
    """Return `value`. Raise UsageError unless it is empty or may begin the name of a tool."""
    if value and not (_begins_names(value) and len(value) <= MOUNT_LIMIT):
        raise UsageError(
            f"The mount {value!r} is not usable: it must be a letter, then letters, digits, _ and -, "
            f"at most {MOUNT_LIMIT} in all.",
            next_step="Example: --mount mcp__nexus__",
        )
    return value


def _begins_names(value: str) -> bool:
    return value.isascii() and value[:1].isalpha() and value.replace("_", "a").replace("-", "a").isalnum()


def load_catalog(root: str) -> Catalog:
    """Return the usable entries of the project's catalog; print the faults of the others on stderr."""
    from nexus_mcp.catalog.load import usable
    from nexus_mcp.quoting import inert

    catalog = usable(root)
    if sys.stderr is not None:
        for warning in catalog.warnings:
            print(f"nexus-mcp: {inert(warning)}", file=sys.stderr)
    return catalog


def find_task(store: Store | SessionSnapshot, word: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the task with the id that `word` spells, and the task list.

    Raise UsageError if `word` is not a number, NexusError when there is no such task, StateError, PathRefused,
    StorageError.
    """
    wanted = parse_count(word, TASK_ID.name, _MAX_TASK_ID)
    document = store.tasks()
    if document is None or not document["tasks"]:
        raise NexusError(f"There is no task {wanted}: this project has none now.", next_step="task_add adds them.")
    for task in document["tasks"]:
        if task["id"] == wanted:
            one: dict[str, Any] = task
            return one, document
    ids = [str(task["id"]) for task in document["tasks"]]
    raise NexusError(f"There is no task {wanted}.", next_step=f"The tasks are {join_first(ids, _MAX_LISTED_IDS)}.")


def warn_unmapped(catalog: Catalog, harness: str, values: Values) -> None:
    """Warn on stderr when `harness` has no capability map: the output then lacks the names of the harness's tools."""
    from nexus_mcp.catalog.capabilities import missing_map_warning

    warning = missing_map_warning(catalog, harness)
    if warning and HARNESS_ID.name not in values:
        warning = (
            f"{HARNESS_ID.name} is missing, so the tools that start and resume agents are unknown. "
            f"Add it with the id of your client: {', '.join(catalog.maps)}."
        )
    if warning:
        print(f"nexus-mcp: {warning}", file=sys.stderr)


def read_message(values: Values) -> str:
    """Return the message from the command line, else from stdin.

    Raise UsageError if there is none, or if stdin cannot be read, is larger than LIMIT or is not UTF-8.
    """
    if MESSAGE.name in values:
        return values[MESSAGE.name]
    if sys.stdin is None or os.isatty(0):
        raise UsageError("There is no message.", next_step="Write it in quotation marks, or send it to stdin.")
    data = bytearray()
    try:
        while len(data) <= LIMIT and (chunk := os.read(0, _CHUNK)):
            data += chunk
    except OSError as error:
        raise UsageError(f"The message could not be read from stdin: {error.strerror}.") from error
    if len(data) > LIMIT:
        raise UsageError(f"The message on stdin is larger than the {LIMIT >> 20} MiB that are read.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        where = place_of_byte(error.object, error.start)
        raise UsageError(f"The message on stdin is not UTF-8: {where}.") from error


def print_json(value: dict[str, Any]) -> None:
    """Print `value` on one line of stdout, as UTF-8 whatever the terminal's encoding is.

    Stored text in it cannot control the terminal: characters that could do so are written as escapes of JSON.
    """
    from nexus_mcp.cli.text_output import escape_invisible
    from nexus_mcp.store.codec import compact, without_surrogates

    written = escape_invisible(without_surrogates(compact(value)))
    sys.stdout.buffer.write(written.encode() + b"\n")
    sys.stdout.buffer.flush()
