"""Store the results of the clients in results.json, and generate docs/harnesses.md from them.

`make e2e` writes the results of the clients that it ran; those of the others stay. `make docs` writes the page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.e2e.capabilities import INSPECTOR_ROWS, NOT_OFFERED, NOTES, ROWS
from tests.e2e.clients import listed

FILE = Path(__file__).with_name("results.json")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "harnesses.md"
HARNESSES = {"claude-code": "Claude Code", "codex": "Codex", "opencode": "OpenCode"}
SEEN, FAILED, NOT_TRIED = "seen", "failed", "not tried"
_HEAD = """\
# What works in which harness

<!-- Written by `make docs` from tests/e2e/results.json. Do not edit. -->

`make e2e` starts the real clients with a scripted model and without a network, and records here what it saw. Each cell
is a test that ran in the client. These pages explain how to install, a first plan, and the special features of each
client: [Claude Code](claude-code.md), [Codex](codex.md), [OpenCode](opencode.md).
"""
_INSPECTOR = """\
MCP Inspector {version}, in both eras of the protocol, over `serve`, `serve --sdk` and `serve --http`: {rows}.
"""


def read() -> dict[str, Any]:
    """Return client -> its version, and its capabilities with `seen` or `failed`."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return found


def record(outcomes: Mapping[str, Mapping[str, bool]]) -> None:
    """Write client -> capability -> whether its tests passed; the results of other clients stay."""
    known = read()
    clients = listed()
    for client, seen in outcomes.items():
        words = {name: SEEN if passed else FAILED for name, passed in sorted(seen.items())}
        known[client] = {"version": clients[client].version, "capabilities": words}
    FILE.write_text(json.dumps(dict(sorted(known.items())), indent=2) + "\n", encoding="utf-8")


def page() -> str:
    """Return the text of docs/harnesses.md."""
    known = read()
    titles = " | ".join(f"{title} {known.get(id, {}).get('version', '')}".strip() for id, title in HARNESSES.items())
    lines = [_HEAD, f"| | {titles} |", "|---|---|---|---|"]
    reasons: list[str] = []
    for capability, words in ROWS.items():
        cells = [_cell(known, harness, capability, reasons) for harness in HARNESSES]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    lines += ["", *(f"{number}. {reason}" for number, reason in enumerate(reasons, 1)), ""] if reasons else [""]
    if "inspector" in known:
        seen = known["inspector"]["capabilities"]
        rows = "; ".join(f"{words}: {seen.get(row, NOT_TRIED)}" for row, words in INSPECTOR_ROWS.items())
        lines.append(_INSPECTOR.format(version=known["inspector"]["version"], rows=rows))
    return "\n".join(lines)


def _cell(known: Mapping[str, Any], harness: str, capability: str, reasons: list[str]) -> str:
    missing, note = (table.get(harness, {}).get(capability, "") for table in (NOT_OFFERED, NOTES))
    word = str(known.get(harness, {}).get("capabilities", {}).get(capability, NOT_TRIED))
    if missing:
        word = "not offered"
    if text := missing or note:
        if text not in reasons:
            reasons.append(text)
        return f"{word} ({reasons.index(text) + 1})"
    return word


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
