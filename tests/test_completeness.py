"""Every part of the tests knows each tool, event and doctor check, or names the missing one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path

import nexus_mcp
from nexus_mcp.doctor.checks import CHECKS
from nexus_mcp.doctor.codes import CODES
from nexus_mcp.lifecycle import EVENTS
from nexus_mcp.lifecycle.definition import Row
from nexus_mcp.tools import TOOLS
from tests.conformance.suite import packaged
from tests.doctor.cases import CASES, ELSEWHERE
from tests.miniatures import record
from tests.miniatures.table import MINIATURES
from tests.model.model import WHERE, Model
from tests.mutation.modules import SERVED
from tests.store.test_crashes import CHANGES
from tests.support import READ_ONLY
from tests.unknown_parts import unknown_to

PACKAGE = Path(nexus_mcp.__file__).parent
NAMES = [tool.name for tool in TOOLS]
FIXTURES = packaged()


def assert_all_known(part: str, kind: str, names: Collection[str], known: Iterable[str], add: str) -> None:
    """Fail with a line for each of `names` that is not in `known`; in `add`, * stands for the name."""
    unknown = {*names} - {*known}
    lines = [unknown_to(part, f"{kind} {name}", add.replace("*", name)) for name in names if name in unknown]
    assert not lines, "\n".join(lines)


def modules(folder: str, *others: str) -> list[str]:
    """Return the names of the modules in a folder of the package, without `others`."""
    return sorted({path.stem for path in (PACKAGE / folder).glob("*.py")} - {"__init__", *others})


def module_of(row: Row) -> str:
    """Return the name of the module that a row of EVENTS loads."""
    return row.load().run.__module__.rpartition(".")[2]


def test_every_tool_has_a_row() -> None:
    """A file in tools/ is a row of TOOLS."""
    found = modules("tools", "arguments", "definition")
    assert_all_known("TOOLS", "the tool", found, NAMES, "a row *.TOOL in nexus_mcp/tools/__init__.py")


def test_every_tool_has_fixtures() -> None:
    """A file of fixtures is named for each tool, and one of them calls it."""
    called = {name for one in FIXTURES for name in one.tools if f"/{name}.json" in one.source}
    assert_all_known("suite", "the tool", NAMES, called, "a fixture that calls it in conformance/tools/*.json")


def test_the_model_knows_every_tool() -> None:
    """The model oracle can answer every call."""
    assert_all_known("model oracle", "the tool", NAMES, dir(Model), f"a method * in {WHERE}")


def test_the_crash_matrix_has_every_change() -> None:
    """Every tool that writes is killed at each of its system calls."""
    changing = [name for name in NAMES if name not in READ_ONLY]
    assert_all_known("crash matrix", "the tool", changing, CHANGES, "a call to CHANGES in tests/store/test_crashes.py")


def test_every_tool_and_event_has_mutants() -> None:
    """Every module of a tool or an event is mutated, and tried with the fixtures of the event."""
    served = {name for row in SERVED.values() for name in row}
    of_events = [f"lifecycle/{module_of(row)}" for row in EVENTS.values()]
    wanted = [*(f"tools/{name}" for name in NAMES), *of_events, *(f"event {name}" for name in EVENTS)]
    add = "a row of the module with what it serves to SERVED of tests/mutation/modules.py"
    assert_all_known("mutation table", "the module or event", wanted, {*SERVED, *served}, add)


def test_a_mistake_in_every_tool_and_event_is_caught() -> None:
    """A miniature is wrong about each tool and event, or a fixture of it catches a mutant."""
    of_tools = {name for one in MINIATURES.values() if one.event is None for name in one.tools}
    of_events = {f"event {name}" for one in MINIATURES.values() if one.event is not None for name in one.tools}
    _, rows = record.read()
    mutants = {fixture.test_id for fixture in FIXTURES if rows.get(fixture.test_id, "").startswith("mutant")}
    by_mutants = {name for one in FIXTURES if one.test_id in mutants for name in one.tools}
    wanted = [*NAMES, *(f"event {name}" for name in EVENTS)]
    add = f"a Miniature about * in tests/miniatures/, or a fixture of it that `{record.COMMAND}` finds a mutant for"
    assert_all_known("miniatures", "the", wanted, {*of_tools, *of_events, *by_mutants}, add)


def test_every_event_has_a_row() -> None:
    """A file of lifecycle/ that defines an EVENT is loaded by a row of EVENTS."""
    found = [name for name in modules("lifecycle") if "\nEVENT = " in (PACKAGE / f"lifecycle/{name}.py").read_text()]
    loaded = {module_of(row) for row in EVENTS.values()}
    assert_all_known("EVENTS", "the event", found, loaded, "a row that loads * in nexus_mcp/lifecycle/__init__.py")


def test_every_event_has_fixtures() -> None:
    """Some fixture sends each event."""
    told = {name.removeprefix("event ") for one in FIXTURES for name in one.tools if name.startswith("event ")}
    assert_all_known("suite", "the event", EVENTS, told, "a fixture that tells it in conformance/lifecycle/*.json")


def test_every_check_has_a_row() -> None:
    """Each function of a module of checks whose name begins with `check` is in CHECKS."""
    rows = {f"{check.__module__.rpartition('.')[2]}.{check.__name__}" for check in CHECKS}
    texts = {name: (PACKAGE / "doctor" / "checks" / f"{name}.py").read_text() for name in modules("doctor/checks")}
    found = [
        f"{name}.{one}" for name, text in texts.items() for one in re.findall(r"^def (check\w*)\(", text, re.MULTILINE)
    ]
    assert_all_known("doctor", "the check", found, rows, "a row * in CHECKS of nexus_mcp/doctor/checks/__init__.py")


def test_every_code_has_a_case() -> None:
    """Each code of a finding has a workspace in which doctor finds it."""
    known = {*(case.code for case in CASES), *ELSEWHERE}
    add = "a Case that breaks a healthy workspace so, to CASES of tests/doctor/cases.py"
    assert_all_known("cases of doctor", "the code", CODES, known, add)
