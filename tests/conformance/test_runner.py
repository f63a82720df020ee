"""Whole runs: the result of each fixture, however its target behaves."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.client.connection import PLAIN
from nexus_mcp.conformance.result import MISSING, Assertion, Exchange, FixtureResult, RunResult
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.settings import TargetOptions
from nexus_mcp.conformance.target import stdio
from nexus_mcp.errors import HarnessFault
from tests.conformance.support import NASTY, act, made, nasty_fixture, outcome

HASTY = TargetOptions(timeout=0.5)
LEAVING = TargetOptions(end_timeout=0.3)
Failures = list[tuple[str, str, str]]


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which a run makes its own folder; check that the run removes it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def one(*steps: dict[str, Any], options: TargetOptions | None = None, **more: Any) -> FixtureResult:
    """Run one fixture alone; return its result."""
    (result,) = run([nasty_fixture(*steps, **more)], stdio(NASTY, options), jobs=1).results
    return result


def test_run_reports_progress_and_keeps_order(temporary: Path) -> None:
    """A run calls back as its fixtures begin and end, returns the results in their order, and leaves no folder."""
    fixtures = [
        nasty_fixture(act("wave"), test_id=f"f{n}", postcondition={"return_value": {"$.did": "wave"}}) for n in range(5)
    ]
    begun: list[str] = []
    ended: list[FixtureResult] = []
    found = run(fixtures, stdio(NASTY), jobs=2, on_start=begun.append, on_result=ended.append)
    assert begun == [f"f{n}" for n in range(5)]
    assert sorted(ended, key=lambda result: result.test_id) == list(found.results)
    assert [result.test_id for result in found.results] == begun
    assert (found.server, found.protocol, found.good) == ("nasty 7", "2025-11-25", True)
    assert found.target == " ".join(NASTY)
    assert list(temporary.iterdir()) == []


def test_result_has_assertions_and_exchanges() -> None:
    """A result has every assertion and every exchange; a passed one has no files."""
    result = one(act("mark"), postcondition={"error_contains": "no", "state_files": {".nexus/history.json": None}})
    (exchange,) = result.exchanges
    assert exchange.seconds > 0
    assert result.exchanges == (Exchange("", "act", {"do": "mark"}, None, True, "no", exchange.seconds),)
    assert result.assertions == (
        Assertion("error", True, expected=True, seen=True),
        Assertion("error", True, expected="no", seen="no"),
        Assertion("files", True, file=".nexus/history.json", seen=MISSING),
        Assertion("process", True),
    )
    assert (result.status, result.reason, result.files, result.repeats, result.tools) == ("passed", "", {}, 1, ("act",))


@pytest.mark.parametrize(
    ("do", "failures"),
    [
        ("die", [("process", "", "the target exited with code 3")]),
        ("hang", [("process", "", "the target did not answer act within 0.5 s")]),
        ("lines", [("process", "", "the target flooded: it printed more than 5000 unrequested lines")]),
        ("refuse", [("error", "", 'the call must not fail: "not today"')]),
        (
            "break the schema",
            [("schema", "", "the answer breaks the target's own output schema: $.did: 7 is not of type 'string'")],
        ),
    ],
)
def test_misbehaving_target_fails_its_fixture(do: str, failures: Failures) -> None:
    """A fault of a target fails the fixture in which it happens."""
    assert outcome(one(act(do), options=HASTY if do == "hang" else None)) == ("failed", failures)


def test_a_failed_result_shows_the_files() -> None:
    """After a failure the text files of the project, its links as links, and the server's stderr are shown."""
    result = one(
        act("link", to="../..", path="away"),
        act("die"),
        precondition={"files": {".nexus/a.txt": "text", ".nexus/b.bin": {"base64": "AAA="}}},
    )
    assert (result.reason, result.files) == ("process", {".nexus/a.txt": "text", "away": "(a link -> ../..)"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"do": "write", "path": "../beside.txt"}, "the target wrote outside of its project: ../beside.txt"),
        ({"do": "write", "path": "notes.txt"}, "the target changed files outside .nexus: notes.txt"),
        ({"do": "mkdir", "path": "a/b"}, "the target changed files outside .nexus: a, a/b"),
        ({"do": "link", "path": "a", "to": "/etc"}, "the target changed files outside .nexus: a"),
    ],
)
def test_stray_write_is_reported_with_its_path(given: dict[str, Any], message: str) -> None:
    """A target that writes outside of its project, or outside of its own folders in the project, is reported with the
    path.
    """
    assert outcome(one({"text": "x", **given})) == ("failed", [("process", "", message)])


