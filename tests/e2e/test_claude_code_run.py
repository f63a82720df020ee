"""`nexus-mcp run` with Claude Code: a plan of three tasks, the guards, and a refused login."""

from __future__ import annotations

import pytest

from tests.e2e.claude_code import ID
from tests.e2e.plan_run import MakeRun, PlanRun, guarded, refused, three_tasks
from tests.e2e.plan_tests import GuardTests, LoginTests, PlanTests

_ABORT_S = 25


@pytest.fixture(scope="module")
def plan(make_run: MakeRun) -> PlanRun:
    return make_run(ID, three_tasks)


@pytest.fixture(scope="module")
def guards(make_run: MakeRun) -> PlanRun:
    return make_run(ID, guarded, _ABORT_S)


@pytest.fixture(scope="module")
def refusal(make_run: MakeRun) -> PlanRun:
    return make_run(ID, refused)


class TestPlan(PlanTests):
    """See PlanTests."""


class TestGuards(GuardTests):
    """See GuardTests."""


class TestLogin(LoginTests):
    """See LoginTests."""

    @pytest.mark.shows("run-login")
    def test_precheck_tells_of_a_missing_login(self, refusal: PlanRun) -> None:
        """Without a key the precheck is a blocker that names the command; with one it passes."""
        assert "ok       login of claude-code: by api_key" in refusal.precheck().out
        without = refusal.precheck("ANTHROPIC_API_KEY")
        assert without.code == 5
        assert "blocker  login of claude-code: not logged in: type claude auth login" in without.out
