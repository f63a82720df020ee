"""A new tool, event or check touches few files; a missing part fails, and the message says what to add and where."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.adding import parts
from tests.adding.tree import Tree
from tests.conformance.suite import packaged
from tests.miniatures import record

KNOWN = "tests/test_completeness.py"
RECORD = ("tests.miniatures.record",)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "tree")


def test_further_tool_passes_only_with_all_its_parts(tree: Tree) -> None:
    """Without its class, its fixture or its method of the model something fails; with them all of it passes."""
    parts.add_tool(tree)
    contract = {parts.CONTRACT_PAGE, parts.RULES}
    assert tree.touched == {parts.TOOL_FILE, parts.TOOLS, parts.TOOL_FIXTURES, parts.TASKS_MODEL, *contract}
    tree.edit(parts.TOOL_FILE, {parts.TOOL_CLASS: ""})
    tree.edit(parts.TASKS_MODEL, {parts.MODEL: ""})
    tree.remove(parts.TOOL_FIXTURES)
    told = tree.run("nexus_mcp", "serve").err
    assert "The tool task_rename has no capability class, so every agent could use it. Give it classes=(...)" in told
    tree.edit(parts.TOOL_FILE, {"    run=run,\n": f"    run=run,\n{parts.TOOL_CLASS}"})
    told = tree.tested(KNOWN, "-k", "tool")
    for message in (
        "suite: the tool task_rename is unknown. Add a fixture that calls it in conformance/tools/task_rename.json",
        "model oracle: the tool task_rename is unknown. Add a method task_rename in class Plans, Tasks or Model",
        "miniatures: the task_rename is unknown. Add a Miniature about task_rename in tests/miniatures/, or a fixture",
    ):
        assert message in told
    tree.write(parts.TOOL_FIXTURES, parts.as_text(parts.TOOL_FIXTURE))
    tree.edit(parts.TASKS_MODEL, {parts.BEFORE_MODEL: parts.MODEL + parts.BEFORE_MODEL})
    writers = ("nexus_mcp.catalog.building", "docs.generate", "docs.contract_page")
    commands = (*((writer,) for writer in writers), (*RECORD, parts.TOOL_FIXTURE["test_id"]))
    for command in commands:
        done = tree.run(*command)
        assert done.code == 0, done.err
    tested = (
        KNOWN,
        "tests/catalog/test_shipped_catalog.py",
        "tests/contract/test_calls.py",
        "tests/contract/test_crashes.py",
        "tests/conformance/test_contract.py",
        "tests/run/test_session_rules.py",  # a session of a run may not call it
    )
    part = "test_completeness or test_shipped or test_the_table or claim_each_other or pages_are_current "
    part += "or task_rename or other_sessions"
    assert not (told := tree.tested(*tested, "-k", part)), told
    done = tree.run("nexus_mcp", "conformance", "run", "--tool", "task_rename")
    assert (done.code, "1 passed" in done.out) == (0, True), done.out
    # An agent that may not change tasks may not use it, in any harness.
    asked = ("--agent", "architect", "--tool", "mcp__other__nx_task_rename", "--harness-id", "codex")
    assert tree.run("nexus_mcp", "capabilities", "check", *asked).code == 1


def test_fixture_without_row_in_the_record_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fixture without a row in the record fails, and the message says how to record it."""
    (fixture, *_) = packaged()
    broad, rows = record.read()
    assert record.faults([fixture], broad, {}) == [
        f"miniatures: what the fixture {fixture.test_id} catches is unknown. Add it with python -m "
        f"tests.miniatures.record {fixture.test_id} (CONTRIBUTING.md, Where do I add)."
    ]
    monkeypatch.setitem(rows, fixture.test_id, "miniature that-is-gone")
    (told,) = record.faults([fixture], broad, {fixture.test_id: rows[fixture.test_id]})
    assert "catches that-is-gone, which is no miniature that counts: run python -m tests.miniatures.record" in told


def test_new_event_passes_only_with_all_its_parts(tree: Tree) -> None:
    """With a file, a row, a fixture and the rows of two pages all of it passes; without one of them something fails."""
    parts.add_event(tree)
    pages = {parts.EVENT_PAGE, parts.COMMANDS_PAGE, parts.CONTRACT_PAGE}
    assert tree.touched == {parts.EVENT_FILE, parts.EVENTS, parts.EVENT_FIXTURES, parts.RULES, *pages}
    for command in (("docs.contract_page",), (*RECORD, parts.EVENT_FIXTURE["test_id"])):
        done = tree.run(*command)
        assert done.code == 0, done.err
    contract = "tests/conformance/test_contract.py"
    tested = (KNOWN, "tests/lifecycle/test_lifecycle_page.py", "tests/cli/test_hook.py", contract)
    part = "test_completeness or test_shipped or test_the_table or claim_each_other or pages_are_current "
    part += "or task_rename or other_sessions"
    assert not (told := tree.tested(*tested, "-k", part)), told
    hook = ("--event-command", f"{sys.executable} -m nexus_mcp hook {{type}}")
    done = tree.run("nexus_mcp", "conformance", "run", "--tool", "session_idle", *hook)
    assert (done.code, "1 passed" in done.out) == (0, True), done.out
    tree.remove(parts.EVENT_FIXTURES)
    tree.edit(parts.EVENTS, {parts.EVENT_ROW: ""})
    told = tree.tested(KNOWN)
    assert (
        "EVENTS: the event session_idle is unknown. Add a row that loads session_idle in nexus_mcp/lifecycle/" in told
    )


def test_new_check_passes_only_with_all_its_parts(tree: Tree) -> None:
    """With a file, a row, a code here and in the page, and a case all of it passes; without one something fails."""
    parts.add_check(tree)
    assert tree.touched == {parts.CHECK_FILE, parts.CHECKS, parts.CODES, parts.CHECK_PAGE, parts.CASES}
    tested = (KNOWN, "tests/doctor/test_page.py", "tests/doctor/test_cases.py")
    assert not (told := tree.tested(*tested, "-k", "test_completeness or test_page or made-up-code")), told
    tree.edit(parts.CASES, {parts.CASE: ""})
    tree.edit(parts.CHECKS, {parts.CHECK_ROW: ""})
    tree.edit(parts.CHECK_PAGE, {parts.CHECK_PAGE_ROW: ""})
    told = tree.tested(KNOWN, "tests/doctor/test_page.py")
    for message in (
        "doctor: the check made_up.check is unknown. Add a row made_up.check in CHECKS of nexus_mcp/doctor/checks/",
        "docs/doctor.md has no row for made-up-code. Add to its table: | `made-up-code` | note | A rule without",
        "cases of doctor: the code made-up-code is unknown. Add a Case that breaks a healthy workspace so, to CASES of",
    ):
        assert message in told
