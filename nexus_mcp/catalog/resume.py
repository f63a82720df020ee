"""Decide whether the owner of a task starts fresh or is resumed (docs/resume.md).

This module reads no file: the task, the tracker's entries, the agent and the edits are arguments.
"""

from __future__ import annotations

from nexus_mcp.catalog import target_files
from nexus_mcp.quoting import quoted_name
from nexus_mcp.wording import join_first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    Entry = Mapping[str, Any]  # an entry of the tracker, as `_clean` returns it
    Edit = tuple[str, str, str]  # (agent id, "" for the main session; path; time): a line of the tool log

FRESH, RESUME = "fresh", "resume"
EPHEMERAL, BOUNDED, PERSISTENT = "ephemeral", "bounded", "persistent"
SAME_ARTIFACT = "resume_if_same_artifact"
_POLICIES = (FRESH, SAME_ARTIFACT, RESUME)
_RULES = {EPHEMERAL: FRESH, BOUNDED: SAME_ARTIFACT, PERSISTENT: RESUME}
_TEXTS = ("agent_id", "agent_name", "status", "started_at", "last_resumed_at", "stopped_at")
_NO_EARLIER_AGENT = "no earlier agent of this owner is recorded"
_NAMED = 3  # the maximum number of files in a reason
_STAMP = len("2026-01-01T00:00:00.000Z")


def decide(
    task: Mapping[str, Any],
    tracker_entries: Iterable[Mapping[str, Any]],
    agent: Mapping[str, Any] | None,
    *,
    mechanism: bool,
    harness: str = "the harness",
    targets: Iterable[str] | None = None,
    root: str = "",
    readers: Collection[str] = (),
    edits: Iterable[Edit] = (),
) -> dict[str, Any]:
    """Return {"mode": "fresh"|"resume", "agent_id", "reason", "reread": [files to read again first]}; "agent_id" only
    with "resume".

    `agent` is the catalog's entry of the task's owner, None for an owner that is no agent. `mechanism`: whether the
    `harness` can resume. `targets` are the task's files; with None they are found in the task's texts. `root`, the
    project, is removed from absolute paths. `readers` are the names of agents that edit no files: the files that they
    touched were only read. `edits` are the edits in the tool log, also those of running agents and of the main session.
    The policy of the task has precedence over the tier of the agent.
    """
    policy = task.get("owner_reuse_policy")
    policy = policy if policy in _POLICIES else None  # tasks.json of another harness may hold any value
    tier = None if agent is None else agent["resume_tier"]
    rule, why = (policy, f"the task asks for {policy}") if policy else (_RULES.get(tier or ""), f"its tier is {tier}")
    if rule == FRESH:
        return _fresh(why)
    if rule is None:
        return _fresh("the task has no owner" if not task.get("owner") else "its owner is no agent of the catalog")
    if not mechanism:
        return _fresh(f"{harness} cannot resume an agent")
    entries = [_clean(entry, root) for entry in tracker_entries]
    named = _text(task, "owner_agent_id")
    files = list(target_files.of_task(task, root) if targets is None else targets)
    editors = [other for other in entries if other["agent_name"] not in readers]
    logged = [(editor, target_files.normal(path, root) or path, at) for editor, path, at in edits]
    if rule == RESUME:
        found = _resume_owner(task, named, entries, why, explicit=policy == RESUME)
        entry = next((one for one in reversed(entries) if one["agent_id"] == found.get("agent_id")), None)
        return (
            {**found, "reread": _edited_files(entry, editors, logged, entries, files)} if "agent_id" in found else found
        )
    entry, reason = _same_artifact(task, named, entries, files)
    if entry is None:
        return _fresh(reason)
    edit = _later_edit(editors, entry, files) or _logged_edit(logged, entries, entry, files)
    return _fresh(edit) if edit else _resume_answer(entry["agent_id"], f"{why}, {reason}", files)


def _resume_owner(
    task: Mapping[str, Any], named: str, entries: Sequence[Entry], why: str, *, explicit: bool
) -> dict[str, Any]:
    """Return the decision: resume the agent whose id the task names, else the newest agent in the tracker with the name
    of the task's owner; without either, start a fresh one.

    `explicit`: whether the policy of the task is `resume`. Then the agent whose id the task names is resumed even if it
    is not in the tracker, or has the name of another owner.
    """
    if named and explicit:
        return _resume_answer(named, why)
    entry = next((entry for entry in reversed(entries) if entry["agent_id"] == named), None) if named else None
    # An entry without a name may belong to any owner; the task names its id, so it counts.
    if entry is not None and entry["agent_name"] in ("", task.get("owner")):
        return _resume_answer(named, why)
    own = _own(entries, task)
    if own:
        return _resume_answer(own[0]["agent_id"], why)
    if not named:
        return _fresh(_NO_EARLIER_AGENT)
    shown = quoted_name(named)
    return _fresh(f"{shown} did not run in this session" if entry is None else f"{shown} is an agent of another owner")


