"""Servers that are wrong about the files of the workspace, with every tool."""

from __future__ import annotations

import json
from pathlib import Path

from nexus_mcp.server.app import Answer
from tests.miniatures.base import Call, Deviation, Json, Miniature, failed, load, save, success

_WRITERS = ("plan_start", "plan_update", "plan_decide", "task_add", "task_update", "task_close")
_PLAN = ("plan_start", "plan_status", "plan_update", "plan_decide", "task_close")
_TASKS = ("task_add", "task_list", "task_update", "task_close")
_STATE = (*_WRITERS, "plan_status", "task_list")


def _session(call: Call) -> list[Path]:
    return [path for path in (call.plan, call.tasks) if path.exists()]


def _rewriting(rewrite: object) -> Deviation:
    """Return a deviation: after each success write the session files as `rewrite` returns them."""

    def deviation(call: Call) -> Answer:
        answer = call.right()
        if not failed(answer):
            for path in _session(call):
                path.write_bytes(rewrite(path.read_bytes()))  # type: ignore[operator]
        return answer

    return deviation


def _escaped(data: bytes) -> bytes:
    return json.dumps(json.loads(data), indent=2).encode() + b"\n"


def _sorted(data: bytes) -> bytes:
    return json.dumps(json.loads(data), indent=2, ensure_ascii=False, sort_keys=True).encode() + b"\n"


