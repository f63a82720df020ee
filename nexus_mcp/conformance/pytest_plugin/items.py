"""The tests that the pytest plug-in adds: a node `nexus`, and below it one test for each fixture."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from nexus_mcp.conformance.loading import load
from nexus_mcp.conformance.nearest import did_you_mean
from nexus_mcp.conformance.platform import check_platform
from nexus_mcp.conformance.pytest_plugin import OPTIONS
from nexus_mcp.conformance.pytest_plugin.failure import Failure, text
from nexus_mcp.conformance.result import FAILED, NOT_RUN
from nexus_mcp.conformance.settings import expected, given
from nexus_mcp.conformance.target import TargetOptions, stdio
from nexus_mcp.errors import HarnessFault, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nexus_mcp.conformance.fixture import Fixture
    from nexus_mcp.conformance.target import Target

NODE = "nexus"
SEPARATOR = "::"


class Suite:
    """Adds the fixtures to what pytest collects. `nexus` and `nexus::TEST_ID` among its arguments choose from them."""

    def __init__(self, config: pytest.Config) -> None:
        ours = [argument for argument in config.args if _is_ours(argument)]
        self.chosen = {argument.partition(SEPARATOR)[2] for argument in ours} - {""} if NODE not in ours else set()
        config.args[:] = [argument for argument in config.args if argument not in ours]

    @pytest.hookimpl(tryfirst=True)  # before -k and -m choose
    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        try:
            check_platform("pytest --nexus-server")
            suite = load([str(config.invocation_params.dir / path) for path in config.getoption("--nexus-fixtures")])
            known = [fixture.test_id for fixture in suite]
            listed = config.getoption("--nexus-expected-failures")
            reasons = expected.load(listed, known) if listed is not None else {}
            strangers = sorted(self.chosen.difference(known))
            if strangers:
                raise HarnessFault([f"no fixture is called {name}{did_you_mean(name, known)}" for name in strangers])
            target = _target(config, suite)
        except (HarnessFault, UsageError) as fault:
            raise pytest.UsageError(*str(fault).split("\n")) from fault
        fixtures = [fixture for fixture in suite if not self.chosen or fixture.test_id in self.chosen]
        node = FixtureCollector.from_parent(session, name=NODE, nodeid=NODE)
        node.fill(fixtures, target, reasons)
        # By way of the hooks, so that whoever counts what is collected counts these.
        report = node.ihook.pytest_make_collect_report(collector=node)
        for item in report.result:
            node.ihook.pytest_itemcollected(item=item)
            items.append(item)
        node.ihook.pytest_collectreport(report=report)


class FixtureCollector(pytest.Collector):
    """The parent of the tests."""

    def fill(self, fixtures: Sequence[Fixture], target: Target, reasons: dict[str, str]) -> None:
        """Says what there is to collect."""
        self._made = [
            FixtureItem.from_parent(self, name=one.test_id, fixture=one, target=target, reason=reasons.get(one.test_id))
            for one in fixtures
        ]

    def collect(self) -> list[FixtureItem]:
        return self._made


class FixtureItem(pytest.Item):
    """One fixture. The tools it asks and its group are keywords, so that -k finds it by them."""

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
            # Nothing was found out about the target, and no other fixture could be asked.
            pytest.exit(_as_here(str(fault)), returncode=pytest.ExitCode.USAGE_ERROR)
        if result.status == NOT_RUN:
            pytest.skip(_as_here(result.reason))
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


def _is_ours(argument: str) -> bool:
    return argument.startswith(NODE + SEPARATOR) or (argument == NODE and not os.path.exists(NODE))


def _as_here(text: str) -> str:
    """The text with options as the plug-in calls them: --event-command is --nexus-event-command."""
    known = "|".join(name.removeprefix("--nexus-") for name, _, _ in OPTIONS)
    return re.sub(rf"(?<!\S)--({known})(?![\w-])", r"--nexus-\1", text)


def _target(config: pytest.Config, suite: Sequence[Fixture]) -> Target:
    """The target that the options describe. Raises HarnessFault for the first option that is wrong."""
    words = given.command(config.getoption("--nexus-server"), "--nexus-server")
    return stdio(words, TargetOptions(**dict(_options(config, suite))))


def _options(config: pytest.Config, suite: Sequence[Fixture]) -> Iterator[tuple[str, Any]]:
    """Those of TargetOptions that were given."""
    readers: tuple[tuple[str, str, Callable[[str, str], Any]], ...] = (
        ("prefix", "--nexus-tool-prefix", lambda value, _: value),
        ("names", "--nexus-tool-map", lambda value, _: given.tool_names(value, suite)),
        ("project_env", "--nexus-project-env", given.variable),
        ("harness_id", "--nexus-harness-id", given.harness_id),
        ("event_command", "--nexus-event-command", given.event_command),
        ("timeout", "--nexus-timeout", given.seconds),
        ("start_timeout", "--nexus-start-timeout", given.seconds),
    )
    yield "environment", given.environment(config.getoption("--nexus-env"), "--nexus-env")
    for name, option, read in readers:
        value = config.getoption(option)
        if value is not None:
            yield name, read(value, option)
