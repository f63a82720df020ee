"""Draw a cycle call by call, the transitions that were seen in it, and its tasks at three moments."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from docs.drawings.layers import layers
from docs.drawings.runs import TASKS, Moment
from docs.drawings.svg import Picture, bend

LOOKS = {
    "pending": ("waiting", "open"),
    "decided": ("done", "decided"),
    "waiting": ("waiting", "waiting"),
    "ready": ("ready", "ready"),
    "in_progress": ("running", "in progress"),
    "completed": ("done", "completed"),
}
"""Status → the kind of its box, and its words."""
HISTORY = "-"
"""Stands for the status of what is in the history."""
_LEGEND = ("waiting", "ready", "in_progress", "completed")


def call_by_call(moments: list[Moment]) -> str:
    """Return a picture with a row for each call and a column for each issue, each task and the history."""
    issues, tasks = sorted(moments[0].issues), sorted(moments[-2].tasks)
    row, top, left, column = 21, 56, 204, 46
    places = {("issues", one): left + column * number for number, one in enumerate(issues)}
    start = left + column * len(issues) + 18
    places |= {("tasks", one): start + column * number for number, one in enumerate(tasks)}
    history = start + column * len(tasks) + 18
    width, bottom = history + 72, top + row * len(moments)
    picture = Picture(
        width,
        bottom + 40,
        "One cycle, call by call",
        "Each row is a call of a tool. The columns show the state of two issues, six tasks and the history after it.",
    )
    for number, moment in enumerate(moments):
        y = top + row * number
        picture.line(((0, y), (width, y)), colour="grid")
        picture.text(4, y + row / 2, _words(moment), size=12, mono=True)
        if moment.cycles:
            picture.label(history, y + 2, 68, row - 4, "history", lines=[f"cycle {moment.cycles}"])
    _heads(picture, places, history, column)
    for (kind, one), x in places.items():
        statuses = [getattr(moment, kind).get(one) for moment in moments]
        for first, last, status in _stretches(statuses):
            if status is not None:
                look, _ = LOOKS[status]
                height = row * (last - first + 1) - 4
                picture.box(x + 8, top + row * first + 2, column - 16, height, look, dashed=look == "waiting", radius=4)
    _legend(picture, 4, bottom + 24, "waiting, open", "ready", "in progress", "completed, decided")
    return picture.render()


def transitions(moments: list[Moment]) -> str:
    """Return a picture of the statuses of issues and tasks, with each change that the calls made."""
    seen = _seen(moments)
    picture = Picture(
        752,
        344,
        "Statuses and the calls that change them",
        "; ".join(
            f"{kind}: {old or 'nothing'} to {new} by {' '.join(call)}" for (kind, old, new), call in seen.items()
        ),
    )
    picture.text(4, 14, "An issue of the plan", bold=True)
    picture.text(4, 152, "A task", bold=True)
    for (kind, old, new), call in seen.items():
        _transition(picture, _PLACES[kind, old], _PLACES[kind, new], call)
    for place in _PLACES.values():
        picture.label(place.x, place.y, place.width, _HEIGHT, place.kind, lines=[place.words])
    return picture.render()


def three_moments(moments: list[Moment]) -> str:
    """Return the graph of the tasks when all are added, in the middle of the work, and before its end."""
    chosen = (
        ("All tasks are added", _first(moments, lambda m: len(m.tasks) == len(TASKS))),
        ("Two agents are at work", _first(moments, lambda m: list(m.tasks.values()).count("in_progress") == 2)),
        ("Half of them are done", _first(moments, lambda m: list(m.tasks.values()).count("completed") == 3)),
    )
    below = {str(one): [str(other) for other in _followers(one)] for one in range(1, len(TASKS) + 1)}
    rows = layers(below)
    width, height, gap, panel, spread = 148, 40, 66, 186, 150
    picture = Picture(
        3 * width + 2 * gap + 26,
        panel * len(chosen) + 40,
        "The tasks of one cycle at three moments",
        "An arrow leads from a task to a task that waits for it.",
    )
    for number, (title, moment) in enumerate(chosen):
        top = panel * number
        picture.text(8, top + 14, f"{number + 1}. {title}", bold=True)
        places: dict[str, tuple[float, float]] = {}
        for layer, names in enumerate(rows):
            for place, name in enumerate(names):
                y = top + 30 + spread * (place + 0.5) / len(names) - height / 2 + 2
                places[name] = (8 + layer * (width + gap), y)
        for name, (x, y) in places.items():
            for other in below[name]:
                (x2, y2) = places[other]
                picture.arrow(bend((x + width, y + height / 2), (x2 - 2, y2 + height / 2)))
        for name, (x, y) in places.items():
            kind, words = LOOKS[moment.tasks[int(name)]]
            picture.label(x, y, width, height, kind, lines=[f"{name} {TASKS[int(name) - 1][0]}", words])
    _legend(picture, 8, panel * len(chosen) + 22, *(LOOKS[status][1] for status in _LEGEND))
    return picture.render()


class _Place(NamedTuple):
    """Where the box of a status is in the picture of the transitions."""

    x: float
    y: float
    width: float
    kind: str
    words: str


_HEIGHT = 34
_PLACES = {
    ("issues", ""): _Place(4, 60, 74, "plain", "nothing"),
    ("issues", "pending"): _Place(174, 60, 86, "waiting", "open"),
    ("issues", "decided"): _Place(400, 60, 86, "done", "decided"),
    ("issues", HISTORY): _Place(662, 60, 86, "history", "history"),
    ("tasks", ""): _Place(4, 254, 74, "plain", "nothing"),
    ("tasks", "waiting"): _Place(174, 184, 86, "waiting", "waiting"),
    ("tasks", "ready"): _Place(174, 254, 86, "ready", "ready"),
    ("tasks", "in_progress"): _Place(352, 254, 94, "running", "in progress"),
    ("tasks", "completed"): _Place(540, 254, 92, "done", "completed"),
    ("tasks", HISTORY): _Place(662, 184, 86, "history", "history"),
}
"""(Kind, status) → place; "" is the time before."""


def _seen(moments: list[Moment]) -> dict[tuple[str, str, str], list[str]]:
    """Return (kind, old status, new status) → the calls that made this change, in the words of the picture."""
    found: dict[tuple[str, str, str], list[str]] = {}
    before = Moment("", {}, {}, {}, 0)
    for moment in moments:
        for kind in ("issues", "tasks"):
            old, new = getattr(before, kind), getattr(moment, kind)
            for one in old.keys() | new.keys():
                change = (kind, old.get(one, ""), new.get(one, HISTORY))
                if change[1] != change[2]:
                    own = moment.arguments.get("id", one) == one
                    found.setdefault(change, _cause(moment) if own else ["another task", "is completed"])
        before = moment
    return found


def _cause(moment: Moment) -> list[str]:
    word = moment.arguments.get("action") or moment.arguments.get("status")
    return [moment.tool, word] if word else [moment.tool]


def _transition(picture: Picture, old: _Place, new: _Place, call: list[str]) -> None:
    """Draw an arrow: straight to the right or down, in a bow below to the left, else round the corner."""
    middle = old.y + _HEIGHT / 2
    if old.y == new.y and old.x < new.x:
        picture.arrow(f"M{old.x + old.width},{middle} H{new.x - 3}")
        _beside(picture, (old.x + old.width + new.x) / 2, middle - 11, call)
    elif old.y == new.y:
        x1, x2, y = old.x + old.width / 2, new.x + new.width / 2, old.y + _HEIGHT
        picture.arrow(f"M{x1},{y} C{x1},{y + 34} {x2},{y + 34} {x2},{y + 3}")
        _beside(picture, (x1 + x2) / 2, y + 38, [" ".join(call)])
    elif old.x == new.x:
        x = old.x + old.width / 2
        picture.arrow(f"M{x},{old.y + _HEIGHT} V{new.y - 3}")
        for number, line in enumerate(call):
            picture.text(x - 8, old.y + _HEIGHT + 13 + 14 * number, line, size=11.5, colour="soft", anchor="end")
    else:
        x, y = old.x + old.width / 2, new.y + _HEIGHT / 2
        picture.arrow(f"M{x},{old.y} C{x},{y} {x},{y} {new.x - 3},{y}")
        _beside(picture, (x + 12 + new.x) / 2, y - 11, call)


def _beside(picture: Picture, x: float, y: float, lines: list[str]) -> None:
    """Write the lines centred above y."""
    for number, line in enumerate(reversed(lines)):
        picture.text(x, y - 14 * number, line, size=11.5, anchor="middle", colour="soft")


def _words(moment: Moment) -> str:
    """Return a call in a few words."""
    given = moment.arguments
    if moment.tool == "task_add":
        waits = f" after {', '.join(map(str, given['deps']))}" if given["deps"] else ""
        return f"task_add {len(moment.tasks)}{waits}"
    said = [str(given[name]) for name in ("action", "issue_id", "id", "status") if name in given]
    return " ".join((moment.tool, *said)).replace("_id", "")


def _heads(picture: Picture, places: dict[tuple[str, int], int], history: int, column: int) -> None:
    """Write the heads of the columns, and fine lines below the open ones."""
    picture.text(4, 14, "the call", bold=True)
    picture.text(history + 34, 14, "history", anchor="middle", bold=True)
    for title in ("issues", "tasks"):
        own = [x for (kind, _), x in places.items() if kind == title]
        picture.text((own[0] + own[-1] + column) / 2, 14, title, anchor="middle", bold=True)
    for (_, one), x in places.items():
        picture.text(x + column / 2, 38, str(one), anchor="middle", colour="soft")


def _stretches(statuses: list[str | None]) -> list[tuple[int, int, str | None]]:
    """Return (first row, last row, status) for each stretch of rows with one status."""
    found: list[tuple[int, int, str | None]] = []
    for number, status in enumerate(statuses):
        if found and found[-1][2] == status:
            found[-1] = (found[-1][0], number, status)
        else:
            found.append((number, number, status))
    return found


def _legend(picture: Picture, x: float, y: float, *words: str) -> None:
    for status, word in zip(_LEGEND, words, strict=True):
        kind, _ = LOOKS[status]
        picture.box(x, y - 7, 22, 14, kind, dashed=kind == "waiting", radius=3)
        picture.text(x + 30, y, word, colour="soft", size=12)
        x += 140


def _first(moments: list[Moment], holds: Callable[[Moment], bool]) -> Moment:
    return next(moment for moment in moments if holds(moment))


def _followers(one: int) -> list[int]:
    return [number for number, (_, deps) in enumerate(TASKS, 1) if one in deps]
