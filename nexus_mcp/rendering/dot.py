"""Write the graph of tasks in the language of Graphviz, for a layout or a style of your own."""

from __future__ import annotations

from nexus_mcp.rendering.graph_labels import MARKS, WORDS, flags, node_name
from nexus_mcp.rendering.texts import fit, visible
from nexus_mcp.views.graph import MISSING
from nexus_mcp.views.task_rows import DONE, READY, RUNNING, WAITING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_LINE, _LINES = 30, 3
"""The maximum columns of a line of a label, and the maximum lines of its title and of its notes."""
_STYLES = {
    DONE: 'shape=box, style="filled", fillcolor="#e5e7eb", color="#9ca3af", fontcolor="#4b5563"',
    RUNNING: 'shape=cds, style="filled,bold", fillcolor="#fde68a", color="#b45309"',
    READY: 'shape=box, style="filled,rounded", fillcolor="#bae6fd", color="#0369a1"',
    WAITING: 'shape=box, style="filled,dashed", fillcolor="#f9fafb", color="#6b7280"',
    MISSING: 'shape=hexagon, style="filled", fillcolor="#fecaca", color="#b91c1c"',
}
_CRITICAL = 'color="#7c3aed", penwidth=3'
_CYCLE = 'color="#dc2626", penwidth=3, style="dashed"'


def dot(graph: Mapping[str, Any]) -> str:
    """Return the view `graph` as a DOT file."""
    lines = [
        "digraph tasks {",
        "  rankdir=LR;",
        '  node [fontname="Helvetica,Arial,sans-serif", fontsize=11];',
        '  edge [color="#6b7280"];',
    ]
    names = {}
    for number, node in enumerate(graph["nodes"]):
        names[node["id"]] = name = node_name(number)
        lines.append(f"  {name} [label={_label(node)}, {_STYLES[node['state']]}{_outline(node)}];")
    if not names:
        lines.append('  none [label="No tasks", shape=plaintext];')
    for edge in graph["edges"]:
        style = f' [{_CYCLE}, label="cycle"]' if edge["in_cycle"] else f" [{_CRITICAL}]" if edge["is_critical"] else ""
        lines.append(f"  {names[edge['from']]} -> {names[edge['to']]}{style};")
    return "\n".join([*lines, "}", ""])


def _outline(node: Mapping[str, Any]) -> str:
    return ', color="#dc2626", penwidth=3' if node["in_cycle"] else f", {_CRITICAL}" if node["is_critical"] else ""


def _label(node: Mapping[str, Any]) -> str:
    notes = [WORDS[node["state"]], *([visible(node["owner"])] if node["owner"] else ()), *flags(node)]
    title = f"{MARKS[node['state']]} {node['id']} {visible(node['title'])}".rstrip()
    lines = [*fit(title, _LINE, _LINES), *fit(", ".join(notes), _LINE, _LINES)]
    text = "\\n".join(map(_escape, lines))
    return f'"{text}"'


def _escape(text: str) -> str:
    """Return `text` for a label, in which Graphviz reads backslash escapes and entities of HTML."""
    return text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
