"""Render the graph of tasks as an SVG picture, in one file without scripts, fonts or other external resources.

Each state has a mark and a word of its own, so that no meaning depends on a colour alone. The colours follow the
reader's light or dark theme.
"""

from __future__ import annotations

from html import escape

from nexus_mcp.rendering.graph_labels import (
    CRITICAL,
    CYCLE,
    WORDS,
    counts_line,
    critical_line,
    cycle_lines,
    flags,
)
from nexus_mcp.rendering.layout import CARD_HEIGHT, CARD_WIDTH, GRID_HEAD, layout
from nexus_mcp.rendering.texts import fit, pixels, visible
from nexus_mcp.views.graph import MISSING
from nexus_mcp.views.task_rows import DONE, READY, RUNNING, WAITING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from nexus_mcp.rendering.layout import Layout, Point

_MARGIN = 24
_HEAD_LINE = 22
_LEGEND = 34
_LEAST_WIDTH = 720
_HEAD_COLUMN = 7.2
"""The approximate width in pixels of a character in the lines above the graph."""
_TITLE_LINES = 2
_OWNER_WIDTH = 96
_STYLE = """\
svg{--page:#fff;--text:#1f2937;--dim:#5b6472;--card:#fff;--line:#8a93a1;--done:#eef0f3;--ready:#e3f3fd;--ready-line:#0369a1;
--run:#fdf0cf;--run-line:#a35a05;--wait:#fff;--wait-line:#8a93a1;--bad:#fde3e3;--bad-line:#c02626;--path:#7c3aed;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
@media (prefers-color-scheme:dark){svg{--page:#14171c;--text:#e6e9ee;--dim:#a3acb9;--card:#1d2229;--line:#7b8494;
--done:#20252d;--ready:#12303f;--ready-line:#4cb4e7;--run:#3a2d0e;--run-line:#e8a93b;--wait:#1a1e24;--wait-line:#7b8494;
--bad:#411b1d;--bad-line:#f87171;--path:#b794f6}}
.page{fill:var(--page)}text{fill:var(--text);font-size:13px}.dim{fill:var(--dim)}.head{font-size:16px;font-weight:600}
.id{font-weight:700}.note{font-size:12px;fill:var(--dim)}.warn{fill:var(--bad-line);font-weight:600}
.card{stroke-width:1.2;stroke:var(--line);fill:var(--card)}.done .card{fill:var(--done)}.done text{fill:var(--dim)}
.ready .card{fill:var(--ready);stroke:var(--ready-line)}
.in_progress .card{fill:var(--run);stroke:var(--run-line);stroke-width:2.4}
.waiting .card{fill:var(--wait);stroke:var(--wait-line);stroke-dasharray:5 3}
.missing .card,.cyclic .card{fill:var(--bad);stroke:var(--bad-line)}.cyclic .card{stroke-dasharray:9 3;stroke-width:2.4}
.critical .card{stroke:var(--path);stroke-width:2.6;stroke-dasharray:none}
.mark{fill:none;stroke:var(--dim);stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.ready .mark{stroke:var(--ready-line)}.in_progress .mark{stroke:var(--run-line);fill:var(--run-line)}
.missing .mark{stroke:var(--bad-line)}
.arrow{fill:none;stroke:var(--line);stroke-width:1.3}.tip{fill:var(--line)}
.past{opacity:.5}
.arrow.critical{stroke:var(--path);stroke-width:3}.tip.critical{fill:var(--path)}
.arrow.cyclic{stroke:var(--bad-line);stroke-width:2.2;stroke-dasharray:7 4}.tip.cyclic{fill:var(--bad-line)}
.badge{fill:var(--path)}.cyclic .badge{fill:var(--bad-line)}
.badge-text{font-size:11px;font-weight:600;fill:var(--page)!important}
"""
_MARKS = {
    DONE: '<path class="mark" d="M1 7l4 4 8-9"/>',
    RUNNING: '<path class="mark" d="M2 2v10l10-5z"/>',
    READY: '<circle class="mark" cx="7" cy="7" r="5.5"/>',
    WAITING: '<path class="mark" d="M4 2v10M10 2v10"/>',
    MISSING: '<path class="mark" d="M2 2l10 10M12 2l-10 10"/>',
}


def svg(graph: Mapping[str, Any]) -> str:
    """Return the view `graph` as an SVG document. Raise GraphvizMissing."""
    places = layout(graph)
    width = max(places["width"], _LEAST_WIDTH) + 2 * _MARGIN
    head = _head(graph, width - 2 * _MARGIN)
    top = _MARGIN + len(head) * _HEAD_LINE + _LEGEND + 14
    height = top + places["height"] + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
        f' height="{height:.0f}" role="img" aria-labelledby="title">',
        f'<title id="title">{escape(counts_line(graph))}</title>',
        f"<style>{_STYLE}</style>",
        f'<rect class="page" width="{width:.0f}" height="{height:.0f}"/>',
        f'<g transform="translate({_MARGIN} {_MARGIN})">{"".join(head)}{_legend(graph, len(head) * _HEAD_LINE)}</g>',
        f'<g transform="translate({_MARGIN} {top:.0f})">',
        *_arrows(graph, places["arrows"]),
        *_cards(graph["nodes"], places),
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _head(graph: Mapping[str, Any], width: float) -> list[str]:
    """Return the lines above the graph."""
    room = int(width / _HEAD_COLUMN)
    lines = [(line, "head") for line in fit(counts_line(graph), room, 1)]
    lines += [(line, "warn") for sentence in cycle_lines(graph) for line in fit(f"Cycle: {sentence}", room, 2)]
    lines += [(line, "dim") for line in fit(critical_line(graph), room, 3)]
    return [
        f'<text class="{style}" y="{at * _HEAD_LINE + 15}">{escape(line)}</text>'
        for at, (line, style) in enumerate(lines)
    ]


