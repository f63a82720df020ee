"""`nexus-mcp run` with Codex: a plan of three tasks, the guards, and a refused login."""

from __future__ import annotations

import pytest

from tests.e2e.codex import ID
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
        """A provider of the user's own needs its variable; Codex's own needs a login."""
        assert "ok       login of codex: the provider scripted needs no login" in refusal.precheck().out
        without = refusal.precheck("FAKE_KEY")
        assert without.code == 5
        assert "blocker  login of codex: the provider scripted reads its key from the variable FAKE_KEY" in without.out
        other = refusal.client.scratch.home / "another home of Codex"
        other.mkdir()
        own = refusal.precheck(CODEX_HOME=str(other))
        assert "blocker  login of codex: not logged in: type codex login" in own.out
