"""Allowed imports between modules, and the length of modules, read from the sources."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "nexus_mcp"
MIN_LINES, MAX_LINES = 40, 450

# Each part of the package, and the parts it may import beside itself. Imports go downwards only.
BASE = ("errors", "log", "packaged", "program", "progress", "quoting", "schemas", "wording", "workspace", "worktree")
RULES = (*BASE, "state", "store")
TABLES = (*RULES, "catalog", "knowledge", "briefing", "tags", "tools", "lifecycle", "harness")
PARTS = {
    "errors": ("program", "quoting"),
    "log": (),
    "packaged": (),
    "program": ("quoting",),
    "progress": (),
    "quoting": ("log",),
    "schemas": ("packaged",),
    "wording": (),
    "workspace": ("errors",),
    "worktree": (),
    "remote": ("errors",),
    "state": BASE,
    "store": (*BASE, "state"),
    "catalog": (*RULES, "tools"),
    "knowledge": RULES,
    "briefing": (*RULES, "catalog", "knowledge"),
    "tags": (*RULES, "catalog", "knowledge", "merging"),
    "tools": RULES,
    "lifecycle": (*RULES, "catalog", "knowledge", "briefing", "tags"),
    "harness": (*RULES, "catalog", "lifecycle", "remote"),
    "merging": RULES,
    "doctor": (*RULES, "catalog", "knowledge", "tags", "merging", "harness"),
    "views": (*RULES, "knowledge"),
    "rendering": (*BASE, "state", "views"),
    "web": BASE,
    "board": (*RULES, "views", "doctor", "web"),
    "run": (*RULES, "catalog", "knowledge", "briefing", "tags", "tools", "harness"),
    "server": (*TABLES, "web"),
    "conformance": ("errors", "packaged", "schemas", "wording"),
    "cli": (
        *(*TABLES, "remote", "merging", "doctor", "views", "rendering", "web", "board", "run", "server"),
        "conformance",
    ),
    "__main__": ("cli",),
}
# The rooms of the conformance suite, lowest first. What is imported for types alone does not count.
ROOMS = (
    *("limits", "failures", "stopping", "document", "processes"),
    *("result", "evidence", "jsonpath", "matchers", "fixture", "tokens"),
    *("authoring", "checks", "settings", "loading", "lint"),
    *("client", "target", "trial", "runner"),
    *("report", "pytest_plugin"),
)
MCP_MODULES = {
    "server/sdk/exchange.py",
    "server/sdk/extension.py",
    "server/sdk/handlers.py",
    "server/sdk/measuring.py",
    "server/sdk/pump.py",
    "server/sdk/reporting.py",
    "server/sdk/subscribing.py",
    "server/http/mounts.py",
    "conformance/client/connection.py",
    "conformance/client/transport.py",
}
# Of the extra `graph`: imported when a picture is drawn, not before.
GRAPHVIZ_MODULES = {"rendering/layout.py"}
# Of the extra `otel`: imported when a variable asks for it.
OTEL_MODULES = {"server/otel/exporting.py", "server/otel/observer.py"}
# pytest is there when it loads these; nothing else of the package imports them.
PYTEST_MODULES = {f"conformance/pytest_plugin/{name}.py" for name in ("__init__", "items", "options")}
# Modules that may be shorter: heads of packages, and rows of tables. A row of a part in ROWS assigns that name, and
# each module of a folder in ROW_FOLDERS is a row. SHORT_MODULES has the other ones, and why they stay.
HEADS = ("__init__", "__main__")
ROWS = {"cli": "COMMAND", "lifecycle": "EVENT", "tools": "TOOL"}
ROW_FOLDERS = ("doctor/checks",)
SHORT_MODULES = {
    "cli/remote_options.py": "each hook imports it; in workspace_options it would make the stdio start import remote/",
    "cli/run/typed_run.py": "imports dataclasses, which the help of `run` does not need",
    "harness/plain_read.py": "the hooks of plugins import it, and no other reader of configuration files",
    "lifecycle/session_limit.py": "only edits in a session of a run with a path limit import it",
    "packaged.py": "the lowest part of the package: schemas, catalog and suite import it",
    "store/history/memory.py": "every store has a memory, but most hooks never import the history",
    "views/report.py": "a view: each view has its own module",
}
# What a distribution is called when that is not the name it is imported by.
IMPORTED_AS = {
    "jsonpath-rfc9535": {"jsonpath_rfc9535"},
    "markdown-it-py": {"markdown_it"},
    "mcp": {"mcp", "mcp_types"},
    "pyjwt": {"jwt"},
    "prometheus-client": {"prometheus_client"},
    "pyyaml": {"yaml"},
    "sse-starlette": {"sse_starlette"},
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imports(source: str) -> Iterator[str]:
    """The full names a module imports, anywhere in it: `from a import b` may mean the module a.b, so both count."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where they lead"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def part_of(path: Path) -> str:
    """The part a module belongs to, "" for the package's own __init__."""
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def upwards(room: str, source: str) -> set[str]:
    """The rooms of the suite that a module of `room` imports when it runs and that are not below it."""
    tree = ast.parse(source)
    for node in [*ast.walk(tree)]:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    names = [name.split(".") for name in imports(ast.unparse(tree))]
    found = {name[2] for name in names if name[:2] == ["nexus_mcp", "conformance"]}
    return found - {room, *ROOMS[: ROOMS.index(room)]}


