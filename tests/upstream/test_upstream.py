"""The expected failures of the upstream server, its page and the rules agree. The server itself is not needed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.settings import load_expected
from tests.conformance.suite import packaged
from tests.upstream.__main__ import EXPECTED, compared, main
from tests.upstream.differences import ADD_DEMANDS, DIFFERENCES, PLAIN_TEXT

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "upstream.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def reasons() -> dict[str, str]:
    return load_expected(str(EXPECTED), [fixture.test_id for fixture in packaged()])


def test_entries_name_known_differences(reasons: dict[str, str]) -> None:
    """Every entry is the id of a packaged fixture, and its reason one of the differences; none of those is unused."""
    assert set(reasons.values()) == set(DIFFERENCES)


def test_page_has_every_difference(reasons: dict[str, str]) -> None:
    """docs/upstream.md has a row for each difference with the number of fixtures that show it first, and the total."""
    rows = dict(re.findall(r"^\| (.*?) \| (\d+) \|", PAGE, re.MULTILINE))
    assert rows == {name: str(list(reasons.values()).count(name)) for name in DIFFERENCES}
    assert f"{len(reasons)} expected failures" in PAGE


def test_page_lists_the_passing_fixtures(reasons: dict[str, str]) -> None:
    """Fixtures without an event command that are neither listed nor left out pass."""
    run = [fixture for fixture in compared() if not fixture.needs_events]
    assert f"\n{len(run) - len(reasons) - 1} passed, 0 failed, " in PAGE


def test_page_names_the_server_of_the_list() -> None:
    """The version in the file's name is the one that the benchmark installs and the page names."""
    from benchmarks.peers.packages import UPSTREAM, UPSTREAM_VERSION

    assert EXPECTED.name == f"{UPSTREAM.rpartition('/')[2]}-{UPSTREAM_VERSION}.yml"
    assert f"`{UPSTREAM}` {UPSTREAM_VERSION}" in PAGE


def test_varying_fixture_is_documented(reasons: dict[str, str]) -> None:
    """The fixture that `make upstream` omits belongs to the suite, is not listed, and is named on the page."""
    script = (ROOT / ".ci" / "upstream").read_text(encoding="utf-8")
    varies = re.findall(r"^varies=(.*)$", script, re.MULTILINE)
    assert len(varies) == 1
    assert varies[0] in {fixture.test_id for fixture in packaged()} - set(reasons)
    assert f"`{varies[0]}`" in PAGE


def a_failure(*messages: str) -> dict[str, Any]:
    """A failed fixture as result.json has it, with these failed assertions about a task_add."""
    assertions = [
        {"kind": "error", "passed": False, "message": message, "step": "", "file": "", "path": ""}
        for message in messages
    ]
    exchange: dict[str, Any] = {
        "step": "",
        "asked": "task_add",
        "params": {},
        "answer": None,
        "is_error": True,
        "error": "?",
    }
    return {"test_id": "made", "status": "failed", "assertions": assertions, "exchanges": [exchange]}


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (("the answer has no JSON payload: ?",), PLAIN_TEXT),
        (("the answer has no JSON payload: ?", 'the call must not fail: "Required at acceptance'), ADD_DEMANDS),
        (("something that nobody has seen",), None),
    ],
)
def test_reason_matches_the_recorded_failure(
    messages: tuple[str, ...], expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason comes from a rule; without a matching rule the list is not written."""
    written = tmp_path / "list.yml"
    monkeypatch.setattr("tests.upstream.__main__.EXPECTED", written)
    result = tmp_path / "result.json"
    result.write_text(json.dumps({"summary": "1 failed", "results": [a_failure(*messages)]}), encoding="utf-8")
    assert main([str(result)]) == (0 if expected else 1)
    lines = written.read_text(encoding="utf-8").splitlines() if written.exists() else []
    assert [line for line in lines if not line.startswith("#")] == ([f"made: {expected}"] if expected else [])
