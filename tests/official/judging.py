"""Run the official suite against a server over HTTP, and compare each check with expected.json."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.running import Running
from tests.e2e.scratch import PROGRAM, Scratch
from tests.official import names
from tests.official.forwarding import forwarding

FILE = Path(__file__).with_name("expected.json")
_RUN_S = 300
_START_S = 60
PASSED, FAILED = "SUCCESS", ("FAILURE", "WARNING")


@dataclass
class Verdict:
    """The checks of a run: `passed`, and `failed` with their messages, each named `scenario/check`."""

    passed: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    scenarios: set[str] = field(default_factory=set)

    @property
    def whole(self) -> set[str]:
        """Return the scenarios with a passed check and none that failed."""
        bad = {_scenario(check) for check in self.failed}
        return {_scenario(check) for check in self.passed} - bad


@contextmanager
def served(scratch: Scratch, *options: str) -> Iterator[str]:
    """Serve the project; yield an address that needs no token, and that knows the names of the reference server."""
    names.prepare(scratch.root)
    acts = {"test_trigger_prompt_change": lambda: names.add_skill(scratch.root)}
    with forwarding(lambda body: names.renamed(body, acts)) as forwarder:
        here = [f"{host}:{forwarder.port}" for host in ("127.0.0.1", "localhost")]
        allowed = [word for host in here for word in ("--allow-host", host, "--allow-origin", f"http://{host}")]
        words = [str(PROGRAM), "serve", "--http", "127.0.0.1:0", *allowed, *options]
        server = Running(words, scratch.env, scratch.root)
        try:
            assert server.process.stdout is not None
            forwarder.token = server.process.stdout.readline().split()[1]
            address = server.process.stdout.readline().split()[2]
            forwarder.target = int(address.rpartition(":")[2].partition("/")[0])
            yield f"http://127.0.0.1:{forwarder.port}/mcp"
        finally:
            server.process.terminate()
            server.wait(_START_S)


def judge(program: str, scratch: Scratch, url: str, *options: str) -> Verdict:
    """Run all scenarios of the suite that the options leave, and return what it found."""
    results = scratch.home / "results"
    words = [program, "server", "--url", url, "--suite", "all", "--output-dir", str(results), *options]
    done = Running(words, scratch.env, scratch.root).wait(_RUN_S)
    verdict = Verdict()
    for file in sorted(results.glob("server-*/checks.json")):
        # The folder is named server-SCENARIO-TIME, and the time has five hyphens in it.
        scenario = file.parent.name.removeprefix("server-").rsplit("-", 6)[0]
        verdict.scenarios.add(scenario)
        for check in json.loads(file.read_text(encoding="utf-8")):
            name = f"{scenario}/{check['id']}"
            if check["status"] == PASSED:
                verdict.passed.add(name)
            elif check["status"] in FAILED:
                verdict.failed[name] = check.get("errorMessage", "")
    assert verdict.scenarios, done.out[-2000:] + done.err[-2000:]
    verdict.passed -= set(verdict.failed)
    return verdict


def compare(verdict: Verdict, run: str, *, is_stateless: bool = False) -> list[str]:
    """Return a line for each difference from expected.json."""
    expected = read()
    known = reasons(expected, is_stateless=is_stateless)
    lines = [
        f"{check} failed, and has no reason in expected.json: {message}"
        for check, message in sorted(verdict.failed.items())
        if check not in known
    ]
    lines += [f"{check} passed: remove its reason" for check in sorted(verdict.passed & set(known))]
    wanted, found = set(expected["passed"][run]), verdict.whole
    lines += [f"{scenario} did not pass" for scenario in sorted(wanted - found)]
    lines += [f"{scenario} passed, and is not in expected.json" for scenario in sorted(found - wanted)]
    return lines


def read() -> Any:
    """Return expected.json."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def reasons(expected: Mapping[str, Any], *, is_stateless: bool) -> dict[str, str]:
    """Return `scenario/check` -> the reason why it cannot pass. Raise AssertionError for a check with two reasons."""
    rows = [*expected["does_not_apply"], *([expected["without_sessions"]] if is_stateless else [])]
    found = [(check, row["reason"]) for row in rows for check in row["checks"]]
    twice = [check for check, count in Counter(check for check, _ in found).items() if count > 1]
    assert twice == []
    return dict(found)


def _scenario(check: str) -> str:
    return check.partition("/")[0]
