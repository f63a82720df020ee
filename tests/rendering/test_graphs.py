"""The graph of tasks as steps, Mermaid, DOT and SVG."""

from __future__ import annotations

import builtins
import re
import sys
import xml.etree.ElementTree as ET
from typing import Any

import pygraphviz
import pytest

from nexus_mcp.cli import task_lines
from nexus_mcp.rendering import layout as places
from nexus_mcp.rendering.dot import dot
from nexus_mcp.rendering.graph_labels import MARKS, WORDS
from nexus_mcp.rendering.mermaid import mermaid
from nexus_mcp.rendering.steps import steps
from nexus_mcp.rendering.svg import svg
from nexus_mcp.rendering.texts import columns
from tests.rendering.support import HOSTILE, graph_of, hostile_tasks, many_tasks, task

SVG = "{http://www.w3.org/2000/svg}"
CHAIN = [
    task(1, status="completed"),
    task(2, status="in_progress", deps=[1]),
    task(3, deps=[2]),
    task(4),
    task(5, deps=[9]),
]
OWN = (
    r"  (n\d+ (-->|==>|-\. cycle \.->) n\d+|classDef \w+ [\w#:,.\- ]+|class [n\d,]+ (critical|cycle)"
    r"|none\[\"No tasks\"\])"
)
LABEL = re.compile(r'^  n\d+[\[({/]+"([^"\n]*)"[\])}/]+:::(\w+)$')


def _ids(nodes: list[dict[str, Any]]) -> list[int]:
    return [node["id"] for node in nodes]


def test_steps_follow_the_dependencies() -> None:
    """Done tasks come apart; each step has what can begin after the one before; the rest is stuck."""
    found = steps(graph_of(CHAIN))
    assert (_ids(found["done"]), [_ids(step) for step in found["steps"]]) == ([1], [[2, 4], [3]])
    assert _ids(found["stuck"]) == [5]
    assert (found["after"][2], found["after"][3], found["after"][5]) == ([], [2], [9])


def test_tasks_in_a_cycle_and_after_it_are_stuck() -> None:
    """A cycle, and what waits for it, is in no step."""
    found = steps(graph_of([task(1, deps=[2]), task(2, deps=[1]), task(3, deps=[2]), task(4)]))
    assert ([_ids(step) for step in found["steps"]], _ids(found["stuck"])) == ([[4]], [1, 2, 3])


def test_a_finished_graph_has_steps_of_all_its_tasks() -> None:
    """Where all is done, as in a closed cycle, the steps say in which order it could be done."""
    tasks = [task(1, status="completed"), task(2, status="completed", deps=[1, 7])]
    found = steps(graph_of(tasks))
    assert ([_ids(step) for step in found["steps"]], found["done"], found["stuck"]) == ([[1], [2]], [], [])


def test_each_task_is_in_one_place() -> None:
    """At 200 tasks each is done, in one step, or stuck, and each step depends on earlier ones only."""
    view = graph_of(many_tasks())
    found = steps(view)
    every = [*found["done"], *(node for step in found["steps"] for node in step), *found["stuck"]]
    assert sorted(_ids(every)) == list(range(1, 201))
    step_of = {node["id"]: at for at, step in enumerate(found["steps"]) for node in step}
    assert all(step_of[dep] < step_of[id_] for id_ in step_of for dep in found["after"][id_])
    assert len(found["stuck"]) >= 3


@pytest.mark.parametrize("tasks", [hostile_tasks(), CHAIN, many_tasks(), []], ids=["hostile", "chain", "many", "none"])
def test_each_line_of_mermaid_is_ours(tasks: list[dict[str, Any]]) -> None:
    """Each node is one line with a quoted label, and no title adds a line, a directive, an entity or a tag."""
    view = graph_of(tasks)
    first, *lines = mermaid(view).splitlines()
    assert first == "flowchart LR"
    labels = [found for line in lines if (found := LABEL.match(line))]
    assert len(labels) == len(view["nodes"])
    rest = [line for line in lines if not LABEL.match(line)]
    assert [line for line in rest if not re.fullmatch(OWN, line)] == []
    for label in labels:
        assert re.sub(r"#\d+;|<br>|\u200d", "", label[1]).isprintable()
        assert set("\"`%{}[]<>&;#$|:*_~^\\'") & set(re.sub(r"#\d+;|<br>", "", label[1])) == set()


def test_pictures_have_the_marks_of_the_terminal() -> None:
    """A state has the same mark in a picture as in the task list."""
    assert {state: mark for state, (mark, _) in task_lines.MARKS.items()} == MARKS


def test_mermaid_marks_path_and_cycles() -> None:
    """The critical path has thick arrows, a cycle has dotted ones with its name; a state is a mark and a word."""
    text = mermaid(graph_of([*CHAIN, task(6, deps=[7]), task(7, deps=[6])]))
    assert "n1 ==> n2" in text
    assert "n6 -. cycle .-> n5" in text
    assert '"✓ 1 Task 1<br>done"]]:::done' in text
    assert '"✗ 9<br>missing"}}:::missing' in text
    assert "class n1,n2 critical" in text


@pytest.mark.parametrize("tasks", [hostile_tasks(), CHAIN, many_tasks(), []], ids=["hostile", "chain", "many", "none"])
def test_dot_is_read_by_graphviz(tasks: list[dict[str, Any]]) -> None:
    """Graphviz reads the file, with a node for each task and an edge for each dependency, and nothing else."""
    view = graph_of(tasks)
    read = pygraphviz.AGraph(dot(view))
    assert set(read.nodes()) == {f"n{at}" for at in range(len(view["nodes"]))} or not tasks
    assert len(read.edges()) == len(view["edges"])
    assert {name for node in read.nodes() for name in node.attr} <= {
        *("label", "shape", "style", "fillcolor", "color", "fontcolor", "penwidth", "fontname", "fontsize"),
    }
    assert len(dot(view).splitlines()) == 5 + max(len(view["nodes"]), 1) + len(view["edges"])


