"""expected.json is complete, and docs/wire.md has its reasons; `make official` compares it with the suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nexus_mcp.server.resources import RESOURCES
from nexus_mcp.tools import TOOLS as OURS
from tests.e2e.clients import listed
from tests.official import names
from tests.official.judging import Verdict, compare, read, reasons

PAGE = (Path(__file__).parents[2] / "docs" / "wire.md").read_text(encoding="utf-8")
EXPECTED = read()
RUN = "0.1.16"


def rows() -> Iterator[tuple[str, list[str]]]:
    for name in ("does_not_apply", "says_nothing"):
        for row in EXPECTED[name]:
            yield row["reason"], row["checks"]


def verdict_of(run: str, **more: str) -> Verdict:
    """The verdict of a run without differences."""
    passed = {f"{scenario}/check" for scenario in EXPECTED["passed"][run]}
    return Verdict(passed, more, set(EXPECTED["passed"][run]))


def test_each_reason_is_on_the_page() -> None:
    """docs/wire.md has each reason, and each scenario to which it belongs."""
    for reason, checks in rows():
        assert reason in PAGE.replace("\n", " ")
        for check in checks:
            assert f"`{check.partition('/')[0]}`" in PAGE


def test_page_names_the_releases() -> None:
    """docs/wire.md names the two releases that are run."""
    clients = listed()
    assert clients["official"].version == RUN
    assert all(f"{clients[name].version}" in PAGE for name in ("official", "newest-official"))


def test_no_check_has_two_kinds_of_reason() -> None:
    """No check has both a reason for its failure and a reason why its pass says little, and no reason is empty."""
    failing = reasons(EXPECTED, is_stateless=False)
    assert not set(failing) & {check for row in EXPECTED["says_nothing"] for check in row["checks"]}
    assert all(reason and checks for reason, checks in rows())


def test_names_are_those_of_our_server() -> None:
    """Our server offers the names that replace those of the reference server."""
    assert {ours for ours, _ in names.TOOLS.values()} <= {tool.name for tool in OURS}
    for uri in names.RESOURCES.values():
        assert [one for one in RESOURCES if one.template.match(uri) is not None]


@pytest.mark.parametrize("run", EXPECTED["passed"])
def test_expected_run_has_no_difference(run: str) -> None:
    """A run with the expected results gives no line."""
    assert compare(verdict_of(run), run) == []


def test_each_difference_is_a_line() -> None:
    """A new failure, an obsolete reason, a missing scenario and a new scenario each give a line."""
    verdict = verdict_of(RUN, **{"ping/ping": "no pong"})
    verdict.passed |= {"logging-set-level/logging-set-level", "new/check"}
    assert compare(verdict, RUN) == [
        "ping/ping failed, and has no reason in expected.json: no pong",
        "logging-set-level/logging-set-level passed: remove its reason",
        "ping did not pass",
        "logging-set-level passed, and is not in expected.json",
        "new passed, and is not in expected.json",
    ]


def test_names_are_changed_on_the_way() -> None:
    """Names of the reference server are replaced by ours; all other requests stay unchanged."""
    called: list[str] = []
    acts = {"test_trigger_prompt_change": lambda: called.append("acted")}
    for body in (b"no json", b"[]", b'{"method": "tools/call", "params": {"name": "task_list"}}'):
        assert names.renamed(body, acts) == (body, {})
    call = b'{"method": "tools/call", "params": {"name": "test_trigger_prompt_change"}}'
    assert names.renamed(call, acts)[1] == {"test_trigger_prompt_change": "task_list"}
    assert called == ["acted"]
    read_one = b'{"method": "resources/read", "params": {"uri": "test://static-text"}}'
    assert names.renamed(read_one, acts) == (
        b'{"method": "resources/read", "params": {"uri": "nexus://tasks"}}',
        {"test://static-text": "nexus://tasks"},
    )
