"""Results for the reports: a successful run, a failed run, and one with hostile text from a target."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nexus_mcp.conformance.result import FAILED, MISSING, NOT_RUN, PASSED, Assertion, Exchange, FixtureResult, RunResult

HOSTILE = "<script>alert(1)</script>]]> & \"'\x00\x1b[31m\x9b\u202edesrever\u200b\ud800\uffff\x7f [bold]x[/] {y}\r\n\tz"
# None of these characters may reach a terminal, a page or XML unescaped.
DANGEROUS = "\x00\x1b\x9b\u202e\u200b\ud800\uffff\x7f\r"
STATE = ".nexus/state/plan.json"


def passed(test_id: str, tool: str = "plan_start", **more: Any) -> FixtureResult:
    """Return the result of a fixture whose two assertions hold."""
    return FixtureResult(
        **{
            "test_id": test_id,
            "description": f"The fact that {test_id} checks.",
            "source": f"tools/{tool}.json",
            "group": "core",
            "tools": (tool,),
            "status": PASSED,
            "assertions": (
                Assertion("answer", passed=True, path="$.created", expected=True, seen=True),
                Assertion("files", passed=True, file=STATE, path="$.id", expected=1, seen=1),
            ),
            "exchanges": (Exchange("step 1", tool, {"topic": "T"}, {"created": True}, seconds=0.0123),),
            "seconds": 0.125,
            **more,
        }
    )


def failed(test_id: str, tool: str = "plan_start", **more: Any) -> FixtureResult:
    """Return the result of a fixture with a failed assertion of each form: value, missing value, matcher, no path."""
    failures = (
        Assertion("answer", passed=False, path="$.plan_id", expected=1, seen=2),
        Assertion("files", passed=False, file=STATE, path="$.issues[0].title", expected="A", seen=MISSING, parent="$"),
        Assertion(
            "shape",
            passed=False,
            message="unexpected member extra",
            path="$",
            expected={"keys": ["created", "plan_id"]},
            seen={"created": True, "plan_id": 2, "extra": None},
        ),
        Assertion("unchanged", passed=False, step="step 1", file=".nexus/history.json", message="was rewritten"),
    )
    return replace(
        passed(test_id, tool),
        **{
            "status": FAILED,
            "assertions": (*passed(test_id).assertions, *failures),
            "files": {STATE: '{\n  "id": 2\n}\n', ".nexus/.gitignore": "state/\n"},
            "stderr": "a warning\nand another\n",
            **more,
        },
    )


def not_run(test_id: str, reason: str = "needs --event-command", tool: str = "event agent_spawn") -> FixtureResult:
    """Return the result of a fixture that the target cannot run."""
    return passed(test_id, tool, status=NOT_RUN, reason=reason, assertions=(), exchanges=(), seconds=0.0)


def run(*results: FixtureResult, **more: Any) -> RunResult:
    """Return a run with these results."""
    return RunResult(
        **{
            "target": "node server.js --stdio",
            "server": "example 1.2.3",
            "protocol": "2025-06-18",
            "started_at": "2026-01-02T03:04:05.678Z",
            "seconds": 12.5,
            "results": results,
            **more,
        }
    )


GOOD = run(passed("plan_start_basic"), passed("task_add_basic", "task_add"))
MIXED = run(
    passed("plan_start_basic"),
    failed("task_add_ids", "task_add"),
    failed("task_add_known", "task_add", expected="numbers from 0, issue 12"),
    passed("task_add_healed", "task_add", expected="was slow once"),
    not_run("spawn_one"),
    not_run("spawn_two"),
    not_run("restart_keeps", "needs a process", "task_add"),
    passed("whole_cycle", tools=("plan_start", "task_close")),
    failed("killed", "task_close", group="robustness", assertions=(), reason="no answer in 10 s"),
)


def hostile() -> RunResult:
    """Return a run in which every text of a target or of a fixture's author is hostile or a megabyte long."""
    huge = HOSTILE + "x" * 1_000_000
    deep: Any = HOSTILE
    for _ in range(200):
        deep = [deep]
    assertions = tuple(
        Assertion(
            kind, passed=False, message=text, step=text, file=text, path=path, expected=text, seen=seen, parent=text
        )
        for kind, text, path, seen in (
            ("answer", HOSTILE, HOSTILE, MISSING),
            ("answer", huge, huge, {HOSTILE: huge}),
            ("shape", HOSTILE, "$", deep),
            ("files", HOSTILE, "$", [float("nan"), float("inf"), 10**5000, -0.0]),
            ("process", huge, "", None),
        )
    )
    bad = failed(
        "hostile_one",
        description=HOSTILE,
        source=HOSTILE,
        reason=HOSTILE,
        assertions=assertions,
        exchanges=(
            Exchange(HOSTILE, HOSTILE, {HOSTILE: huge}, {HOSTILE: [huge]}, is_error=True),
            Exchange("step 2", "plan_start", {}, None, error=huge),
        ),
        files={HOSTILE: huge},
        stderr=huge,
    )
    known = failed("hostile_known", expected=HOSTILE, description=huge)
    results = (bad, known, passed("hostile_healed", expected=HOSTILE), not_run("hostile_not_run", HOSTILE, HOSTILE))
    return run(*results, target=HOSTILE, server=HOSTILE, protocol=HOSTILE, started_at=HOSTILE)