def test_target_may_write_below_nexus() -> None:
    """A target may write below .nexus."""
    steps = [act("mkdir", path=".nexus"), act("write", path=".nexus/a", text="")]
    assert outcome(one(*steps)) == ("passed", [])


def test_server_that_ends_badly_fails_its_fixture() -> None:
    """A server that does not end on request, or leaves a process behind, fails the fixture."""
    (stays,) = run([nasty_fixture(act("wave"))], stdio((*NASTY, "stay"), LEAVING)).results
    message = "the target did not end within 0.3 s after its stdin was closed"
    assert outcome(stays) == ("failed", [("process", "", message)])
    status, ((kind, step, said),) = outcome(one(act("orphan"), options=LEAVING))
    assert (status, kind, step) == ("failed", "process", "")
    assert said.startswith("the target ended, but processes that it started still run: ")


def test_missing_tool_fails_its_fixture_when_all_are_required() -> None:
    """With require_all_tools a tool that the target lacks fails the fixtures that call it."""
    fixtures = [made({"action": {"tool": "plan_start"}}, test_id="absent"), nasty_fixture(act("wave"))]
    assert outcome(run(fixtures, stdio(NASTY, TargetOptions(require_all_tools=True))).results[0]) == (
        "failed",
        [("process", "", "the target has no tool plan_start")],
    )


def test_unsupported_fixture_is_not_run() -> None:
    """A fixture that this target cannot run is not run, with a reason."""
    fixtures = [made({"event": {"type": "agent_spawn"}}, test_id="asks"), nasty_fixture(act("wave"))]
    result = run(fixtures, stdio(NASTY)).results[0]
    assert (result.status, result.reason, result.assertions) == ("not run", "needs --event-command", ())