def foreign(source: str) -> set[str]:
    """The top-level names a module imports from outside the package and the standard library."""
    names = {name.split(".")[0] for name in imports(source)}
    return names - set(sys.stdlib_module_names) - {"nexus_mcp"}


def crossings(part: str, source: str) -> set[str]:
    """The parts that a module of `part` imports and may not."""
    found = {name.split(".")[1] for name in imports(source) if name.startswith("nexus_mcp.")} - {"__version__"}
    return found - {part, *PARTS.get(part, ())}


def test_every_part_is_known() -> None:
    """Every module belongs to a part of the table."""
    assert {part_of(path) for path in modules()} - {"", *PARTS} == set()


def test_no_module_imports_upwards() -> None:
    """No module imports a part that is not below its own."""
    wrong = {
        path.relative_to(PACKAGE).as_posix(): found
        for path in modules()
        if (found := crossings(part_of(path), path.read_text(encoding="utf-8")))
    }
    assert wrong == {}, f"{wrong}: if the imported room is lower (docs/architecture.md), add it to PARTS of this file"


def test_the_table_has_no_circle() -> None:
    """The parts can be put in an order in which each imports only earlier ones."""
    placed: set[str] = set()
    while ready := {part for part, below in PARTS.items() if part not in placed and placed.issuperset(below)}:
        placed |= ready
    assert placed == set(PARTS)


def files_in_circles() -> set[str]:
    """Return the modules that import each other in a circle, or import those; lazy and type-checking imports count."""
    names = {_dotted(path): path for path in modules()}
    left = {name: _imported_files(path, names) - {name} for name, path in names.items()}
    while ready := {name for name, below in left.items() if not below & left.keys()}:
        left = {name: below for name, below in left.items() if name not in ready}
    return set(left)


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _imported_files(path: Path, names: dict[str, Path]) -> set[str]:
    source = path.read_text(encoding="utf-8")
    found = {name if name in names else name.rpartition(".")[0] for name in imports(source)}
    # A table imports its rows by names that it holds as texts.
    tables = re.findall(r'(?:__import__|import_module)\(f"(nexus_mcp[.\w]*)\.\{', source)
    texts = {*re.findall(r'"(\w+)"', source)}
    rows = {name for name in names if name.rpartition(".")[0] in tables and name.rpartition(".")[2] in texts}
    return {name for name in found | rows if name.startswith("nexus_mcp.")}


def test_no_file_imports_itself_through_others() -> None:
    """The files of the package can be put in an order in which each imports only earlier ones."""
    assert files_in_circles() == set()


def test_rooms_of_the_suite_import_only_lower_ones() -> None:
    """A room of the conformance suite imports only rooms that are below it."""
    suite = [path for path in modules() if part_of(path) == "conformance"]
    rooms = {path: path.relative_to(PACKAGE / "conformance").parts[0].removesuffix(".py") for path in suite}
    assert set(rooms.values()) == {"__init__", *ROOMS}
    wrong = {
        str(path.relative_to(PACKAGE)): found
        for path, room in rooms.items()
        if room != "__init__" and (found := upwards(room, path.read_text(encoding="utf-8")))
    }
    assert wrong == {}


def test_mcp_stays_in_its_rooms() -> None:
    """The SDK is imported in these modules, nowhere else."""
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in modules()
        if foreign(path.read_text(encoding="utf-8")) & IMPORTED_AS["mcp"]
    }
    assert users - MCP_MODULES == set()


