"""`conformance explain`: a fixture in words."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from nexus_mcp.conformance.authoring.contract import rules
from nexus_mcp.conformance.authoring.explain import explain, explain_rule
from nexus_mcp.conformance.fixture import RUN
from tests.cli.support import nexus
from tests.conformance.suite import packaged
from tests.conformance.support import made

ADD: dict[str, Any] = {"action": {"tool": "task_add", "params": {"title": "T"}}}


def test_every_fixture_can_be_explained() -> None:
    """The explanation of each packaged fixture has its id, its fact, and every tool and event that it uses."""
    for fixture in packaged():
        text = explain(fixture)
        assert text.startswith(f"{fixture.test_id}\n  {fixture.description}\n")
        assert [name for name in fixture.tools if name != RUN and name not in text] == []
        assert ("run the executor" in text) is fixture.needs_run
        assert f"--only {fixture.test_id}" in text


def test_single_call_is_explained() -> None:
    """The files before, the call, and all that has to hold afterwards are there, each in a line."""
    fixture = made(
        ADD,
        level="basic",
        covers={"description": "The first id."},
        precondition={
            "state_files": {".nexus/state/plan.json": None, ".nexus/history.json": {"cycles": []}},
            "files": {
                "a": "x",
                "b": {"symlink": "a"},
                "c": {"directory": True},
                "d": {"base64": base64.b64encode(b"\xff").decode()},
            },
            "git": False,
        },
        postcondition={
            "return_value": {
                "$.task.id": 1,
                "$.gone": None,
                "$": {"keys": ["task"]},
                "$.n": {"type": "number", "min": 2},
            },
            "state_files": {"x.json": None, "y.json": {}, "z.json": {"text": "{}\n", "$.a": {"keys": []}}},
            "unchanged": ["w.json"],
        },
    )
    assert explain(fixture).splitlines() == [
        "made",
        "  Made by a test.",
        "",
        "level basic; made.json",
        "Covers: The first id.",
        "",
        "Before:",
        "  an empty folder in no git repository",
        "  .nexus/state/plan.json does not exist",
        '  .nexus/history.json has {"cycles": []}',
        '  a is a file with "x"',
        "  b is a link to a",
        "  c is an empty folder",
        "  d is a file with 1 bytes that are no UTF-8",
        "",
        'call task_add {"title": "T"}',
        "",
        "Afterwards:",
        "  answer: $.task.id is 1",
        "  answer: $.gone is null or missing",
        "  answer: $ has exactly the keys task",
        "  answer: $.n is of type number and is at least 2",
        "  x.json does not exist",
        "  y.json exists",
        '  z.json: its text is "{}\\n"',
        "  z.json: $.a has exactly the keys (none)",
        "  unchanged: w.json",
        "",
        "In every fixture: a call fails only where an error is expected, the text block is the JSON of",
        "structuredContent, and no file outside .nexus/ changes.",
        "",
        'Run it alone: nexus-mcp conformance run --server "…" --only made',
    ]


@pytest.mark.parametrize(
    ("step", "line"),
    [
        ({**ADD, "times": 3, "description": "Again."}, 'Step 1: call task_add {"title": "T"}, 3 times (Again.)'),
        ({**ADD, "assert_error": "no"}, '  the answer is an error, and its message has "no"'),
        ({**ADD, "assert_error": True}, "  the answer is an error"),
        ({**ADD, "assert_unchanged": True}, "  no file has changed"),
        ({**ADD, "assert_result": {"$.isError": True}}, "  whole result: $.isError is true"),
        ({"event": {"type": "spawn", "description": "It starts."}}, "Step 1: event spawn {} (It starts.)"),
        ({"list_tools": ["a", "b"]}, "Step 1: look at the list of tools: a, b"),
        ({"restart": True}, "Step 1: end the server by closing its stdin, and start it again"),
        ({"write_file": {"path": "a", "text": "x"}}, 'Step 1: another program writes a: "x"'),
        ({"write_file": {"path": "a", "symlink": "b"}}, "Step 1: another program makes a a link to b"),
        ({"write_file": {"path": "a", "absent": True}}, "Step 1: another program deletes a"),
        (
            {"kill": {**ADD, "seed": 1, "retry": True}},
            'Step 1: call task_add {"title": "T"}, and kill the server within 20 ms; without an answer the call is '
            "repeated",
        ),
        ({"parallel": [[ADD], [ADD]]}, '  server 2: call task_add {"title": "T"}'),
    ],
)
def test_each_kind_of_step_has_its_words(step: dict[str, Any], line: str) -> None:
    """Each kind of step, and each kind of assertion, has a line."""
    assert line in explain(made(step, {"restart": True})).splitlines()


@pytest.mark.parametrize(
    ("step", "options"),
    [
        (ADD, '--server "…" --only made'),
        ({"event": {"type": "session_end"}}, '--server "…" --event-command "… {type}" --only made'),
        ({"run": {"words": []}}, '--run-command "… {status}" --only made'),
    ],
)
def test_line_that_runs_the_fixture_has_what_it_needs(step: dict[str, Any], options: str) -> None:
    """The last line has the command of events where one is needed."""
    assert explain(made(step)).splitlines()[-1] == f"Run it alone: nexus-mcp conformance run {options}"


def test_line_that_runs_a_fixture_of_your_own_names_its_files() -> None:
    """The last line names the files that were chosen, quoted for a shell."""
    last = explain(made(ADD), ["mine.json", "two words"]).splitlines()[-1]
    assert last.endswith("--server \"…\" --fixtures mine.json --fixtures 'two words' --only made")


def test_long_values_are_shortened() -> None:
    """A value of thousands of characters is cut."""
    long = {"action": {"tool": "task_add", "params": {"title": "x" * 5000}}}
    assert len(explain(made(long))) < 3000


def test_command_explains_a_fixture_and_suggests_ids() -> None:
    """The command prints the explanation; for an unknown id it names a similar one."""
    ran = nexus("conformance", "explain", "task_add_starts_numbering_at_1")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("task_add_starts_numbering_at_1\n  In a list without tasks the first id is 1.\n")
    ran = nexus("conformance", "explain", "task_add_starts_numbering_at_2")
    assert (ran.code, ran.out) == (2, "")
    assert "did you mean task_add_starts_numbering_at_1?" in ran.err


def test_every_rule_can_be_explained() -> None:
    """The explanation of a rule has its text and the fixtures that judge it, or the reason why none does."""
    fixtures = packaged()
    for rule in rules():
        text = explain_rule(rule, fixtures)
        head, _, rest = text.partition("\n\n")
        assert " ".join(head.split()) == f"{rule.id} {rule.text}"
        judging = [fixture.test_id for fixture in fixtures if rule.is_judged_by(fixture.test_id)]
        assert [line.split()[0] for line in rest.splitlines() if line.startswith("  ")] == judging
        assert bool(judging) is not rest.startswith("Not judged: ")


def test_rule_without_a_chosen_fixture() -> None:
    """With fixtures of another suite the explanation says that none of them judges the rule."""
    rule = next(rule for rule in rules() if rule.id == "task_update.4")
    assert explain_rule(rule, [made(ADD)]).endswith("\n\nNone of the chosen fixtures judges it.")


def test_command_explains_a_rule_and_suggests_rules() -> None:
    """The command prints the rule with its fixtures; for an unknown id with a dot it names a similar rule."""
    ran = nexus("conformance", "explain", "task_update.4")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "task_update.4",
        "  `status` is one of three words, in this spelling.",
        "",
        "These fixtures judge it:",
        "  task_update_knows_three_statuses  full; tools/task_update.json",
        "",
        "To see what one of them sends and expects: nexus-mcp conformance explain FIXTURE",
    ]
    ran = nexus("conformance", "explain", "task_updat.4")
    assert (ran.code, ran.out) == (2, "")
    assert "; did you mean task_update.4" in ran.err
