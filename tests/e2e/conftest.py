"""Fixtures of the tests with real clients. They are collected only by `make e2e`, which names the programs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e import codex, plan_hands, results
from tests.e2e.clients import client_of
from tests.e2e.model.server import Model
from tests.e2e.plan_run import MakeRun, PlanRun
from tests.e2e.scratch import Scratch

# client -> program; read now, because a test's environment has no NEXUS_ variable.
PROGRAMS: dict[str, str] = json.loads(os.environ.get("NEXUS_E2E_PROGRAMS", "{}"))
PATH = os.environ["PATH"]
_FILES = sorted(Path(__file__).parent.glob("test_*.py"))
collect_ignore = [path.name for path in _FILES if client_of(path) not in PROGRAMS]
_OUTCOMES: dict[str, dict[str, bool]] = {}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "shows(capability): the row of docs/harnesses.md that the test fills")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Record for each row of the table whether all of its tests passed."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.when == "teardown" and report.passed:
        return
    client = client_of(item.path)
    for marker in item.iter_markers("shows"):
        for capability in marker.args:
            seen = _OUTCOMES.setdefault(client, {})
            seen[capability] = seen.get(capability, True) and report.passed


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the results of a complete run; after a run of some tests write nothing."""
    if os.environ.get("NEXUS_E2E_RECORD") == "yes" and _OUTCOMES:
        results.record(_OUTCOMES)


@pytest.fixture
def model() -> Iterator[Model]:
    """A model without a script."""
    with Model() as model:
        yield model
    assert model.faults == []


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)


@pytest.fixture(scope="module")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeRun]:
    """Yield a function that makes a client with its own home and project, and runs a script of plan_run in it."""
    models: list[Model] = []

    def one(harness: str, script: Callable[..., None], *words: object) -> PlanRun:
        models.append(Model().__enter__())
        place = Scratch(tmp_path_factory.mktemp("run"))
        client, hands, names = plan_hands.make(harness, Path(PROGRAMS[harness]), place, models[-1])
        run = PlanRun(client, harness, hands)
        script(run, names, *words)
        return run

    yield one
    for model in models:
        model.__exit__(None, None, None)
    assert [model.faults for model in models if model.faults] == []


@pytest.fixture(scope="module")
def make_codex(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], codex.Codex]]:
    """Yield a function that makes Codex with its own home, project and scripted model of the named kind."""
    models: list[Model] = []

    def one(name: str) -> codex.Codex:
        models.append(Model().__enter__())
        folder = Scratch(tmp_path_factory.mktemp("codex"))
        return codex.Codex(Path(PROGRAMS[codex.ID]), folder, models[-1], name)

    yield one
    for model in models:
        model.__exit__(None, None, None)
    assert [model.faults for model in models if model.faults] == []
