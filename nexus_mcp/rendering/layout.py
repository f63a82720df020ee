"""Compute the places of the cards and arrows of a graph with Graphviz (pygraphviz; its wheels contain Graphviz).

Graphviz gets only numbers, so no title can become an instruction for it, and the result does not depend on fonts. Tasks
without an edge would stand in one endless column, so they are placed in a grid below the others.
"""

from __future__ import annotations

import io
from contextlib import redirect_stderr

from nexus_mcp.errors import NexusError
from nexus_mcp.rendering.graph_labels import node_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypedDict

    Point = tuple[float, float]

    class Layout(TypedDict):
        """Sizes and places in pixels, from the upper left corner. `cards` has the corner of each node, in order, and
        `arrows` the points of each edge, in order: a Bezier curve. `grid_top` is where the grid of nodes without edges
        begins, None without a grid or if no node has an edge.
        """

        width: float
        height: float
        cards: list[Point]
        arrows: list[list[Point]]
        grid_top: float | None


CARD_WIDTH, CARD_HEIGHT = 236, 74
GRID_HEAD = 40
"""Pixels for a heading above the grid."""
_GAP_X, _GAP_Y = 24, 16
_RANKS_APART = 56
_LEAST_COLUMNS, _MOST_COLUMNS = 4, 16
_INCH = 72.0
"""Pixels per inch: Graphviz computes in inches."""


class GraphvizMissing(NexusError):
    """pygraphviz is not installed, or does not work."""


def layout(graph: Mapping[str, Any]) -> Layout:
    """Return the places for the view `graph`. Raise GraphvizMissing."""
    nodes = graph["nodes"]
    places = {node["id"]: number for number, node in enumerate(nodes)}
    linked = {places[edge[end]] for edge in graph["edges"] for end in ("from", "to")}
    pairs = [(places[edge["from"]], places[edge["to"]]) for edge in graph["edges"]]
    width, height, cards, arrows = _graphviz(sorted(linked), pairs) if linked else (0.0, 0.0, {}, [])
    alone = [number for number in range(len(nodes)) if number not in linked]
    grid_top = None
    if alone:
        fitting = int((width + _GAP_X) // (CARD_WIDTH + _GAP_X))
        count = min(max(fitting, _LEAST_COLUMNS), _MOST_COLUMNS, len(alone))
        grid_top = height + (_GAP_Y if linked else 0)
        top = grid_top + (GRID_HEAD if linked else 0)
        for at, number in enumerate(alone):
            row, column = divmod(at, count)
            cards[number] = (column * (CARD_WIDTH + _GAP_X), top + row * (CARD_HEIGHT + _GAP_Y))
        width = max(width, count * (CARD_WIDTH + _GAP_X) - _GAP_X)
        height = max(y for _, y in (cards[number] for number in alone)) + CARD_HEIGHT
    return {
        "width": width,
        "height": height,
        "cards": [cards[number] for number in range(len(nodes))],
        "arrows": arrows,
        "grid_top": grid_top if linked else None,
    }


def _graphviz(
    nodes: Sequence[int], pairs: Sequence[tuple[int, int]]
) -> tuple[float, float, dict[int, Point], list[list[Point]]]:
    """Return (width, height, node → corner, the points of each pair). Raise GraphvizMissing."""
    try:
        import pygraphviz
    except ImportError as error:
        raise GraphvizMissing(
            "An SVG needs pygraphviz, which is not installed.",
            next_step="Install pygraphviz, which brings Graphviz, into the environment of nexus-mcp; --format mermaid "
            "and dot need neither.",
        ) from error
    drawing = pygraphviz.AGraph(_source(nodes, pairs))
    try:
        with redirect_stderr(io.StringIO()):  # pygraphviz prints warnings about large graphs to stderr
            plain = drawing.draw(format="plain", prog="dot").decode()
    except (ValueError, OSError) as error:
        raise GraphvizMissing(
            "Graphviz could not lay out the graph.", next_step="--format mermaid and dot need no layout."
        ) from error
    finally:
        drawing.close()
    width, height, cards, arrows = _parse(plain)
    return width, height, cards, [arrows[pair] for pair in pairs]


def _source(nodes: Sequence[int], pairs: Sequence[tuple[int, int]]) -> str:
    shape = f"shape=box, fixedsize=true, width={CARD_WIDTH / _INCH:.4f}, height={CARD_HEIGHT / _INCH:.4f}"
    lines = [
        "digraph tasks {",
        f"rankdir=LR; nodesep={_GAP_Y / _INCH:.4f}; ranksep={_RANKS_APART / _INCH:.4f};",
        f'node [{shape}, label=""];',
        *(f"{node_name(number)};" for number in nodes),
        *(f"{node_name(one)} -> {node_name(two)};" for one, two in pairs),  # no label: Graphviz would look for fonts
        "}",
    ]
    return "\n".join(lines)


def _parse(plain: str) -> tuple[float, float, dict[int, Point], dict[tuple[int, int], list[Point]]]:
    """Parse Graphviz's format "plain", which has inches from the lower left corner, and return pixels."""
    width = height = 0.0
    cards: dict[int, Point] = {}
    arrows: dict[tuple[int, int], list[Point]] = {}
    for line in plain.replace("\\\n", "").splitlines():
        words = line.split(" ")
        if words[0] == "graph":
            width, height = (float(word) * _INCH for word in words[2:4])
        elif words[0] == "node":
            x, y = (float(word) * _INCH for word in words[2:4])
            cards[int(words[1][1:])] = (x - CARD_WIDTH / 2, height - y - CARD_HEIGHT / 2)
        elif words[0] == "edge":
            count = int(words[3])
            numbers = [float(word) * _INCH for word in words[4 : 4 + 2 * count]]
            points = [(x, height - y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
            arrows[int(words[1][1:]), int(words[2][1:])] = points
    return width, height, cards, arrows
