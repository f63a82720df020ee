"""The schemas below schemas/run/ are those of the models, and real documents keep them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from docs import run_schemas
from nexus_mcp.run import events as ev
from nexus_mcp.run.verdict import Verdict
from tests.run.runs import GOOD, Ground

NAMES = ("config", "event", "verdict", "status")


@pytest.mark.parametrize("name", NAMES)
def test_schema_is_that_of_its_model(name: str) -> None:
    """The file equals the output of the generator; `make docs` writes it."""
    path = run_schemas.FOLDER / f"{name}.schema.json"
    assert path.read_text(encoding="utf-8") == run_schemas.text(run_schemas.documents()[name]), "run make docs"


def test_there_is_no_other_schema() -> None:
    """The folder has the schemas of the generator only."""
    assert sorted(path.name for path in run_schemas.FOLDER.iterdir()) == sorted(f"{n}.schema.json" for n in NAMES)


def test_documents_of_a_real_run_keep_the_schemas(tmp_path: Path) -> None:
    """Each line of its log is an event, and its status file is one."""
    schemas = run_schemas.documents()
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}], {"1": [[{"write": "a", "text": "1"}]]})
    ground.configure()
    code, _, err = ground.cli("--trust", "--merge", "never")
    assert code == 0, err
    folder = ground.root / ".nexus/state/runs" / ground.run_id
    event = Draft202012Validator(schemas["event"])
    lines = (folder / "events.jsonl").read_text().splitlines()
    assert [line for line in lines if not event.is_valid(json.loads(line))] == []
    Draft202012Validator(schemas["status"]).validate(json.loads((folder / "status.json").read_text()))


def test_verdict_that_the_model_writes_keeps_the_schema() -> None:
    """A verdict as it goes into the log is one by the schema; one without `approved` is none."""
    schema = Draft202012Validator(run_schemas.documents()["verdict"])
    schema.validate(Verdict.model_validate(GOOD).model_dump(mode="json", exclude_none=True))
    assert not schema.is_valid({"version": 1, "tests": {"allPassing": True}})


def test_each_event_survives_the_way_to_the_file() -> None:
    """What `render` writes, `parse` reads; a torn line is none."""
    for event in (ev.TaskReady(task=1), ev.Usage(task=1, attempt=1, input=2), ev.RunEnded(status="limit")):
        line = ev.render(event)
        assert ev.parse(line) == event
        assert ev.parse(line[: len(line) // 2]) is None
