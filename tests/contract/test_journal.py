"""The next call completes a pending change, or refuses a journal that is not ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.failing_disk import JOURNAL, recorded, settle
from tests.support import NAMES, SMALLEST, Client, Project, unpack


@pytest.mark.requirement("storage.journal-version")
@pytest.mark.parametrize("tool", NAMES)
@pytest.mark.parametrize(
    "content",
    [
        b'{"version": 99}', b'{"version": 99, "files": [], "cycle": {}}', b"{}", b"[]", b"", b"{", b"\x00",
        b'{"version": "1"}', b'{"version": 1}',
    ],
)  # fmt: skip
def test_journals_we_do_not_know(call: Client, project: Project, tool: str, content: bytes) -> None:
    """With a journal that is not ours to complete every call is refused, and it stays."""
    settle(project)
    project.put("state/txn.json", content)
    message = call.refused(tool, SMALLEST[tool])
    assert "txn.json" in message
    assert project.get("state/txn.json") == content


@pytest.mark.requirement("storage.journal-version", "files.broken-kept")
@pytest.mark.parametrize("spoilt", [{"content": "{}"}, {"after": "sha256:0"}])
def test_journal_content_is_written_only_if_its_digest_matches(
    call: Client, project: Project, make_app: Callable[..., Any], spoilt: dict[str, str]
) -> None:
    """The content that a journal holds for a file is written only if it matches its digest."""
    settle(project)
    recorded(project, make_app)
    journal = project.json("state/txn.json")
    journal["files"][0].update(spoilt)
    project.put("state/txn.json", journal)
    assert "txn.json" in call.error("plan_status")


@pytest.mark.requirement("storage.journal-version")
def test_journal_with_a_long_id_is_refused(call: Client, project: Project, make_app: Callable[..., Any]) -> None:
    """An id that no file name has room for is none of ours: the change is not begun that could not be ended."""
    settle(project)
    recorded(project, make_app)
    project.put("state/txn.json", {**project.json("state/txn.json"), "id": "a" * 250})
    assert "txn.json" in call.error("plan_status")


@pytest.mark.requirement("storage.pending")
@pytest.mark.parametrize("tool", NAMES)
def test_any_call_completes_a_recorded_close(project: Project, make_app: Callable[..., Any], tool: str) -> None:
    """Any next call completes the recorded close before its response is sent."""
    settle(project)
    recorded(project, make_app)
    answer = make_app(project.root).call(tool, SMALLEST[tool])
    content = unpack(answer)
    answer.confirm_delivery()
    assert JOURNAL not in project.snapshot()
    cycles = project.json("history.json")["cycles"]
    assert len(cycles) == 2
    assert cycles[1]["plan"]["id"] == 2
    expected = {
        "plan_status": {"active": False},
        "task_list": {"exists": False},
        "plan_update": {"error": "No active plan session"},
        "plan_decide": {"error": "No active plan session"},
        "task_update": {"error": "tasks.json not found"},
        "context": {"branch": "main", "activeMode": None, "decisions": []},
    }
    if tool in expected:
        assert content == expected[tool]


@pytest.mark.requirement("storage.conflict", "storage.pending")
@pytest.mark.parametrize("file", ["plan.json", "tasks.json"])
def test_file_changed_before_recovery_is_kept_as_a_copy(
    project: Project, make_app: Callable[..., Any], file: str
) -> None:
    """A session file that another program changed between crash and recovery is kept under another name."""
    settle(project)
    recorded(project, make_app)
    project.put(f"state/{file}", b'{"foreign": "edit"}')
    assert Client(make_app(project.root), project)("task_close")["total_cycles"] == 2
    kept = [path for path in project.state.iterdir() if path.name.startswith("conflict-")]
    assert [path.read_bytes() for path in kept] == [b'{"foreign": "edit"}']
    assert kept[0].name.endswith(f"-{file}")
    assert not (project.state / file).exists()


@pytest.mark.requirement("storage.journal-version")
def test_the_journal_holds_no_secret_path(project: Project, make_app: Callable[..., Any]) -> None:
    """A journal names files of the state folder only; one that names others is not applied."""
    settle(project)
    recorded(project, make_app)
    journal = json.loads(project.get("state/txn.json"))
    text = json.dumps(journal).replace('"plan.json"', '"../../src.py"')
    project.put("state/txn.json", text)
    target = Path(project.root, "src.py")
    target.write_text("kept")
    message = Client(make_app(project.root), project).refused("task_close", {})
    assert "txn.json" in message
    assert target.read_text() == "kept"


@pytest.mark.requirement("storage.journal-newer", "files.newer-major")
@pytest.mark.parametrize("tool", NAMES)
def test_recorded_close_waits_while_the_history_is_newer(
    project: Project, make_app: Callable[..., Any], tool: str
) -> None:
    """When the history has become one that we only read, a recorded close waits and nothing is changed."""
    settle(project)
    recorded(project, make_app)
    project.put("history.json", {"schema_version": "2.0", "cycles": []})
    message = Client(make_app(project.root), project).refused(tool, SMALLEST[tool])
    assert "txn.json" in message
    assert "version" in message


@pytest.mark.requirement("storage.pending", "files.broken-kept")
@pytest.mark.parametrize("content", [b"", b"{", b"<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n"])
def test_recorded_close_waits_while_the_history_is_broken(
    project: Project, make_app: Callable[..., Any], content: bytes
) -> None:
    """While the history is unreadable a recorded close waits; it completes once the history is repaired."""
    settle(project)
    before = project.get("history.json")
    recorded(project, make_app)
    project.put("history.json", content)
    client = Client(make_app(project.root), project)
    for tool in NAMES:
        message = client.refused(tool, SMALLEST[tool])
        assert "history.json" in message
    project.put("history.json", before)
    assert client("task_close")["total_cycles"] == 2
    assert len(project.json("history.json")["cycles"]) == 2


@pytest.mark.requirement("storage.journal-version")
@pytest.mark.parametrize("version", [0, 2, 99, "1", None])
@pytest.mark.parametrize("tool", ["plan_status", "task_add", "task_close"])
def test_journal_of_another_version_is_not_applied(
    project: Project, make_app: Callable[..., Any], tool: str, version: Any
) -> None:
    """A journal of another version is not applied, even if it is otherwise valid."""
    settle(project)
    recorded(project, make_app)
    project.put("state/txn.json", {**project.json("state/txn.json"), "version": version})
    assert "txn.json" in Client(make_app(project.root), project).refused(tool, SMALLEST[tool])
