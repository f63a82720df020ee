"""Place the nodes of a graph without cycles in layers, with few crossings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise


def layers(below: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the nodes of each layer in their order; each arrow leads from its layer to a later one.

    `below` has, for each node, the nodes that its arrows lead to.
    """
    above: dict[str, list[str]] = {node: [] for node in below}
    for node, others in below.items():
        for other in others:
            above[other].append(node)
    depth: dict[str, int] = {}
    for node in below:
        _depth(node, above, depth)
    rows: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node in below:
        rows[depth[node]].append(node)
    for _ in range(4):
        for row in rows[1:]:
            _sort(row, above, _places(rows))
        for row in rows[-2::-1]:
            _sort(row, {node: list(below[node]) for node in row}, _places(rows))
    return rows


def with_waypoints(below: Mapping[str, Iterable[str]]) -> tuple[dict[str, list[str]], dict[tuple[str, str], list[str]]]:
    """Return the graph with a waypoint in each layer that an arrow crosses, and each arrow's waypoints.

    A waypoint is a node whose name begins with a dot: place it as the others, so that the arrow has room there.
    """
    place = {node: number for number, row in enumerate(layers(below)) for node in row}
    split: dict[str, list[str]] = {node: [] for node in below}
    ways: dict[tuple[str, str], list[str]] = {}
    for node, others in below.items():
        for other in others:
            way = [f".{node}.{other}.{layer}" for layer in range(place[node] + 1, place[other])]
            ways[node, other] = way
            for one, then in pairwise((node, *way, other)):
                split.setdefault(one, []).append(then)
    return split, ways


def _depth(node: str, above: Mapping[str, list[str]], depth: dict[str, int]) -> int:
    if node not in depth:
        depth[node] = max((_depth(other, above, depth) + 1 for other in above[node]), default=0)
    return depth[node]


def _places(rows: list[list[str]]) -> dict[str, float]:
    return {node: (place + 0.5) / len(row) for row in rows for place, node in enumerate(row)}


def _sort(row: list[str], neighbours: Mapping[str, list[str]], places: Mapping[str, float]) -> None:
    """Put each node near the middle of its neighbours; a node without any keeps its place."""

    def middle(node: str) -> float:
        near = [places[other] for other in neighbours[node]]
        return sum(near) / len(near) if near else places[node]

    row.sort(key=middle)
