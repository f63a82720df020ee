"""Arguments and answers as short texts: the screen is for reading, the files hold the whole."""

from __future__ import annotations

import json
from typing import Any

from nexus_mcp.cli.spelling import quoted

LONGEST_TEXT = 64


def short(value: Any) -> str:
    """Nearly JSON: without quotes around member names, and with long strings cut."""
    if isinstance(value, str):
        cut = value if len(value) <= LONGEST_TEXT else value[: LONGEST_TEXT - 1].rstrip() + "…"
        return quoted(cut)
    if isinstance(value, list):
        return f"[{', '.join(map(short, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {short(item)}' for name, item in value.items())}}}"
    return json.dumps(value)


def select(value: dict[str, Any], names: tuple[str, ...]) -> tuple[dict[str, Any], bool]:
    """The members of `value` called `names`, and whether these are all there are.

    "task.id" is the member `id` of the member `task`; no names means all.
    """
    if not names:
        return value, True
    chosen: dict[str, Any] = {}
    for name in names:
        member: Any = value
        for part in name.split("."):
            member = member[part]
        chosen[name.rpartition(".")[2]] = member
    return chosen, chosen == value
