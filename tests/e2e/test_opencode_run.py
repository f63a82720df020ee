"""`nexus-mcp run` with OpenCode: a plan of three tasks, the guards, and a refused login."""

from __future__ import annotations

import pytest

from tests.e2e.opencode import ID
from tests.e2e.plan_run import MakeRun, PlanRun, guarded, refused, three_tasks
from tests.e2e.plan_tests import GuardTests, LoginTests, PlanTests

_ABORT_S = 90


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
    def test_precheck_tells_of_missing_credentials(self, refusal: PlanRun) -> None:
        """It is a warning: models of a provider in the configuration, or free ones, need none."""
        done = refusal.precheck()
        assert done.code == 0
        assert "warning  login of opencode: it has no credentials" in done.out
