"""The tests that the pytest plug-in adds: a node `nexus`, and below it one test for each fixture."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from nexus_mcp.conformance import settings
from nexus_mcp.conformance.loading import load
from nexus_mcp.conformance.processes.starting import check_platform
from nexus_mcp.conformance.pytest_plugin.options import chosen_level, make_target, rename_options
from nexus_mcp.conformance.report.texts import format_seen, format_value, in_words, note, one_line, place
from nexus_mcp.conformance.result import FAILED, NOT_RUN
from nexus_mcp.errors import HarnessFault, UsageError
from nexus_mcp.wording import suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nexus_mcp.conformance.fixture import Fixture
    from nexus_mcp.conformance.result import Assertion, FixtureResult
    from nexus_mcp.conformance.target import Target

LIMIT = 600
"""Largest number of characters of a value, of a call's params, and of an answer."""

NODE = "nexus"
SEPARATOR = "::"


class Suite:
    """Add the fixtures to the tests of pytest. `nexus` and `nexus::TEST_ID` among its arguments select them."""

    def __init__(self, config: pytest.Config) -> None:
        ours = [argument for argument in config.args if _is_ours(argument)]
        self.chosen = {argument.partition(SEPARATOR)[2] for argument in ours} - {""} if NODE not in ours else set()
        config.args[:] = [argument for argument in config.args if argument not in ours]

    @pytest.hookimpl(tryfirst=True)  # before -k and -m select
    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        try:
            check_platform("pytest --nexus-server")
            suite = load([str(config.invocation_params.dir / path) for path in config.getoption("--nexus-fixtures")])
            known = [fixture.test_id for fixture in suite]
            listed = config.getoption("--nexus-expected-failures")
            reasons = settings.load_expected(listed, known) if listed is not None else {}
            unknown = sorted(self.chosen.difference(known))
            if unknown:
                raise HarnessFault([f"no fixture has the id {name}{suggestion(name, known)}" for name in unknown])
            of_level = suite if self.chosen else settings.select(suite, level=chosen_level(config))
            target = make_target(config, suite)
        except (HarnessFault, UsageError) as fault:
            raise pytest.UsageError(*str(fault).split("\n")) from fault
        fixtures = [fixture for fixture in of_level if not self.chosen or fixture.test_id in self.chosen]
        node = FixtureCollector.from_parent(session, name=NODE, nodeid=NODE)
        node.fill(fixtures, target, reasons)
        # Call pytest's own hooks, so that plug-ins that count collected tests count these, too.
        report = node.ihook.pytest_make_collect_report(collector=node)
        for item in report.result:
            node.ihook.pytest_itemcollected(item=item)
            items.append(item)
        node.ihook.pytest_collectreport(report=report)


class FixtureCollector(pytest.Collector):
    """The parent of the tests."""

    def fill(self, fixtures: Sequence[Fixture], target: Target, reasons: dict[str, str]) -> None:
        """Set the fixtures to collect."""
        self._items = [
            FixtureItem.from_parent(self, name=one.test_id, fixture=one, target=target, reason=reasons.get(one.test_id))
            for one in fixtures
        ]

    def collect(self) -> list[FixtureItem]:
        return self._items


class FixtureItem(pytest.Item):
    """One fixture. Its tools and its group are keywords, so that -k finds it by them."""

    def __init__(self, *, fixture: Fixture, target: Target, reason: str | None, **rest: Any) -> None:
        super().__init__(**rest)
        self.fixture = fixture
        self.target = target
        self.extra_keyword_matches.update((*fixture.tools, fixture.group))
        self.add_marker(NODE)
        if reason is not None:
            self.add_marker(pytest.mark.xfail(reason=reason, strict=True))

    def runtest(self) -> None:
        from nexus_mcp.conformance.runner import run

        try:
            (result,) = run([self.fixture], self.target, jobs=1).results
        except HarnessFault as fault:
            # The target could not be judged, and no other fixture can run.
            pytest.exit(rename_options(str(fault)), returncode=pytest.ExitCode.USAGE_ERROR)
        if result.status == NOT_RUN:
            missing = f": {', '.join(result.missing_tools)}" if result.missing_tools else ""
            pytest.skip(rename_options(result.reason) + missing)
        if result.stderr:
            self.add_report_section("call", "stderr", result.stderr)
        if result.status == FAILED:
            raise Failure(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Failure):
            return text(excinfo.value.result)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, None, str]:
        return NODE, None, self.nodeid


class Failure(Exception):
    """The target failed a fixture."""

    def __init__(self, result: FixtureResult) -> None:
        super().__init__(result.test_id)
        self.result = result


def text(result: FixtureResult) -> str:
    """Return description, file, failed assertions, requests and answers of a fixture, as pytest shows them."""
    lines = [one_line(result.description, LIMIT), one_line(result.source, LIMIT), ""]
    if not result.failures:
        lines.append(one_line(result.reason, LIMIT))
    for assertion in result.failures:
        lines += _assertion(assertion)
    for exchange in result.exchanges:
        mark = "error" if exchange.is_error else "answer"
        answer = one_line(exchange.error, LIMIT) or format_value(exchange.answer, LIMIT)
        lines += [
            "",
            one_line(f"{exchange.heading} ", LIMIT) + format_value(exchange.params, LIMIT),
            f"  {mark}: {answer}",
        ]
    return "\n".join(lines)


def _assertion(assertion: Assertion) -> Iterator[str]:
    if not assertion.path:
        yield in_words(assertion, LIMIT)
        return
    head = dict.fromkeys((assertion.kind, place(assertion), one_line(assertion.path, LIMIT)))
    yield ": ".join(head)
    yield f"    expected: {format_value(assertion.expected, LIMIT)}"
    yield f"    seen:     {format_seen(assertion, LIMIT)}"
    if note(assertion):
        yield f"    {one_line(note(assertion), LIMIT)}"


def _is_ours(argument: str) -> bool:
    return argument.startswith(NODE + SEPARATOR) or (argument == NODE and not os.path.exists(NODE))
