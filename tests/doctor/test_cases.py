"""Each finding is reported at its place and alone, and not on a healthy workspace."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.doctor.codes import CODES, ERROR, NOTE, SEVERITIES
from tests.conftest import CHECKOUT
from tests.doctor.cases import CASES, ELSEWHERE, LINE, PLAN, TASKS, TWO, Case, folder, puts
from tests.doctor.support import codes, look, only, whole_cycle
from tests.support import Project, compact, cycle, issue, plan, stamp, task, tasks

MODULES = Path(__file__).parent
DOCTOR = CHECKOUT / "nexus_mcp" / "doctor"


@pytest.mark.parametrize("case", CASES, ids=[f"{case.code}-{number}" for number, case in enumerate(CASES)])
def test_each_break_is_reported_once(made: Project, case: Case) -> None:
    """Each fault is reported once, with its code, its file and its place."""
    case.make(made)
    found = look(made.root).findings
    reported = [finding.code for finding in found]
    assert reported == [case.code], (
        f"doctor reports {reported} for a case of {case.code}. None: is its check a row of CHECKS in "
        "nexus_mcp/doctor/checks/__init__.py? unknown-file: give the path a role in nexus_mcp/doctor/places.py."
    )
    assert found[0].file == f".nexus/{case.file}"
    assert (found[0].line, found[0].column, found[0].pointer) == case.place
    assert look(made.root).healthy is (CODES[case.code].severity == NOTE)


def test_every_code_has_a_case() -> None:
    """Every code is found by a case, or by the module that is named for it; none is tested that does not exist."""
    cases = {case.code for case in CASES} | ELSEWHERE.keys()
    missing = sorted(CODES.keys() - cases)
    assert not missing, f"add a Case for {missing} to CASES of tests/doctor/cases.py"
    assert cases <= CODES.keys()
    missing = [code for code, module in ELSEWHERE.items() if f'"{code}"' not in (MODULES / f"{module}.py").read_text()]
    assert missing == []


def test_every_finding_has_a_code() -> None:
    """A check yields only codes of the table, and the table has no code that no module yields."""
    texts = [path.read_text(encoding="utf-8") for path in DOCTOR.rglob("*.py") if path.name != "codes.py"]
    found = {code for text in texts for code in re.findall(r'\b(?:Finding|More)\(\s*"([a-z-]+)"', text)}
    assert found - CODES.keys() == set(), "add a row to CODES of nexus_mcp/doctor/codes.py"
    quoted = {code for text in texts for code in re.findall(r'"([a-z0-9-]+)"', text)}
    composed = {f"repeated-{what}-id" for what in ("task", "issue")}
    assert CODES.keys() - quoted - composed == set()


def test_every_code_has_severity_meaning_and_next_step() -> None:
    """Every code has a known severity, a meaning and a next step of one or two sentences each."""
    for name, code in CODES.items():
        assert code.severity in SEVERITIES, name
        assert code.meaning.endswith("."), name
        assert code.next_step.endswith("."), name


ODD = f":-1{'0' * 5000}.5}}"
HEALTHY: dict[str, dict[str, Any]] = {
    "empty files of logs": {
        "state/tool-log.jsonl": "",
        "state/oplog.jsonl": b"\n",
        "state/codex/memory-access.jsonl": "",
    },
    "BOM and CRLF": {
        PLAN: f"\ufeff{compact(plan())}\r\n".replace(",", ",\r\n"),
        "history.json": '\ufeff{"cycles": []}\r\n',
        ".gitignore": "state/\r\n",
    },
    "old shapes": {
        "history.json": {
            "cycles": [
                {"completed_at": stamp(0), "branch": "main", "plan": None, "tasks": [], "topics": ["a"], "deleted": 1},
                {**cycle(plan(1, extra=1), task(1, more={"a": [1]}), at=stamp(1)), "schema_version": "9.9"},
                cycle(plan(2, issues=[issue(1, "A", "decided", decision="", note=1)]), at=stamp(2)),
            ]
        }
    },
    "lone surrogates and long numbers in an old cycle": {
        "history.json": compact({"cycles": [{**TWO[0], "x": "?", "n": 0}]}).replace("?", "\\ud800").replace(":0}", ODD)
    },
    "ids with a point": {
        PLAN: plan(1.0, issues=[issue(2.0, "A")]),
        TASKS: tasks(task(1.0, plan_issue=2), task(2, deps=[1.0])),
    },
    "a chain": {TASKS: tasks(*[task(n, deps=list(range(max(1, n - 3), n))) for n in range(1, 30)])},
    "a plan with an id of the history": {PLAN: plan(1), "history.json": {"cycles": [cycle(plan(1))]}},
    "marks in prose": {
        "memory/a.md": "Git writes\n<<<<<<< HEAD\nthere.\n\nTitle\n=======\n",
        "rules/b.md": "x\n=======\n",
    },
    "a newer line of the log": {"state/oplog.jsonl": '{"version": 7, "x": 1}\n'},
    "notes of each kind": {"memory/a.md": LINE, "memory/deep/b.md": "é", "context/c.md": "", "rules/pic.png": b"\xff"},
    "what harnesses keep": {
        "state/codex/agent-tracker.json": [{"harness_id": "codex", "started_at": stamp(0), "status": "running"}],
        "state/codex/a.extension.json": {"any": ["thing"]},
        "state/codex/agents.extension.jsonl": '\n{"kind":"seen","at":"2026-01-01T00:00:00.000Z"}\n\n{"kind":"later"}\n',
        "state/codex/own/cache.bin": b"\xff\x00",
        "state/codex/own.json": "not JSON, and nobody's affair",
    },
    "artifacts": {"state/artifacts/a/b.md": "<<<<<<< HEAD\n=======\n>>>>>>> b\n", "state/artifacts/plan.json": b"\xff"},
    "a repaired history": {"history.backup.json": "<<<<<<< HEAD", "history.backup.2.json": ""},
    "agents, skills, a map and settings of its own": {
        "agents/README.md": "about them",
        "agents/engineer/meta.yml": "id: engineer\ncapabilities: [no_task_create, no_shell_exec]\n",
        "skills/nx-run/meta.yml": "id: nx-run\ndescription: When to choose it.\n",
        "capability-map.yml": "codex:\n  classes:\n    shell_command_exec: [shell, exec]\n",
        "config.yml": "# nothing yet\n",
    },
    "rules around ours": {".gitignore": "# ours\nstate/\n/state\n*.tmp\n"},
    "a rule for all": {".gitignore": "*\n"},
    "a lock with the pid of a dead process": {"state/lock": "999999999 \n"},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_permitted_state_gives_no_finding(made: Project, name: str) -> None:
    """A permitted state gives no finding, not even a note."""
    for path, content in HEALTHY[name].items():
        puts(path, content)(made)
    assert codes(made.root) == []


def test_project_without_nexus_is_healthy(bare: Project) -> None:
    """A project that nothing was written in is healthy, and nothing was checked."""
    report = look(bare.root)
    assert (report.healthy, report.entries, report.findings) == (True, 0, ())


def test_fresh_clone_is_healthy(bare: Project) -> None:
    """A fresh clone has history, notes and rules and no state; that is healthy."""
    bare.put("history.json", {"cycles": [cycle(plan(1))]})
    bare.put("memory/a.md", "text")
    assert codes(bare.root) == []


def test_each_step_of_a_cycle_is_healthy(bare: Project) -> None:
    """After each step of a whole cycle there is nothing to find."""
    whole_cycle(bare.root, close=False)
    assert codes(bare.root) == []
    whole_cycle(bare.root)
    report = look(bare.root)
    assert report.findings == ()
    assert report.entries == len(list(bare.nexus.rglob("*"))) + 1


def test_all_findings_are_in_one_report(made: Project) -> None:
    """All faults are in one report, the worst first."""
    puts("todo.txt", "")(made)
    puts(PLAN, plan(topic=""))(made)
    puts(TASKS, "{")(made)
    folder("history.json")(made)
    puts("memory/a.md", b"\xff")(made)
    severities = [finding.severity for finding in look(made.root).findings]
    assert severities == [ERROR, ERROR, "warning", "warning", NOTE]


def test_shared_plan_ids_are_reported_together(made: Project) -> None:
    """Any number of plan ids that a merge repeated gives one note, with their number."""
    cycles = [cycle(plan(number % 3 + 1), at=stamp(number)) for number in range(7)]
    puts("history.json", {"cycles": cycles})(made)
    finding = only(made.root)
    assert (finding.code, finding.severity, finding.pointer) == ("repeated-plan-id", NOTE, "/cycles/3/plan/id")
    assert finding.problem == "has 3 plan ids in several plans: 1, 2, 3"


def test_two_faults_of_one_line_are_both_reported(made: Project) -> None:
    """Two faults in one line of a file are both reported."""
    puts("capability-map.yml", "codex: {reading: 5, editing: 5}\n")(made)
    found = [(finding.code, finding.line, finding.column) for finding in look(made.root).findings]
    assert found == [("catalog-fault", 1, 9), ("catalog-fault", 1, 21)]


def test_yaml_only_where_there_is_some(made: Project) -> None:
    """Without a YAML file doctor does not load the YAML parser."""
    code = (
        "import sys; from nexus_mcp.doctor.examine import examine\nexamine(sys.argv[1]); print('yaml' in sys.modules)"
    )
    told = []
    for _ in range(2):
        ran = subprocess.run([sys.executable, "-c", code, str(made.root)], capture_output=True, text=True, check=True)
        told.append(ran.stdout.strip())
        puts("config.yml", "{}\n")(made)
    assert told == ["False", "True"]


def test_missing_field_has_the_place_of_its_object(made: Project) -> None:
    """The place of a missing field is the beginning of the object that lacks it."""
    puts(TASKS, '\n\n  {"goal": "", "decisions": []}')(made)
    finding = only(made.root)
    assert (finding.line, finding.column, finding.pointer, finding.problem) == (3, 3, "/tasks", "is required")
