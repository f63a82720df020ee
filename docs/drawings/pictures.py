"""The table of the pictures."""

from __future__ import annotations

from pathlib import Path

from docs.drawings import cycle, life, rooms, runs, sessions
from docs.drawings.svg import Picture

FOLDER = Path(__file__).resolve().parent.parent / "pictures"


def drawn() -> dict[str, str]:
    """Run everything anew, and return name → text of each picture."""
    moments = runs.cycle()
    return {
        "cycle": cycle.call_by_call(moments),
        "statuses": cycle.transitions(moments),
        "tasks": cycle.three_moments(moments),
        "session": life.life_of_a_session(sessions.session()),
        "rooms": rooms.rooms(),
        "favicon": favicon(),
    }


def favicon() -> str:
    """Return the sign of the site: three tasks, one of them done."""
    picture = Picture(32, 32, "nexus-mcp", "Three tasks")
    picture.arrow("M8,9 L23,9")
    picture.arrow("M8,9 L15,21")
    for x, y, kind in ((8, 9, "done"), (24, 9, "ready"), (16, 24, "running")):
        picture.dot(x, y, kind, radius=6)
    return picture.render()
