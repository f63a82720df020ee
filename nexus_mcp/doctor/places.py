"""Map each path in `.nexus` to its role, and a role to the kind (file or folder) that it requires, if any."""

from __future__ import annotations

import re

from nexus_mcp.catalog.sources import BODY, KINDS, MAP, META
from nexus_mcp.doctor.survey import FILE, FOLDER
from nexus_mcp.harness import record
from nexus_mcp.merging.repair import is_backup
from nexus_mcp.store import agents_extension, artifacts, harness_files, journal, lock, oplog, paths
from nexus_mcp.store.history import cache
from nexus_mcp.tags import config
from nexus_mcp.workspace import is_harness_id

NEXUS = ".nexus"
STATE = f"{NEXUS}/state"

IGNORE_FILE = "ignore file"
HISTORY = "history"
KNOWLEDGE = "knowledge"
KNOWLEDGE_NOTE = "note"
OWN_FOLDER = "own folder"
OWN_FILE = "own file"
CAPABILITY_MAP = "capability map"
CONFIG = "config"
INSTALLED = "record of installations"
STATE_FOLDER = "state"
PLAN = "plan"
TASKS = "tasks"
LOCK = "lock"
JOURNAL = "journal"
TOOL_LOG = "tool log"
OPLOG = "operation log"
ARTIFACTS = "artifacts"
ARTIFACT = "artifact"
CACHE = "cache"
KEPT = "kept aside"
MARKER = "marker"
OLD_TRACKER = "old tracker"
HARNESS = "harness"
TRACKER = "tracker"
ACCESS = "memory access"
EXTENSION = "extension"
AGENTS_EXTENSION = "agents extension"
OTHER = "other"
UNKNOWN = "unknown"

WANTED = {
    **dict.fromkeys(
        (IGNORE_FILE, HISTORY, PLAN, TASKS, LOCK, JOURNAL, TOOL_LOG, OPLOG, TRACKER, ACCESS, AGENTS_EXTENSION), FILE
    ),
    **dict.fromkeys((OWN_FILE, CAPABILITY_MAP, CONFIG, INSTALLED), FILE),
    **dict.fromkeys((KNOWLEDGE, OWN_FOLDER, STATE_FOLDER, ARTIFACTS, CACHE), FOLDER),
}
# nexus-mcp writes files of the roles IN_PLACE in place. It replaces files of the roles REPLACED, which needs write
# permission only on the folder.
IN_PLACE = (LOCK, TOOL_LOG, OPLOG, AGENTS_EXTENSION)
REPLACED = (IGNORE_FILE, HISTORY, PLAN, TASKS, TRACKER, ACCESS)

_TOP = {
    ".gitignore": IGNORE_FILE,
    journal.HISTORY: HISTORY,
    "memory": KNOWLEDGE,
    "context": KNOWLEDGE,
    "rules": KNOWLEDGE,
    "state": STATE_FOLDER,
    **dict.fromkeys(KINDS, OWN_FOLDER),
    MAP: CAPABILITY_MAP,
    config.NAME: CONFIG,
    record.NAME: INSTALLED,
    "opencode": OTHER,  # the plugin for OpenCode
}
_IN_STATE = {
    paths.PLAN: PLAN,
    paths.TASKS: TASKS,
    lock.NAME: LOCK,
    journal.NAME: JOURNAL,
    harness_files.TOOL_LOG: TOOL_LOG,
    oplog.NAME: OPLOG,
    artifacts.FOLDER: ARTIFACTS,
    cache.FOLDER: CACHE,
    harness_files.TRACKER: OLD_TRACKER,
    **dict.fromkeys(("run.lock", "processes.json", "runs"), OTHER),  # written by `nexus-mcp run`
    paths.IDEMPOTENCY: OTHER,
}
_IN_HARNESS = {
    harness_files.TRACKER: TRACKER,
    harness_files.ACCESS: ACCESS,
    agents_extension.NAME: AGENTS_EXTENSION,
    agents_extension.OLD: AGENTS_EXTENSION,
}
_CONFLICT = "conflict-"
_KEPT_COPY = re.compile(r"conflict-[0-9a-f]{16}-")  # other names with this prefix are ordinary artifacts or notes


def role(path: str, kind: str) -> str:
    """Return the role of the path; UNKNOWN for a name directly in `.nexus` or `state` that nexus-mcp does not use,
    OTHER for any other path without a role of its own.
    """
    parts = path.split("/")[1:]
    if not parts:
        return OTHER
    if len(parts) == 1:
        if kind == FILE and parts[0].startswith(_CONFLICT):
            return KEPT
        return _TOP.get(parts[0]) or (OTHER if is_backup(parts[0]) else UNKNOWN)
    top = _TOP.get(parts[0])
    if top == KNOWLEDGE and kind == FILE and _KEPT_COPY.match(parts[-1]):
        return KEPT
    if top == KNOWLEDGE:
        return KNOWLEDGE_NOTE if path.endswith(".md") and kind == FILE else OTHER
    if top == OWN_FOLDER:
        return OWN_FILE if len(parts) == 3 and parts[2] in (META, BODY) else OTHER
    if top != STATE_FOLDER:
        return OTHER
    return _in_state(parts[1:], kind)


def _in_state(parts: list[str], kind: str) -> str:
    name = parts[0]
    if len(parts) == 1:
        if name in _IN_STATE:
            return _IN_STATE[name]
        if kind == FILE:
            prefixes = {_CONFLICT: KEPT, journal.RECEIPT_PREFIX: MARKER}
            return next((found for prefix, found in prefixes.items() if name.startswith(prefix)), UNKNOWN)
        return HARNESS if kind == FOLDER and is_harness_id(name) else UNKNOWN
    if name == artifacts.FOLDER:
        return KEPT if kind == FILE and _KEPT_COPY.match(parts[-1]) else ARTIFACT
    if len(parts) > 2 or not is_harness_id(name):
        return OTHER
    return _IN_HARNESS.get(parts[1]) or _of_harness(parts[1], kind)


def _of_harness(name: str, kind: str) -> str:
    if kind == FILE and name.startswith(_CONFLICT):
        return KEPT
    return EXTENSION if name.endswith(".extension.json") else OTHER