def test_fault_of_the_runner_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in the runner ends the run, and is not counted as a failure of the target."""
    monkeypatch.setattr("nexus_mcp.conformance.trial.trial.file_checks", lambda *_: 1 / 0)
    with pytest.raises(HarnessFault) as caught:
        one(act("wave"))
    assert caught.value.faults == [
        "made: a fault of the runner, not of the target: ZeroDivisionError: division by zero"
    ]


def test_error_of_a_callback_is_raised() -> None:
    """An error in the callback that shows results is raised unchanged."""

    def broken(_result: FixtureResult) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        run([nasty_fixture(act("wave"))], stdio(NASTY), on_result=broken)


def test_contradictory_precondition_is_a_fault() -> None:
    """A precondition that contradicts itself is a fault of its file."""
    files = {"a": {"symlink": ".."}, "a/b": "text"}
    with pytest.raises(
        HarnessFault, match=r"^made.json: /: the project of made cannot be created: .*a link is in the path"
    ):
        one(act("wave"), precondition={"files": files})


def test_repeated_fixture_stops_at_the_first_failure() -> None:
    """A fixture is repeated, each time in a new project, until it fails."""
    steps = [act("mkdir", path=".nexus/once")]
    assert (one(*steps, repeat=3).status, one(*steps, repeat=3).repeats) == ("passed", 3)
    assert (one(act("die"), repeat=3).status, one(act("die"), repeat=3).repeats) == ("failed", 1)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("nowhere-server",), "The server could not be started: nowhere-server: No such file or directory."),
        (("/etc/passwd",), "The server could not be started: /etc/passwd: Permission denied."),
        ((*NASTY[:1], "-c", "pass"), "The server did not become ready: it exited with code 0."),
        (
            (*NASTY[:1], "-c", "import sys; sys.exit('no licence')"),
            'The server did not become ready: it exited with code 1 (the end of its stderr: "no licence").',
        ),
        (
            (*NASTY[:1], "-c", "print('Hello'); input()"),
            'The server did not become ready: it printed a line to stdout that is not a JSON-RPC message: "Hello".',
        ),
        (
            (*NASTY[:1], "-c", "import signal; signal.pause()"),
            "The server did not become ready: it did not answer the handshake within 0.5 s.",
        ),
    ],
)
def test_target_that_never_answers_ends_the_run(command: tuple[str, ...], message: str, temporary: Path) -> None:
    """A target that never answers ends the run with a message of one line, and without results."""
    options = TargetOptions(start_timeout=0.5 if "handshake" in message else 30)
    with pytest.raises(HarnessFault) as caught:
        run([nasty_fixture(act("wave"))], stdio(command, options))
    assert caught.value.faults == [message]
    advice = "Give the program by its absolute path, or by a name that is on the PATH."
    assert caught.value.next_step == (advice if "could not be started" in message else "")
    assert list(temporary.iterdir()) == []


def test_relative_program_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A program that exists only relative to the user's folder is refused; the message says to use the absolute
    path.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "server").write_text("#!/bin/sh\n")
    with pytest.raises(HarnessFault, match=r"could not be .* give \./server as an absolute path\.$"):
        run([nasty_fixture(act("wave"))], stdio(("./server",)))


def test_relative_path_in_a_command_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative file in the words of the command is refused; the message says to use the absolute path."""
    monkeypatch.chdir(Path(NASTY[1]).parent)
    with pytest.raises(
        HarnessFault, match=r"The server runs in a project of its own: give misbehaving.py as an absolute path\.$"
    ):
        run([nasty_fixture(act("wave"))], stdio((NASTY[0], "misbehaving.py")))


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ((sys.executable, "dist/server.py"), "dist/server.py"),
        ((sys.executable, "server.py"), "server.py"),
        (("./server",), "./server"),
        ((sys.executable, "-m", "package.server"), ""),
        ((sys.executable, "-c", "raise SystemExit(1)", "https://example.org/a.js"), ""),
        ((sys.executable, "/nowhere/server.py"), ""),
    ],
)
def test_program_that_is_not_built_is_named(
    command: tuple[str, ...], missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A relative program that does not exist is named with the folder in which it was looked for, and no other word."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HarnessFault) as caught:
        run([nasty_fixture(act("wave"))], stdio(command))
    hint = f"There is no file {missing} in {tmp_path}. Build the server, or correct the path."
    assert caught.value.next_step == (hint if missing else "")


@pytest.mark.parametrize(("prefix", "hint"), [("", "Its names begin with a"), ("x_", "leave --tool-prefix out")])
def test_target_without_known_tools_ends_the_run(prefix: str, hint: str) -> None:
    """A target without any of the tools ends the run; the message lists its tools with a prefix."""
    fixtures = [made({"action": {"tool": "act" if prefix else "ct"}})]
    message = rf"^The server has none of the tools that the fixtures call; it lists act\. .*{hint}"
    with pytest.raises(HarnessFault, match=message):
        run(fixtures, stdio(NASTY, TargetOptions(prefix=prefix)))


def test_server_without_discovery_gets_a_handshake() -> None:
    """A server that ends at an unknown request is restarted, and the handshake is used from then on."""
    target = stdio((*NASTY, "strict"))
    found: RunResult = run([nasty_fixture(act("wave"))] * 2, target)
    assert [result.status for result in found.results] == ["passed", "passed"]


def test_two_start_timeouts_end_the_starts() -> None:
    """After two starts in a row that took all their time, the server is not started again."""
    target = stdio((*NASTY, "mute"), TargetOptions(start_timeout=0.1))
    target.manner = PLAIN  # as after a good preflight
    found = run([nasty_fixture(act("wave"), test_id=f"f{n}") for n in range(4)], target, jobs=1)
    slow = "the target did not answer the handshake within 0.1 s"
    given_up = "the target did not become ready in two starts in a row; it is not started again"
    assert [one.failures[0].message for one in found.results] == [slow, slow, given_up, given_up]
