"""The pytest plug-in, in the pytest of another project: one test for each fixture, and nothing without its option."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.other_project import HOOK, SERVER, Elsewhere

STATUS: dict[str, Any] = {
    "test_id": "status_of_nothing",
    "description": "Without a plan the status is inactive.",
    "action": {"tool": "plan_status", "params": {}},
    "postcondition": {"return_value": {"$.active": False}},
}
WRONG: dict[str, Any] = {
    "test_id": "status_of_something",
    "description": "Without a plan there is one all the same.",
    "action": {"tool": "plan_status", "params": {}},
    "postcondition": {"return_value": {"$.active": True, "$.issues[0].title": "A"}},
}
EVENT: dict[str, Any] = {
    "test_id": "end_of_a_session",
    "description": "The end of a session makes the record of notes.",
    "event": {"type": "session_end", "params": {}},
    "postcondition": {"state_files": {"{STATE_ROOT}/{HARNESS_ID}/memory-access.jsonl": {}}},
}
TASKS: dict[str, Any] = {
    "test_id": "tasks_of_nothing",
    "description": "Without a task file there are no tasks.",
    "action": {"tool": "task_list", "params": {}},
    "postcondition": {"return_value": {"$.exists": False}},
}


@pytest.fixture
def elsewhere(tmp_path: Path) -> Elsewhere:
    return Elsewhere(tmp_path / "elsewhere")


def test_each_fixture_becomes_a_test(elsewhere: Elsewhere) -> None:
    """Each fixture is a test below `nexus`, beside the tests of the project."""
    fixtures = elsewhere.put("fixtures.json", [STATUS, TASKS])
    ran = elsewhere.pytest("--nexus-fixtures", fixtures)
    assert ran.tests == {
        "test_own.py::test_own": "PASSED",
        "nexus::status_of_nothing": "PASSED",
        "nexus::tasks_of_nothing": "PASSED",
    }
    assert ran.code == 0


def test_failure_shows_assertions_and_requests(elsewhere: Elsewhere) -> None:
    """A failure shows the fact, each assertion with the expected and the actual value, the requests and the
    responses.
    """
    fixtures = elsewhere.put("fixtures.json", [STATUS, WRONG])
    ran = elsewhere.pytest("--nexus-fixtures", fixtures, "nexus")
    assert ran.tests == {"nexus::status_of_nothing": "PASSED", "nexus::status_of_something": "FAILED"}
    assert ran.code == 1
    shown = ran.out.partition("nexus::status_of_something __")[2].splitlines()[1:]
    assert shown[0] == WRONG["description"]
    assert shown[3:12] == [
        "answer: $.active",
        "    expected: true",
        "    seen:     false",
        "answer: $.issues[0].title",
        '    expected: "A"',
        "    seen:     missing; nearest parent $",
        "",
        "plan_status {}",
        '  answer: {"active": false}',
    ]


def test_not_run_is_skipped(elsewhere: Elsewhere) -> None:
    """A fixture that the target cannot run is skipped with the reason; with a command for events it runs."""
    fixtures = elsewhere.put("fixtures.json", EVENT)
    ran = elsewhere.pytest("--nexus-fixtures", fixtures, "nexus")
    assert (ran.code, "needs --nexus-event-command" in ran.out) == (0, True)
    assert "1 skipped" in ran.out
    asked = elsewhere.pytest("--nexus-fixtures", fixtures, "--nexus-event-command", HOOK, "nexus")
    assert (asked.code, asked.tests) == (0, {"nexus::end_of_a_session": "PASSED"})


def test_expected_failure_is_a_strict_xfail(elsewhere: Elsewhere) -> None:
    """An expected failure is an xfail with its reason; one that passes now fails."""
    fixtures = elsewhere.put("fixtures.json", [STATUS, WRONG])
    listed = elsewhere.put("expected.yml", "status_of_something: knows no better\n")
    ran = elsewhere.pytest("--nexus-fixtures", fixtures, "--nexus-expected-failures", listed, "nexus")
    assert ran.tests == {"nexus::status_of_nothing": "PASSED", "nexus::status_of_something": "XFAIL"}
    assert (ran.code, "knows no better" in ran.out) == (0, True)
    listed = elsewhere.put("expected.yml", "status_of_nothing: healed meanwhile\nstatus_of_something: no better\n")
    ran = elsewhere.pytest("--nexus-fixtures", fixtures, "--nexus-expected-failures", listed, "nexus")
    assert ran.tests == {"nexus::status_of_nothing": "FAILED", "nexus::status_of_something": "XFAIL"}
    assert (ran.code, "[XPASS(strict)] healed meanwhile" in ran.out) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("-k", "something"), ["nexus::status_of_something"]),
        (("-k", "task_list"), ["nexus::tasks_of_nothing"]),
        (("-m", "nexus", "-k", "not tasks"), ["nexus::status_of_nothing", "nexus::status_of_something"]),
        (("nexus::tasks_of_nothing",), ["nexus::tasks_of_nothing"]),
        (("test_own.py::test_own", "nexus::tasks_of_nothing"), ["nexus::tasks_of_nothing", "test_own.py::test_own"]),
        (
            ("nexus::tasks_of_nothing", "nexus::status_of_nothing", "--deselect", "nexus::status_of_nothing"),
            ["nexus::tasks_of_nothing"],
        ),
    ],
    ids=" ".join,
)
def test_fixtures_are_selected_by_id_tool_and_marker(
    elsewhere: Elsewhere, arguments: tuple[str, ...], names: list[str]
) -> None:
    """-k finds fixtures by id and by tool, -m by the marker; an id of a test chooses it, also with --strict-markers."""
    fixtures = elsewhere.put("fixtures.json", [STATUS, WRONG, TASKS])
    ran = elsewhere.pytest("--nexus-fixtures", fixtures, "--strict-markers", "--collect-only", "-q", *arguments)
    assert (ran.code, sorted(re.findall(r"^\S+::\S+$", ran.out, re.MULTILINE))) == (0, names)


def test_packaged_fixtures_are_the_default(elsewhere: Elsewhere) -> None:
    """Without --nexus-fixtures the packaged fixtures are the tests."""
    from tests.conformance.suite import packaged

    ran = elsewhere.pytest("--collect-only", "-q", "nexus")
    found = re.findall(r"^nexus::(\S+)$", ran.out, re.MULTILINE)
    assert (ran.code, found) == (0, [fixture.test_id for fixture in packaged()])


def test_options_set_names_and_variables(elsewhere: Elsewhere) -> None:
    """A prefix or a map gives the target's names; variables, the harness and the time limit reach the run."""
    fixtures = elsewhere.put("fixtures.json", [STATUS, EVENT])
    names = elsewhere.put("map.yml", "plan_status: nx_plan_status\n")
    common = ("--nexus-fixtures", fixtures, "nexus::status_of_nothing")
    prefixed = f"{SERVER} --tool-prefix nx_"
    options = ("--nexus-tool-prefix", "nx_", "--nexus-env", "NEXUS_LOG=info", "--nexus-timeout", "30")
    loud = elsewhere.pytest(*common, *options, server=prefixed)
    assert (loud.code, "nexus-mcp: info: serving" in loud.out) == (0, True)
    assert elsewhere.pytest(*common, "--nexus-tool-map", names, server=prefixed).code == 0
    without = elsewhere.pytest(*common, server=prefixed)
    assert (without.code, "use --nexus-tool-prefix nx_" in without.out) == (4, True)
    asked = elsewhere.pytest(
        "--nexus-fixtures",
        fixtures,
        "nexus::end_of_a_session",
        "--nexus-harness-id",
        "other",
        "--nexus-event-command",
        f"{HOOK} --harness-id other",
    )
    assert (asked.code, asked.tests) == (0, {"nexus::end_of_a_session": "PASSED"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--nexus-fixtures", "gone"), "no such file or folder"),
        (("--nexus-fixtures", "typo.json"), "descripton"),
        (("nexus::status_of_nothin",), "no fixture has the id status_of_nothin; did you mean status_of_nothing?"),
        (("--nexus-timeout", "soon"), "--nexus-timeout 'soon' is not a number of seconds above 0"),
        (("--nexus-env", "A"), "--nexus-env needs KEY=VALUE"),
        (("--nexus-event-command", "hook"), "--nexus-event-command needs {type} where the event's type belongs."),
        (("--nexus-harness-id", "A b"), "--nexus-harness-id 'A b' is not a harness id"),
        (("--nexus-expected-failures", "gone.yml"), "gone.yml: could not be read: No such file or directory"),
        (("--nexus-server", ""), "--nexus-server needs a command, not ''"),
        (("--nexus-server", "no-such-command-anywhere"), "no-such-command-anywhere"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_unusable_suite_is_a_usage_error(elsewhere: Elsewhere, arguments: tuple[str, ...], message: str) -> None:
    """An unusable suite or target is a usage error, without a traceback."""
    fixtures = elsewhere.put("fixtures.json", STATUS)
    elsewhere.put("typo.json", {**TASKS, "descripton": "x"})
    given = ("--nexus-fixtures", fixtures) if "--nexus-fixtures" not in arguments else ()
    ran = elsewhere.pytest(*given, *arguments)
    assert (ran.code, message in ran.out, "Traceback" in ran.out) == (4, True, False), ran.out


def test_plugin_does_nothing_without_its_option(elsewhere: Elsewhere) -> None:
    """Without --nexus-server nothing is added, and nothing of the suite or of the client is imported."""
    elsewhere.put(
        "test_own.py",
        "import sys\n\n\ndef test_own():\n"
        "    ours = {name for name in sys.modules if name.startswith('nexus_mcp')}\n"
        "    plugin = 'nexus_mcp.conformance.pytest_plugin'\n"
        "    assert ours == {'nexus_mcp', 'nexus_mcp.conformance', plugin, f'{plugin}.options'}\n"
        "    assert not {'mcp', 'rich', 'yaml', 'psutil', 'jsonpath_rfc9535'}.intersection(sys.modules)\n",
    )
    ran = elsewhere.pytest("--nexus-fixtures", "gone", "--nexus-tool-prefix", "nx_", server=None)
    assert (ran.code, ran.tests) == (0, {"test_own.py::test_own": "PASSED"})


def test_junit_xml_has_the_fixtures(elsewhere: Elsewhere) -> None:
    """The JUnit XML of pytest has the fixtures like any other tests."""
    fixtures = elsewhere.put("fixtures.json", [STATUS, WRONG])
    elsewhere.pytest("--nexus-fixtures", fixtures, "--junit-xml", "out.xml", "nexus")
    cases = ET.parse(elsewhere.root / "out.xml").iter("testcase")
    assert [(case.get("classname"), case.get("name"), [part.tag for part in case]) for case in cases] == [
        ("nexus", "status_of_nothing", []),
        ("nexus", "status_of_something", ["failure"]),
    ]