def _legend(graph: Mapping[str, Any], top: float) -> str:
    """Return a row that explains the marks and the kinds of arrows that the graph has."""
    states = {node["state"] for node in graph["nodes"]}
    x, parts = 0.0, []
    for state, word in WORDS.items():
        if state in states:
            parts.append(f'<g class="{state}" transform="translate({x:.0f} {top + 10:.0f})">{_MARKS[state]}</g>')
            parts.append(f'<text class="note" x="{x + 20:.0f}" y="{top + 21:.0f}">{word}</text>')
            x += 20 + len(word) * 6.6 + 22
    for name, key, word in (("critical", "is_critical", CRITICAL), ("cyclic", "in_cycle", CYCLE)):
        if any(edge[key] for edge in graph["edges"]):
            y = top + 17
            parts.append(f'<path class="arrow {name}" d="M{x:.0f} {y:.0f}h28"/>')
            parts.append(f'<text class="note" x="{x + 36:.0f}" y="{top + 21:.0f}">{word}</text>')
            x += 36 + len(word) * 6.6 + 22
    return "".join(parts)


def _arrows(graph: Mapping[str, Any], arrows: Sequence[Sequence[Point]]) -> Iterable[str]:
    """Yield the arrows. Critical and cyclic ones come last, so that they are drawn above the others; the arrows
    between finished tasks are faint.
    """
    finished = {node["id"] for node in graph["nodes"] if node["state"] == DONE}
    edges = graph["edges"]
    both = sorted(zip(edges, arrows, strict=True), key=lambda one: one[0]["is_critical"] + 2 * one[0]["in_cycle"])
    for edge, points in both:
        past = "past" if edge["from"] in finished and edge["to"] in finished else ""
        name = "cyclic" if edge["in_cycle"] else "critical" if edge["is_critical"] else past
        (x, y), rest = points[0], points[1:]
        curve = " ".join(f"{a:.1f} {b:.1f}" for a, b in rest)
        yield f'<path class="arrow {name}" d="M{x:.1f} {y:.1f}C{curve}"/>'.replace(' "', '"')
        yield f'<path class="tip {name}" d="{_tip(points)}"/>'.replace(' "', '"')


def _tip(points: Sequence[Point]) -> str:
    """Return a triangle at the end of a curve, in its direction."""
    (x0, y0), (x1, y1) = points[-2], points[-1]
    length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5 or 1.0
    dx, dy = (x1 - x0) / length, (y1 - y0) / length
    tip, left, right = (
        (x1 + 9 * dx, y1 + 9 * dy),
        (x1 - 4.5 * dy, y1 + 4.5 * dx),
        (x1 + 4.5 * dy, y1 - 4.5 * dx),
    )
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in (tip, left, right)) + "z"


def _cards(nodes: Sequence[Mapping[str, Any]], places: Layout) -> Iterable[str]:
    if places["grid_top"] is not None:
        yield f'<text class="dim" y="{places["grid_top"] + GRID_HEAD - 16:.1f}">Without dependencies</text>'
    for node, (x, y) in zip(nodes, places["cards"], strict=True):
        yield _card(node, x, y)


def _card(node: Mapping[str, Any], x: float, y: float) -> str:
    state = node["state"]
    names = [state, *(["critical"] if node["is_critical"] else ()), *(["cyclic"] if node["in_cycle"] else ())]
    title, owner = visible(node["title"]), visible(node["owner"] or "")
    tooltip = " · ".join(filter(None, (f"{node['id']} {title}".rstrip(), WORDS[state], owner, *flags(node))))
    parts = [
        f'<g class="{" ".join(names)}" transform="translate({x:.1f} {y:.1f})"><title>{escape(tooltip)}</title>',
        f'<rect class="card" width="{CARD_WIDTH}" height="{CARD_HEIGHT}" rx="{0 if state == WAITING else 8}"/>',
        f'<g transform="translate(11 9)">{_MARKS[state]}</g>',
        f'<text x="34" y="21"><tspan class="id">{node["id"]}</tspan>'
        f'<tspan class="note" dx="8">{WORDS[state]}</tspan></text>',
    ]
    if owner:
        shown = fit(owner, _OWNER_WIDTH, 1, pixels)[0]
        parts.append(f'<text class="note" x="{CARD_WIDTH - 10}" y="21" text-anchor="end">{escape(shown)}</text>')
    shown = title or ("No task has this id." if state == MISSING else "(no title)")
    lines = fit(shown, CARD_WIDTH - 22, _TITLE_LINES, pixels)
    # An inner svg clips what a wider font would draw beyond the card.
    texts = (f'<text x="11" y="{14 + number * 17}">{escape(line)}</text>' for number, line in enumerate(lines))
    parts.append(f'<svg y="28" width="{CARD_WIDTH - 4}" height="{CARD_HEIGHT - 30}">{"".join(texts)}</svg>')
    for flag in flags(node):
        wide = 9 + len(flag) * 6.1
        parts.append(
            f'<rect class="badge" x="{CARD_WIDTH - wide - 10:.1f}" y="{CARD_HEIGHT - 7}" width="{wide:.1f}" height="15"'
            f' rx="7"/><text class="badge-text" x="{CARD_WIDTH - wide / 2 - 10:.1f}" y="{CARD_HEIGHT + 4}"'
            f' text-anchor="middle">{flag}</text>'
        )
    return "".join([*parts, "</g>"])