def test_declared_dependencies_are_the_imported_ones() -> None:
    """The declared dependencies are the imported packages; pytest is imported only where pytest runs the code."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.split(r"[^\w-]", text)[0] for text in project["dependencies"]}
    users = {path.relative_to(PACKAGE).as_posix(): foreign(path.read_text(encoding="utf-8")) for path in modules()}
    assert {name for name, found in users.items() if "pytest" in found} == PYTEST_MODULES
    assert {name for name, found in users.items() if "pygraphviz" in found} == GRAPHVIZ_MODULES
    assert {name for name, found in users.items() if "opentelemetry" in found} == OTEL_MODULES
    assert project["optional-dependencies"].keys() == {"pytest", "graph", "otel"}
    used = set().union(*users.values()) - {"pytest", "pygraphviz", "opentelemetry"}
    named = {name: next((dist for dist, as_ in IMPORTED_AS.items() if name in as_), name) for name in used}
    assert set(named.values()) == declared


@pytest.mark.parametrize("folder", ["nexus_mcp", "tests", "benchmarks", "docs"])
def test_no_module_is_longer_than_450_lines(folder: str) -> None:
    """No module is longer than 450 lines."""
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / folder).rglob("*.py")}
    assert {str(path.relative_to(ROOT)): n for path, n in lengths.items() if n > MAX_LINES} == {}


def is_row(path: Path, source: str) -> bool:
    """Return whether a module is a row of a table."""
    name = ROWS.get(part_of(path))
    found = {
        ast.unparse(one) for node in ast.parse(source).body if isinstance(node, ast.Assign) for one in node.targets
    }
    return path.parent.relative_to(PACKAGE).as_posix() in ROW_FOLDERS or name in found


def short_modules() -> set[str]:
    """Return the modules with fewer than 40 lines that are neither a head nor a row."""
    sources = {path: path.read_text(encoding="utf-8") for path in modules() if path.stem not in HEADS}
    short = {path: source for path, source in sources.items() if len(source.splitlines()) < MIN_LINES}
    return {path.relative_to(PACKAGE).as_posix() for path, source in short.items() if not is_row(path, source)}


def test_no_module_is_shorter_than_40_lines() -> None:
    """A short module is merged into its user, or the table says why it is not; each entry of the table is needed."""
    assert short_modules() == SHORT_MODULES.keys(), "merge it into the module that uses it, or see SHORT_MODULES"


@pytest.mark.parametrize(
    ("place", "source", "expected"),
    [
        ("tools/task_list.py", "TOOL = Tool()", True),
        ("cli/run/show.py", "COMMAND = Command()", True),
        ("doctor/checks/lock.py", "", True),
        ("tools/helper.py", "def run(): TOOL = 1", False),
        ("store/lock.py", "TOOL = Tool()", False),
    ],
)
def test_row_is_found_by_its_part_and_name(place: str, source: str, expected: bool) -> None:
    """A module is a row if it assigns the name that its part requires, or if its folder has only rows."""
    assert is_row(PACKAGE / place, source) == expected


@pytest.mark.parametrize(
    ("part", "source", "found"),
    [
        ("state", "from nexus_mcp.store import lock", {"store"}),
        ("state", "from nexus_mcp import store", {"store"}),
        ("state", "def f():\n    import nexus_mcp.tools.context", {"tools"}),
        ("tools", "from nexus_mcp.lifecycle.events import EVENTS", {"lifecycle"}),
        ("conformance", "if TYPE_CHECKING:\n    from nexus_mcp.tools import TOOLS", {"tools"}),
        ("store", "from nexus_mcp.state.plan import x\nimport json\nfrom nexus_mcp import __version__", set()),
    ],
)
def test_walk_finds_every_form_of_import(part: str, source: str, found: set[str]) -> None:
    """An upward import is detected in every spelling, and a permitted one is not."""
    assert crossings(part, source) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from nexus_mcp.conformance.runner import run", {"runner"}),
        ("from nexus_mcp.conformance import report", {"report"}),
        ("def f():\n    import nexus_mcp.conformance.trial.steps", {"trial"}),
        ("if TYPE_CHECKING:\n    from nexus_mcp.conformance.target import Target", set()),
        (
            "from nexus_mcp.conformance.processes import orphans\nfrom nexus_mcp.conformance.client import answers",
            set(),
        ),
    ],
)
def test_the_walk_sees_rooms(source: str, found: set[str]) -> None:
    """An import of a package above is detected in every spelling, and one for types alone is not."""
    assert upwards("client", source) == found
