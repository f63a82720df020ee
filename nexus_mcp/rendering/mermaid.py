"""Render the graph of tasks as a Mermaid flowchart, for Markdown pages that draw it.

A label is in quotation marks, and each character that could have a meaning for Mermaid is written as a character code.
Mermaid finds directives and entities also within quotation marks.
"""

from __future__ import annotations

import re

from nexus_mcp.rendering.graph_labels import MARKS, WORDS, flags, node_name
from nexus_mcp.rendering.texts import fit, visible
from nexus_mcp.views.graph import MISSING
from nexus_mcp.views.task_rows import DONE, READY, RUNNING, WAITING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_SPECIAL = re.compile(r"[^A-Za-z0-9 .,!?()/+=\u0080-\U0010ffff-]")
"""The characters of ASCII that become character codes."""
_WIDEST, _WIDEST_OWNER = 70, 30
"""The maximum width in columns of a title and of an owner in a label."""
_SHAPES = {
    DONE: ("[[", "]]"),
    RUNNING: ("([", "])"),
    READY: ("(", ")"),
    WAITING: ("[", "]"),
    MISSING: ("{{", "}}"),
}
# The text colour is set, too, because a page may be light or dark.
_STYLES = {
    DONE: "fill:#e5e7eb,stroke:#9ca3af,color:#4b5563",
    RUNNING: "fill:#fde68a,stroke:#b45309,color:#1f2937",
    READY: "fill:#bae6fd,stroke:#0369a1,color:#1f2937",
    WAITING: "fill:#f9fafb,stroke:#6b7280,color:#1f2937,stroke-dasharray:4 3",
    MISSING: "fill:#fecaca,stroke:#b91c1c,color:#1f2937",
}
_CRITICAL = "stroke:#7c3aed,stroke-width:4px"
_CYCLE = "stroke:#dc2626,stroke-width:4px"


def mermaid(graph: Mapping[str, Any]) -> str:
    """Return the view `graph` as the text of a Mermaid flowchart."""
    lines = ["flowchart LR"]
    names = {}
    for number, node in enumerate(graph["nodes"]):
        names[node["id"]] = name = node_name(number)
        opening, closing = _SHAPES[node["state"]]
        lines.append(f'  {name}{opening}"{_label(node)}"{closing}:::{node["state"]}')
    if not names:
        lines.append('  none["No tasks"]')
    for edge in graph["edges"]:
        arrow = "-. cycle .->" if edge["in_cycle"] else "==>" if edge["is_critical"] else "-->"
        lines.append(f"  {names[edge['from']]} {arrow} {names[edge['to']]}")
    used = {node["state"] for node in graph["nodes"]}
    lines += [f"  classDef {state} {style}" for state, style in _STYLES.items() if state in used]
    for key, name, style in (("is_critical", "critical", _CRITICAL), ("in_cycle", "cycle", _CYCLE)):
        marked = [names[node["id"]] for node in graph["nodes"] if node[key]]
        if marked:
            lines += [f"  classDef {name} {style}", f"  class {','.join(marked)} {name}"]
    return "\n".join(lines) + "\n"


def _label(node: Mapping[str, Any]) -> str:
    title = " ".join(fit(visible(node["title"]), _WIDEST, 1))
    owner = fit(visible(node["owner"] or ""), _WIDEST_OWNER, 1)
    notes = [WORDS[node["state"]], *owner, *flags(node)]
    first = _escape(f"{node['id']} {title}".rstrip())
    return f"{MARKS[node['state']]} {first}<br>{_escape(', '.join(notes))}"


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"#{ord(found[0])};", text)