def _same_artifact(
    task: Mapping[str, Any], named: str, entries: Sequence[Entry], targets: list[str]
) -> tuple[Entry | None, str]:
    """Return (an agent of the owner that touched all these files, the reason); (None, why there is none).

    The agent with the id `named` comes first, then the newest.
    """
    candidates = sorted(_own(entries, task), key=lambda entry: entry["agent_id"] != named)
    if not candidates:
        return None, _NO_EARLIER_AGENT
    if not targets:
        return None, "the task names no files, so they cannot be the same"
    for entry in candidates:
        if len(target_files.covered_targets(targets, entry["files_touched"])) == len(targets):
            return entry, "the files are the same, and no other agent has edited them since"
    return None, f"no earlier agent of this owner touched {join_first(targets, _NAMED, quoted_name)}"


def _later_edit(entries: Sequence[Entry], entry: Entry, targets: list[str]) -> str:
    """Return the reason if another agent may have edited one of the files after the last run of the agent of `entry`;
    else "".
    """
    for other in entries:
        if other["agent_id"] == entry["agent_id"]:
            continue
        both = target_files.covered_targets(targets, other["files_touched"], target_files.may_cover)
        if (both and _is_after(other, entry)) or _ran_between(other, entry):
            editor = other["agent_id"] or other["agent_name"]
            return _why_stale(editor, both or targets, entry, "another agent")
    return ""


def _edited_files(
    entry: Entry | None, editors: Sequence[Entry], logged: Sequence[Edit], entries: Sequence[Entry], files: list[str]
) -> list[str]:
    """Return the files, of the task or touched by the agent, that others may have edited since its run.

    If the agent is not in the tracker, these are all files of the task.
    """
    if entry is None:
        return files
    known = list(dict.fromkeys([*files, *entry["files_touched"]]))
    return [
        file for file in known if _later_edit(editors, entry, [file]) or _logged_edit(logged, entries, entry, [file])
    ]


def _ran_between(other: Entry, entry: Entry) -> bool:
    """Return whether the other agent may have had a run since `entry` ended whose files the tracker no longer has: it
    was resumed since then, and has ended again.
    """
    resumed, since = other["last_resumed_at"], _since(entry)
    return bool(resumed) and other["status"] != "running" and (not _stamp(resumed) or not since or resumed > since)


def _logged_edit(edits: Iterable[Edit], entries: Sequence[Entry], entry: Entry, targets: list[str]) -> str:
    """Return the same as `_later_edit`, but from the tool log. Edits of another running agent count at any time."""
    running = {other["agent_id"] for other in entries if other["status"] == "running"}
    since = _since(entry)
    for editor, path, time in edits:
        both, at = target_files.covered_targets(targets, [path], target_files.may_cover), _stamp(time)
        if both and editor != entry["agent_id"] and (editor in running or not at or not since or at >= since):
            return _why_stale(editor, both, entry, "the main session")
    return ""


def _own(entries: Sequence[Entry], task: Mapping[str, Any]) -> list[Entry]:
    """Return the tracker's entries with the name of the task's owner, the newest first, one for each agent id."""
    owner = _text(task, "owner")
    found: dict[str, Entry] = {}
    for entry in reversed(entries):
        if owner and entry["agent_id"] and entry["agent_name"] == owner:
            found.setdefault(entry["agent_id"], entry)
    return list(found.values())


def _is_after(other: Entry, entry: Entry) -> bool:
    """Return whether the other agent's edits may be later; True also if it is running or if the times cannot be
    compared.
    """
    ended, since = _end(other), _since(entry)
    return not ended or not since or ended > since


def _since(entry: Entry) -> str:
    """Return the end of the agent's last run that ended, whose files the tracker has; if none has ended, the time of
    its last start; "" if that is no time in the form of the contract.
    """
    return _stamp(entry["stopped_at"] or entry["last_resumed_at"] or entry["started_at"])


def _end(entry: Entry) -> str:
    return "" if entry["status"] == "running" else _stamp(entry["stopped_at"])


def _stamp(value: str) -> str:
    """Return a time in the form of the contract, which sorts as text; "" for any other value."""
    return value if len(value) == _STAMP and value.endswith("Z") else ""


def _clean(entry: Mapping[str, Any], root: str) -> Entry:
    """Return the fields _TEXTS, "" for absent or invalid ones, and the texts in `files_touched`, [] without any: a
    tracker may have been edited by hand.
    """
    files = entry.get("files_touched")
    paths = [path for path in files if isinstance(path, str)] if isinstance(files, list) else []
    touched = [target_files.normal(path, root) or path for path in paths]
    return {**{name: _text(entry, name) for name in _TEXTS}, "files_touched": touched}


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""


def _why_stale(editor_id: str, files: list[str], entry: Entry, unnamed: str) -> str:
    """Return the reason that another editor may have edited files since `entry` did. For an editor without id and name
    it has the text `unnamed`.
    """
    editor, since = quoted_name(editor_id) if editor_id else unnamed, quoted_name(entry["agent_id"])
    return f"{editor} may have edited {join_first(files, _NAMED, quoted_name)} since {since} did"


def _fresh(reason: str) -> dict[str, Any]:
    return {"mode": FRESH, "reason": reason, "reread": []}


def _resume_answer(agent_id: str, reason: str, reread: list[str] | None = None) -> dict[str, Any]:
    return {"mode": RESUME, "agent_id": agent_id, "reason": reason, "reread": reread or []}
