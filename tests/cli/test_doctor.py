"""`nexus-mcp doctor` as a command: its output and its exit codes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from nexus_mcp import schemas
from tests.cli.support import nexus, nexus_on_terminal
from tests.doctor.support import traces
from tests.support import Project, task, tasks


@pytest.fixture
def broken(project: Project) -> Project:
    """A project with a circle of tasks, and a name that would write on the terminal."""
    project.put(".gitignore", "state/\n")
    project.put("state/tasks.json", tasks(task(1, deps=[1])))
    project.put("\x1b[31mred", "")
    return project


def test_fresh_project_is_healthy(project: Project) -> None:
    """Before init and after it a project is healthy, and doctor makes nothing."""
    before = traces(project.root)
    assert nexus("doctor", "--project", str(project.root)) == (
        0,
        f"{project.root}\nHealthy: there is no .nexus/ yet. nexus-mcp init creates it.\n",
        "",
    )
    assert traces(project.root) == before
    nexus("init", cwd=project.root)
    before = traces(project.root)
    ran = nexus("doctor", cwd=project.root)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith("\nHealthy. 4 files and folders checked: 0 errors, 0 warnings, 0 notes.\n")
    assert traces(project.root) == before


def test_findings_give_exit_code_1_and_plain_text(broken: Project) -> None:
    """With findings the exit code is 1, the text is plain where it goes into a pipe, and nothing is changed."""
    before = traces(broken.root)
    ran = nexus("doctor", cwd=broken.root)
    assert (ran.code, ran.err) == (1, "")
    assert "\nwarning  .nexus/state/tasks.json, line 10, column 15, /tasks/0/deps\n" in ran.out
    assert "\nnote     .nexus/\\x1b[31mred\n" in ran.out
    lines = [line for line in ran.out.splitlines() if line != str(broken.root)]  # a path is not cut
    assert [line for line in lines if len(line) > 80 or not line.isprintable()] == []
    assert ran.out.splitlines()[-1] == "5 files and folders checked: 0 errors, 1 warning, 1 note."
    assert traces(broken.root) == before


def test_json_output_keeps_its_schema(broken: Project) -> None:
    """--json prints one object that keeps its schema, and nothing else."""
    ran = nexus("doctor", "--json", cwd=broken.root)
    value = json.loads(ran.out)
    assert (ran.code, ran.err) == (1, "")
    assert list(Draft202012Validator(schemas.load("doctor/report")).iter_errors(value)) == []
    assert value["project"] == str(broken.root)
    assert [finding["code"] for finding in value["findings"]] == ["dependency-cycle", "unknown-file"]
    broken.put("state/tasks.json", tasks(task(1)))
    ran = nexus("doctor", "--json", cwd=broken.root)
    assert (ran.code, json.loads(ran.out)["healthy"]) == (0, True)


def test_terminal_gets_colours_unless_switched_off(broken: Project) -> None:
    """A terminal gets colours, unless it or its user wants none."""
    arguments = ("doctor", "--project", str(broken.root))
    assert "\x1b[1;33mwarning\x1b[0m  .nexus/state" in nexus_on_terminal(*arguments).out
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in nexus_on_terminal(*arguments, env=env).out


def test_report_is_complete_in_the_c_locale(broken: Project) -> None:
    """Where only ASCII can be printed the report is whole."""
    ran = nexus("doctor", cwd=broken.root, env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"})
    assert ran.code == 1
    assert ran.out.isascii()


def test_missing_project_exits_with_2(tmp_path: Path) -> None:
    """A missing project is reported in one line with exit code 2."""
    ran = nexus("doctor", "--project", "nowhere", cwd=tmp_path)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)


def test_linked_nexus_exits_with_2(project: Project) -> None:
    """A `.nexus` that is a link is not looked into: exit code 2, one line on stderr, with --json, too."""
    os.symlink(project.root.parent, project.nexus)
    for arguments in ((), ("--json",)):
        ran = nexus("doctor", *arguments, cwd=project.root)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == (
            "nexus-mcp: .nexus is a symbolic link where a folder belongs; nothing was checked. "
            "Look at what was put there and why; move it away yourself if it is not needed.\n"
        )
