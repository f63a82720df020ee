"""Find out which of our hooks Codex runs, and make the rows of `hooks.state` with which Codex trusts hooks.

Codex runs a hook only if the user trusts its present form. Codex keeps a hash for each hook that the user trusted in
/hooks, in `hooks.state` of its configuration, and silently skips a hook whose hash is missing or differs (checked with
Codex 0.169.0).
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

from nexus_mcp.harness.definition import our_hook

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def untrusted_hooks(settings: Mapping[str, Any], path: str, hooks: Mapping[str, Any], harness: str) -> list[str]:
    """Return a line if the user never trusted some of our hooks, and one if some changed after the user trusted them.

    `settings` is the configuration of Codex, `hooks` the content of the hooks.json at `path`.
    """
    states = _states(settings)
    ours = list(_ours(hooks, harness))
    found = [states.get(f"{os.path.realpath(path)}:{event}:{place}:0", "") for event, place, _ in ours]
    expected = [hash_of(event, group) for event, _, group in ours]
    missing = found.count("")
    changed = sum(bool(kept) and kept != now for kept, now in zip(found, expected, strict=True))
    lines = []
    if missing:
        trusted = f"{len(found) - missing} of {len(found)}"
        lines.append(f"Codex trusts {trusted} hooks and skips the others: type /hooks in codex to trust them.")
    if changed:
        since = f"{changed} of {len(found)} hooks changed after you trusted them"
        lines.append(f"{since}, and Codex skips these: type /hooks in codex to trust them again.")
    return lines


def trust_of(hooks: Mapping[str, Any], source: str) -> dict[str, dict[str, str]]:
    """Return the rows of `hooks.state` with which Codex trusts each hook in `hooks`, a table of our hooks by event.

    `source` is the place from which Codex reads the table.
    """
    return {
        f"{source}:{_snake(event)}:{place}:0": {"trusted_hash": hash_of(_snake(event), group)}
        for event, groups in hooks.items()
        for place, group in enumerate(groups)
    }


def _states(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the rows of `hooks.state`: key of a hook → the hash that the user trusted, "" without one."""
    hooks = settings.get("hooks")
    state = hooks.get("state") if isinstance(hooks, dict) else None
    rows = state.items() if isinstance(state, dict) else ()
    return {key: str(row.get("trusted_hash") or "") for key, row in rows if isinstance(row, dict)}


def _ours(hooks: Mapping[str, Any], harness: str) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield each hook of ours in a hooks.json: its event, the index of its group in the list of the event, and the
    group.
    """
    table = hooks.get("hooks")
    for event, groups in table.items() if isinstance(table, dict) else ():
        for place, group in enumerate(groups if isinstance(groups, list) else ()):
            if our_hook(group, harness):
                yield _snake(event), place, group


def hash_of(event: str, group: Mapping[str, Any]) -> str:
    """Return Codex's hash of a group with one hook: that of event and group as JSON with sorted keys and no spaces."""
    hook = group["hooks"][0]
    fields = {"type": "command", "command": hook["command"], "async": bool(hook.get("async", False))}
    fields |= {name: hook[name] for name in ("timeout", "statusMessage") if name in hook}
    value: dict[str, Any] = {"event_name": event, "hooks": [fields]}
    if group.get("matcher") is not None:
        value["matcher"] = group["matcher"]
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"


def _snake(event: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in event).lstrip("_")
