"""Draw the rooms of the package, and the arrows between them."""

from __future__ import annotations

from docs.drawings.layers import layers, with_waypoints
from docs.drawings.svg import Picture, bend, through, width_of
from docs.rooms import GROUND, arrows

_HEIGHT, _LAYER, _GAP, _WIDTH = 34, 64, 28, 740
_ROUNDS = 30
_WAYPOINT = 12  # how wide a place is that only an arrow crosses


def rooms() -> str:
    """Return a picture of the imports of today, the highest rooms at the top."""
    below: dict[str, list[str]] = {"ground": []}
    for room, other in arrows():
        below.setdefault(room, []).append(other)
        below.setdefault(other, [])
    split, ways = with_waypoints(below)
    words = {room: ", ".join(GROUND) if room == "ground" else room for room in below}
    widths = {node: width_of(words[node]) + 26 if node in words else _WAYPOINT for node in split}
    rows = layers(split)
    places = _places(rows, widths, split)
    picture = Picture(
        max(x + widths[node] / 2 for node, (x, _) in places.items()) + 4,
        _LAYER * (len(rows) - 1) + _HEIGHT + 8,
        "The rooms of the package",
        "; ".join(f"{room} imports {', '.join(others)}" for room, others in below.items() if others),
    )
    for (room, other), way in ways.items():
        stops = [(places[node][0], places[node][1] + _HEIGHT / 2) for node in way]
        (x, y), (x2, y2) = places[room], places[other]
        start, end = (x, y + _HEIGHT), (x2, y2 - 2)
        picture.arrow(through((start, *stops, end)) if stops else bend(start, end, down=True))
    for room, text in words.items():
        x, y = places[room]
        kind = "history" if room == "ground" else "ready"
        picture.label(x - widths[room] / 2, y, widths[room], _HEIGHT, kind, lines=[text])
    return picture.render()


def _places(
    rows: list[list[str]], widths: dict[str, float], split: dict[str, list[str]]
) -> dict[str, tuple[float, float]]:
    """Return node → (its middle, its upper edge): near the nodes that it has arrows to and from."""
    near: dict[str, set[str]] = {node: set(others) for node, others in split.items()}
    for node, others in split.items():
        for other in others:
            near[other].add(node)
    middles = {node: _WIDTH * (place + 0.5) / len(row) for row in rows for place, node in enumerate(row)}
    for _ in range(_ROUNDS):
        for row in rows:
            wanted = [sum(middles[other] for other in near[node]) / len(near[node]) for node in row]
            middles |= _apart(row, wanted, widths)
    left = min(middle - widths[node] / 2 for node, middle in middles.items()) - 4
    return {node: (middles[node] - left, 4 + _LAYER * number) for number, row in enumerate(rows) for node in row}


def _apart(row: list[str], wanted: list[float], widths: dict[str, float]) -> dict[str, float]:
    """Return middles near the wanted ones, in this order, with a gap between the nodes and within the picture."""
    left = 0.0
    found: list[float] = []
    for node, middle in zip(row, wanted, strict=True):
        found.append(max(middle, left + widths[node] / 2))
        left = found[-1] + widths[node] / 2 + _GAP
    right = float(_WIDTH)
    for place in range(len(row) - 1, -1, -1):
        found[place] = min(found[place], right - widths[row[place]] / 2)
        right = found[place] - widths[row[place]] / 2 - _GAP
    return dict(zip(row, found, strict=True))