@pytest.mark.parametrize("tasks", [hostile_tasks(), CHAIN, many_tasks(), []], ids=["hostile", "chain", "many", "none"])
def test_svg_has_no_script_and_loads_nothing(tasks: list[dict[str, Any]]) -> None:
    """The picture is well-formed, has only these elements and attributes, and names nothing outside of it."""
    text = svg(graph_of(tasks))
    root = ET.fromstring(text)
    assert {element.tag for element in root.iter()} <= {
        f"{SVG}{name}" for name in ("svg", "title", "style", "g", "rect", "path", "circle", "text", "tspan")
    }
    names = {name for element in root.iter() for name in element.attrib}
    assert not [name for name in names if name.startswith("on") or "href" in name or name == "style"]
    style = root.findtext(f"{SVG}style")
    assert style is not None
    assert not re.search(r"url\(|@import|expression", style)
    assert "prefers-color-scheme:dark" in style
    assert "<!" not in text
    assert re.findall(r"https?://[^\s\"<]+", text.replace("http://example.invalid", "")) == [
        "http://www.w3.org/2000/svg"
    ]


def test_svg_shows_hostile_titles_as_text() -> None:
    """Each title is the text of a tooltip, with its invisible characters as escapes."""
    root = ET.fromstring(svg(graph_of(hostile_tasks())))
    tooltips = [element.text or "" for element in root.iter(f"{SVG}title")]
    assert any(HOSTILE[0] in text for text in tooltips)
    assert any("\\x1b[31mred \\u202eevil" in text for text in tooltips)
    assert any("\U0001f469\u200d\U0001f4bb" in text for text in tooltips)


def test_each_state_has_a_mark_a_word_and_a_border() -> None:
    """The states differ in the shape of their mark and in a word; path and cycles have a word, too."""
    root = ET.fromstring(svg(graph_of([*CHAIN, task(6, deps=[6])])))
    cards = [group for group in root.iter(f"{SVG}g") if group.find(f"{SVG}title") is not None]
    words, marks = {}, {}
    for card in cards:
        state = card.attrib["class"].split()[0]
        words[state] = "".join(card.itertext())
        mark = card.find(f"{SVG}g")
        assert mark is not None
        marks[state] = ET.tostring(mark[0])
    assert set(words) == set(WORDS)
    assert all(WORDS[state] in text for state, text in words.items())
    assert len(set(marks.values())) == len(WORDS) == len(set(MARKS.values()))
    badges = [element.text for element in root.iter(f"{SVG}text") if element.get("class") == "badge-text"]
    assert sorted(set(filter(None, badges))) == ["critical path", "cycle"]


def test_cards_do_not_overlap_at_200_tasks() -> None:
    """Each card has its own place within the picture, and each arrow ends at its card."""
    view = graph_of(many_tasks())
    found = places.layout(view)
    cards = found["cards"]
    for at, (x, y) in enumerate(cards):
        assert 0 <= x <= found["width"] - places.CARD_WIDTH + 1
        assert 0 <= y <= found["height"] - places.CARD_HEIGHT + 1
        for other_x, other_y in cards[:at]:
            assert abs(x - other_x) >= places.CARD_WIDTH or abs(y - other_y) >= places.CARD_HEIGHT
    number = {node["id"]: at for at, node in enumerate(view["nodes"])}
    for edge, points in zip(view["edges"], found["arrows"], strict=True):
        x, y = cards[number[edge["to"]]]
        end_x, end_y = points[-1]
        assert -15 <= end_x - x <= places.CARD_WIDTH + 15
        assert -15 <= end_y - y <= places.CARD_HEIGHT + 15


def test_tasks_without_dependencies_are_in_a_grid() -> None:
    """Many tasks without a dependency are placed in rows of several, not in one column."""
    found = places.layout(graph_of([task(id_) for id_ in range(1, 30)]))
    assert found["width"] < 4 * found["height"] < 16 * found["width"]
    assert len({x for x, _ in found["cards"]}) == 4


def test_a_large_graph_is_laid_out_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    """More than 1000 tasks in pairs are laid out, and nothing is printed."""
    tasks = [task(id_, deps=[id_ - 1] if id_ % 2 == 0 else []) for id_ in range(1, 1103)]
    assert len(places.layout(graph_of(tasks))["cards"]) == 1102
    assert capfd.readouterr() == ("", "")


def test_svg_without_graphviz_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pygraphviz the error names the command that installs it, and the formats that need nothing."""
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name == "pygraphviz":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "pygraphviz")
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(places.GraphvizMissing, match="Install pygraphviz, which brings Graphviz, into the environment"):
        svg(graph_of(CHAIN))
    assert "Task 1" in svg(graph_of([task(1)]))


def test_titles_fit_their_cards() -> None:
    """A title has two lines at most, each within the card by an estimate of its width, and `…` where it is cut."""
    titles = ("W" * 80, "한" * 80, "word " * 40, "a" * 300)
    root = ET.fromstring(svg(graph_of([task(at, title) for at, title in enumerate(titles, 1)])))
    for card in (element for element in root.iter(f"{SVG}g") if element.find(f"{SVG}title") is not None):
        inner = card.find(f"{SVG}svg")
        assert inner is not None
        lines = [element.text or "" for element in inner]
        assert len(lines) == 2
        assert lines[-1].endswith("…")
        assert all(columns(line) <= 34 for line in lines)