def _compact(data: bytes) -> bytes:
    return json.dumps(json.loads(data), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _without_unknown(data: bytes) -> bytes:
    value = json.loads(data)
    known = ("schema_version", "id", "topic", "issues", "research_summary", "created_at", "goal", "decisions", "tasks")
    return json.dumps({k: value[k] for k in known if k in value}, indent=2, ensure_ascii=False).encode() + b"\n"


def _versioned(data: bytes) -> bytes:
    return json.dumps({"schema_version": "0.5", **json.loads(data)}, indent=2, ensure_ascii=False).encode() + b"\n"


def _touched(data: bytes) -> bytes:
    return json.dumps({**json.loads(data), "updated_by": "nexus"}, indent=2, ensure_ascii=False).encode() + b"\n"


def overwrites_gitignore(call: Call) -> Answer:
    answer = call.right()
    if not failed(answer) and call.nexus.exists():
        (call.nexus / ".gitignore").write_text("state/\n")
    return answer


def writes_no_gitignore(call: Call) -> Answer:
    there = (call.nexus / ".gitignore").exists()
    answer = call.right()
    if not there:
        (call.nexus / ".gitignore").unlink(missing_ok=True)
    return answer


def ignores_everything(call: Call) -> Answer:
    there = (call.nexus / ".gitignore").exists()
    answer = call.right()
    if not there and (call.nexus / ".gitignore").exists():
        (call.nexus / ".gitignore").write_text("*\n")
    return answer


def _unreadable(path: Path) -> bool:
    try:
        load(path)
    except ValueError:
        return True
    return False


def _starting_over(name: str) -> Deviation:
    """Return a deviation: treat a file that does not parse as absent."""

    def deviation(call: Call) -> Answer:
        path: Path = getattr(call, name)
        if not _unreadable(path):
            return call.right()
        before = path.read_bytes()
        path.unlink()
        answer = call.right()
        if failed(answer) or not path.exists():
            path.write_bytes(before)
        return answer

    return deviation


def starts_history_over(call: Call) -> Answer:
    if _unreadable(call.history):
        save(call.history, {"cycles": []})
    return call.right()


def follows_links(call: Call) -> Answer:
    link = next((path for path in (call.plan, call.tasks, call.history) if path.is_symlink()), None)
    if link is None:
        return call.right()
    target = link.resolve()
    link.unlink()
    if target.exists():
        link.write_bytes(target.read_bytes())
    answer = call.right()
    if link.exists():
        target.write_bytes(link.read_bytes())
        link.unlink()
    link.symlink_to(target)
    return answer


def goes_through_folder_links(call: Call) -> Answer:
    state = call.nexus / "state"
    link = next((path for path in (call.nexus, state) if path.is_symlink()), None)
    if link is None:
        return call.right()
    target = link.resolve()
    link.unlink()
    if target.exists():
        target.rename(link)
    answer = call.right()
    if link.exists():
        link.rename(target)
    link.symlink_to(target)
    return answer


def writes_newer_files(call: Call) -> Answer:
    newer: dict[Path, Json] = {}
    for path in (*_session(call), call.history):
        try:
            version = (load(path) or {}).get("schema_version")
        except (ValueError, AttributeError):
            continue
        if isinstance(version, str) and not version.startswith("0."):
            newer[path] = version
            save(path, {**load(path), "schema_version": "0.5"})
    answer = call.right()
    for path, version in newer.items():
        if path.exists():
            save(path, {**load(path), "schema_version": version})
    return answer


def refuses_marks(call: Call) -> Answer:
    marked = any(path.read_bytes().startswith(b"\xef\xbb\xbf") for path in _session(call))
    return success({"error": "a file does not begin with {"}) if marked else call.right()


def makes_up_what_is_missing(call: Call) -> Answer:
    for path, whole in ((call.plan, {"issues": []}), (call.tasks, {"goal": "", "decisions": [], "tasks": []})):
        value = load(path) if path.exists() and not path.is_symlink() and not _unreadable(path) else None
        if isinstance(value, dict) and not whole.keys() <= value.keys():
            save(path, {**whole, **value})
    return call.right()


def takes_the_last_of_two(call: Call) -> Answer:
    for path in _session(call):
        if not path.is_symlink() and not _unreadable(path) and _has_equal_keys(path.read_bytes()):
            save(path, load(path))
    return call.right()


def _has_equal_keys(data: bytes) -> bool:
    lost: list[int] = []
    json.loads(data, object_pairs_hook=lambda found: lost.append(len(found) - len(dict(found))))
    return any(lost)


def leaves_a_mark(call: Call) -> Answer:
    answer = call.right()
    if not failed(answer):
        (call.root / "nexus.log").write_text(f"{call.name}\n")
    return answer


def writes_outside(call: Call) -> Answer:
    (call.root.parent / f"{call.root.name}.log").write_text(f"{call.name}\n")
    return call.right()


MINIATURES = (
    Miniature("files-escaped", "Non-ASCII text is written as escapes.", _WRITERS, _rewriting(_escaped)),
    Miniature("files-sorted", "Keys are written in alphabetical order.", _WRITERS, _rewriting(_sorted)),
    Miniature("files-compact", "State files are written on one line.", _WRITERS, _rewriting(_compact)),
    Miniature("files-no-newline", "State files end without a newline.", _WRITERS, _rewriting(bytes.rstrip)),
    Miniature(
        "files-marked", "State files begin with a byte order mark.", _WRITERS, _rewriting(b"\xef\xbb\xbf".__add__)
    ),
    Miniature(
        "files-crlf",
        "State files have lines that end in CRLF.",
        _WRITERS,
        _rewriting(lambda d: d.replace(b"\n", b"\r\n")),
    ),
    Miniature(
        "files-drop-unknown",
        "Unknown fields of session files are lost.",
        _WRITERS,
        _rewriting(_without_unknown),
    ),
    Miniature("files-versioned", "schema_version is added to session files.", _WRITERS, _rewriting(_versioned)),
    Miniature("files-extra-field", "State files get a field that no schema knows.", _WRITERS, _rewriting(_touched)),
    Miniature("gitignore-overwritten", "An existing .gitignore is overwritten.", (), overwrites_gitignore),
    Miniature("gitignore-forgotten", "No .gitignore is written.", (), writes_no_gitignore),
    Miniature("gitignore-everything", "The new .gitignore ignores the history, too.", (), ignores_everything),
    Miniature("plan-corrupt-is-absent", "A corrupt plan.json counts as absent.", _PLAN, _starting_over("plan")),
    Miniature("tasks-corrupt-is-absent", "A corrupt tasks.json counts as absent.", _TASKS, _starting_over("tasks")),
    Miniature(
        "start-overwrites-history", "plan_start overwrites a corrupt history.", ("plan_start",), starts_history_over
    ),
    Miniature("links-followed", "State files that are links are followed.", (), follows_links),
    Miniature("folder-links-followed", "Folders that are links are followed.", (), goes_through_folder_links),
    Miniature("newer-files-written", "Files of a newer major version are written.", _WRITERS, writes_newer_files),
    Miniature("marks-refused", "Files that begin with a byte order mark are refused.", _STATE, refuses_marks),
    Miniature("missing-made-up", "Missing required fields of a file are made up.", _STATE, makes_up_what_is_missing),
    Miniature("last-of-two-keys", "Of two equal keys in a file the last one counts.", _STATE, takes_the_last_of_two),
    Miniature("log-in-project", "A log is written into the project.", (), leaves_a_mark),
    Miniature("log-outside-project", "A log is written beside the project.", (), writes_outside),
)
