"""The pictures of the documentation are those of a run of today, and can be read on light and on dark pages."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from docs import rooms
from docs.drawings import runs, sessions
from docs.drawings.layers import layers, with_waypoints
from docs.drawings.life import excerpt
from docs.drawings.pictures import FOLDER, drawn
from docs.drawings.svg import COLOURS, KINDS, variables

PICTURES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.svg"))}
CHARTS = {"growth", "memory", "start"}
"""By benchmarks.plots; tests/benchmarks/test_page.py compares them with the figures."""
_WHITE_PAGE, _DARK_PAGE = "#ffffff", "#1e2129"


def test_pictures_are_those_of_a_new_run() -> None:
    """A new run of the server and the hooks draws the files of docs/pictures; `make docs` writes them."""
    own = {name: text for name, text in PICTURES.items() if name not in CHARTS}
    assert own == drawn(), "docs/pictures is not current: run make docs"


@pytest.mark.parametrize("name", PICTURES)
def test_picture_has_no_ground_and_no_fixed_colour(name: str) -> None:
    """Every colour is a variable that has a value for light and for dark pages."""
    defined = {f"var(--{name})" for name in re.findall(r"--([\w-]+):", variables())}
    assert variables() in PICTURES[name]
    drawn_with = PICTURES[name].replace(variables(), "")
    assert set(re.findall(r"\b(?:fill|stroke|color): ?([^;\"}]+)", drawn_with)) <= {"none", *defined}
    assert re.findall(r"#[0-9a-f]{6}\b", drawn_with) == []


@pytest.mark.parametrize("name", sorted(PICTURES.keys() - CHARTS))
def test_picture_says_in_words_what_it_shows(name: str) -> None:
    """A title and a description stand in the file, for readers that do not see it."""
    root = ElementTree.fromstring(PICTURES[name])
    title, about, *_ = root
    assert (title.tag, about.tag) == ("{http://www.w3.org/2000/svg}title", "{http://www.w3.org/2000/svg}desc")
    assert title.text
    assert about.text


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_contrast_to_its_ground(dark: bool) -> None:
    """Text on the page and in each box has a contrast of at least 4.5, edges and lines of charts of 3."""
    page = _DARK_PAGE if dark else _WHITE_PAGE
    for name in ("ink", "soft"):
        assert contrast(COLOURS[name][dark], page) >= 4.5, name
    for name in ("series-1", "series-2", "series-3", "series-4"):
        assert contrast(COLOURS[name][dark], page) >= 3, name
    for kind, looks in KINDS.items():
        fill, edge, text = looks[dark]
        ground = page if fill == "none" else fill
        assert contrast(text, ground) >= 4.5, kind
        assert contrast(edge, page) >= 3, kind


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, by the formula of WCAG 2."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_cycle_passes_each_status() -> None:
    """The run of the pictures has each status of an issue and a task, and ends in the history."""
    moments = runs.cycle()
    statuses = {status for moment in moments for status in moment.tasks.values()}
    assert statuses == {"waiting", "ready", "in_progress", "completed"}
    assert {status for moment in moments for status in moment.issues.values()} == {"pending", "decided"}
    assert [moment.cycles for moment in moments] == [0] * (len(moments) - 1) + [1]


def test_session_shows_each_event_and_decision() -> None:
    """The session has the nine events of docs/lifecycle.md but post_tool_use, and each decision of a hook."""
    from nexus_mcp.lifecycle import EVENTS

    seen = sessions.session()
    hooks = [one for one in seen if not one.step.is_tool]
    assert set(list(EVENTS)[:9]) - {one.step.event for one in hooks} == {"post_tool_use"}
    assert {one.answer["decision"] for one in hooks} == {"continue", "allow", "block", "deny"}
    assert [one.step.event for one in hooks if one.answer["warnings"]] == []


def test_missing_excerpt_is_an_error() -> None:
    """An answer without the line that the picture shows is refused, instead of a row without words."""
    step = sessions.Step("x", "turn_end", {}, "No such line")
    with pytest.raises(ValueError, match="no line of the answer begins with 'No such line'"):
        excerpt(sessions.Seen(step, {"decision": "continue", "reason": "Another"}))


def test_arrows_lead_to_later_layers() -> None:
    """Each arrow leads to a later layer, and an arrow across layers gets a waypoint in each."""
    below = {"a": ["b", "d"], "b": ["c"], "c": ["d"], "d": []}
    assert layers(below) == [["a"], ["b"], ["c"], ["d"]]
    split, ways = with_waypoints(below)
    assert ways["a", "d"] == [".a.d.1", ".a.d.2"]
    assert layers(split) == [["a"], ["b", ".a.d.1"], ["c", ".a.d.2"], ["d"]]


def test_rooms_have_the_imports_of_today() -> None:
    """The picture of the rooms names each part of the package, and the arrows that no other implies."""
    parts = rooms.imported_parts()
    found = rooms.arrows()
    assert {name for pair in found for name in pair} == {*parts, "ground"}
    assert ("server", "store") not in found
    assert all(other in parts[part] for part, other in found if other != "ground")
