"""`nexus-mcp graph`."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from nexus_mcp.cli import main
from tests.cli import example_history
from tests.cli.support import CHECKOUT, nexus, nexus_on_terminal
from tests.cli.test_history_views import Capture, run, run_json
from tests.rendering.support import many_tasks
from tests.support import Project


@pytest.fixture
def example(project: Project) -> Project:
    example_history.write(project.root)
    return project


def test_text_has_steps_the_path_and_owners(example: Project, capsys: Capture) -> None:
    """Done tasks come first, then each step with its tasks, what they come after, and who does them."""
    code, out, err = run(example, capsys, "graph")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "5 tasks: 1 done · 1 in progress · 1 ready · 2 waiting",
        "Critical path, 3 tasks: 2 → 3 → 5",
        "",
        "Done",
        "✓   1  Agree on the notes  @writer",
        "",
        "Step 1  in progress, or ready to begin",
        "▸   2  Freeze the format  critical path  @engineer",
        "○   4  Write the manual                  @writer",
        "",
        "Step 2  after step 1",
        "·   3  Test on macOS  critical path  after 2",
        "",
        "Step 3  after step 2",
        "·   5  Release  critical path  after 3, 4",
    ]


def test_a_cycle_is_named_first(example: Project, capsys: Capture) -> None:
    """Tasks that can never begin are named above the steps, and are in none of them."""
    example.put("state/tasks.json", {"goal": "", "decisions": [], "tasks": many_tasks()})
    _, out, _ = run(example, capsys, "graph")
    lines = out.splitlines()
    assert lines[1] == "Tasks 196, 197, 198 wait for each other, so none of them can be ready."
    at = lines.index("Stuck  these wait for a cycle or for a missing task")
    assert sum("in a cycle" in line for line in lines[at:]) == 3
    assert sum(line[:1] in "✓▸○·" and line[:1] != "" for line in lines) == 200


@pytest.mark.parametrize("form", ["mermaid", "dot", "svg"])
def test_each_format_is_printed_whole(example: Project, capsys: Capture, form: str) -> None:
    """Each format is the text of one document, of the present tasks or of a closed cycle."""
    for options in ((), ("--history", "2")):
        code, out, err = run(example, capsys, "graph", "--format", form, *options)
        assert (code, err, out[-1]) == (0, "", "\n")
        assert out.startswith({"mermaid": "flowchart LR\n", "dot": "digraph tasks {\n", "svg": "<svg "}[form])
        if form == "svg":
            ET.fromstring(out)
    assert "Document the format" in out


@pytest.mark.parametrize("form", ["mermaid", "dot", "svg"])
def test_a_graph_without_tasks_is_a_document(project: Project, capsys: Capture, form: str) -> None:
    """Without tasks each format is still a document, and says so."""
    code, out, err = run(project, capsys, "graph", "--format", form)
    assert (code, err) == (0, "")
    assert "No tasks" in out


def test_text_without_tasks_names_the_next_step(project: Project, capsys: Capture) -> None:
    """Without tasks there is a sentence."""
    assert run(project, capsys, "graph") == (0, "There are no tasks: task_add adds them.\n", "")


def test_json_keeps_the_schema(example: Project, capsys: Capture) -> None:
    """--json prints the view, and excludes a format."""
    assert run_json(example, capsys, "graph", "graph")["critical_path"] == [2, 3, 5]
    assert run_json(example, capsys, "graph", "graph", "--history", "last")["critical_path"] == []
    code, out, err = run(example, capsys, "graph", "--json", "--format", "dot")
    assert (code, out, err) == (2, "", "nexus-mcp: --json and --format exclude each other. Use one of them.\n")


def test_a_picture_is_not_printed_on_a_terminal(example: Project) -> None:
    """On a terminal an SVG is refused, with what to add to the command."""
    ran = nexus_on_terminal("graph", "--format", "svg", "--project", str(example.root))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith("Add > graph.svg to the command.\n")


def test_svg_without_the_extra_names_it(example: Project) -> None:
    """Without pygraphviz one line names what is to be installed; the other formats work without."""
    code = (
        f"import sys; sys.path.insert(0, {str(CHECKOUT)!r}); sys.modules['pygraphviz'] = None\n"
        f"from nexus_mcp.cli import main; sys.exit(main(sys.argv[1:] + ['--project', {str(example.root)!r}]))"
    )
    for form, wanted in (("svg", 1), ("dot", 0), ("mermaid", 0), ("text", 0)):
        words = [sys.executable, "-c", code, "graph", "--format", form]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == wanted, form
        if wanted:
            assert (done.stdout, done.stderr.count("\n")) == ("", 1)
            assert "Install pygraphviz, which brings Graphviz, into the environment" in done.stderr


def test_a_corrupt_task_list_names_the_next_step(example: Project, capsys: Capture) -> None:
    """tasks.json that cannot be read ends with 1 and one line; a closed cycle is drawn nevertheless."""
    example.put("state/tasks.json", '{"secret')
    code, out, err = run(example, capsys, "graph")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert ".nexus/state/tasks.json" in err
    assert "secret" not in err
    assert main(["graph", "--history", "2", "--project", str(example.root)]) == 0


def test_plain_text_needs_no_library(example: Project) -> None:
    """In a pipe neither rich nor Graphviz is imported, and nothing is wrapped or cut."""
    title = "A title that goes on " * 20
    tasks = [{"id": 1, "title": title, "context": "c", "status": "pending", "deps": [], "created_at": ""}]
    tasks[0]["created_at"] = "2026-11-02T09:00:00.000Z"
    example.put("state/tasks.json", {"goal": "", "decisions": [], "tasks": tasks})
    ran = nexus("graph", cwd=example.root)
    assert title.strip() in ran.out
    code = (
        f"import sys; sys.path.insert(0, {str(CHECKOUT)!r})\n"
        f"from nexus_mcp.cli import main; main(['graph', '--project', {str(example.root)!r}])\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"rich", "pygraphviz", "markdown_it", "nh3", "asyncio"} & set(done.stderr.split())
