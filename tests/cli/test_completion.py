"""`nexus-mcp completion`: the ids of tasks, wrong command lines, and the values that a shell can complete."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from nexus_mcp.cli import COMMANDS
from nexus_mcp.cli.options import Argument, Option
from nexus_mcp.cli.shells import Place, argument_value, option_value, places
from tests.cli.support import CHECKOUT, environment, every_command, nexus
from tests.cli.test_help import HEAVY
from tests.support import Project, without_lock

HOSTILE = [
    "Write it $(touch x)",
    "`touch x` and 'quo\"tes'",
    "line\none\ttab \x1b[31mred\u202e %F{red} $HOME",
    "a: b\\c: [x] ;touch x",
    "2>x <(touch x) && touch x",
    *(f"Task {number}" for number in range(6, 12)),
]


def write_tasks(root: Path, titles: list[str]) -> None:
    """Make a tasks.json with a task for each title."""
    rows = [
        {
            "id": at,
            "title": title,
            "context": "c",
            "status": "pending",
            "deps": [],
            "created_at": "2026-01-01T00:00:00Z",
        }
        for at, title in enumerate(titles, 1)
    ]
    state = root / ".nexus" / "state"
    state.mkdir(parents=True, exist_ok=True)
    (state / "tasks.json").write_text(json.dumps({"goal": "g", "decisions": [], "tasks": rows}))


def test_task_ids_are_rows_of_id_and_title(project: Project) -> None:
    """Each task is a line: id, tab, title on one line without control characters, 60 characters at most."""
    write_tasks(project.root, [*HOSTILE[:3], "x" * 61])
    ran = nexus("completion", "--task-ids", cwd=project.root)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.split("\n") == [
        "1\tWrite it $(touch x)",
        "2\t`touch x` and 'quo\"tes'",
        "3\tline one tab \\x1b[31mred\\u202e %F{red} $HOME",
        f"4\t{'x' * 59}…",
        "",
    ]


def test_task_ids_of_another_project(project: Project, tmp_path: Path) -> None:
    """--project names the project."""
    write_tasks(project.root, ["A"])
    assert nexus("completion", "--task-ids", "--project", str(project.root), cwd=tmp_path) == (0, "1\tA\n", "")


def test_task_ids_are_silent_where_there_are_none(project: Project, tmp_path: Path) -> None:
    """Without a project, in an empty one, and with a corrupt file the exit code is 0 and nothing is printed."""
    nothing = (0, "", "")
    assert nexus("completion", "--task-ids", cwd=project.root) == nothing
    assert nexus("completion", "--task-ids", "--project", str(tmp_path / "gone")) == nothing
    for text in ("{", "[]", '{"goal": 1}', "\0"):
        project.state.mkdir(parents=True, exist_ok=True)
        (project.state / "tasks.json").write_text(text)
        assert nexus("completion", "--task-ids", cwd=project.root) == nothing


def test_task_ids_change_nothing(project: Project) -> None:
    """An interrupted change stays as it is, no lock is taken, and no file is made."""
    write_tasks(project.root, ["A"])
    project.put("state/txn.json", "{")
    before = project.snapshot()
    assert nexus("completion", "--task-ids", cwd=project.root) == (0, "1\tA\n", "")
    assert project.snapshot() == without_lock(before) == before


def test_task_ids_import_no_slow_module(project: Project) -> None:
    """The Tab key waits for this command: it imports none of the modules that take long."""
    write_tasks(project.root, ["A"])
    code = (
        f"import sys; sys.path.insert(0, {str(CHECKOUT)!r})\n"
        f"from nexus_mcp.cli import main; main(['completion', '--task-ids', '--project', {str(project.root)!r}])\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, HEAVY.intersection(done.stderr.split()) - {"hashlib"}) == ("1\tA\n", set())


def test_shell_has_to_be_named() -> None:
    """Without a shell, and with an unknown one, one line names the shells or the nearest."""
    step = "See nexus-mcp completion --help."
    assert nexus("completion").err == f"nexus-mcp: nexus-mcp completion needs a SHELL: bash, zsh or fish. {step}\n"
    assert nexus("completion", "bsh").err.startswith(
        "nexus-mcp: nexus-mcp completion has no SHELL 'bsh'; did you mean bash"
    )
    assert nexus("completion").code == nexus("completion", "tcsh").code == 2


def test_scripts_need_no_project(tmp_path: Path) -> None:
    """A script is printed everywhere, and does not depend on the folder."""
    assert nexus("completion", "bash", cwd=tmp_path, env={"NEXUS_PROJECT_ROOT": "gone"}) == nexus("completion", "bash")


def test_each_command_is_a_place() -> None:
    """The table has a place for the bare program, and one for each command and subcommand."""
    found = [place.words for place in places(COMMANDS)]
    assert found[0] == ()
    assert sorted(found[1:]) == sorted(words for words, _ in every_command())


def test_values_are_completed_by_their_names() -> None:
    """The word that stands for a value in --help decides: folders, files, tasks, commands; else the choices."""
    names = ("DIR", "[DIR...]", "TASK-ID", "[TASK]", "ID", "[COMMAND]")
    found = [argument_value(Argument(name, "")).kind for name in names]
    assert found == ["folder", "folder", "task", "task", "", "command"]
    kinds = [option_value(Option("--x", name, "")) for name in ("DIR", "FILE", "PATH", "TASK-ID", "COMMAND", "N")]
    assert [value and value.kind for value in kinds] == ["folder", "file", "file", "task", "file", ""]
    assert option_value(Option("--x", "", "")) is None
    harness = option_value(Option("--harness-id", "ID", ""))
    assert harness is not None
    assert [*harness.words] == ["claude-code", "codex", "opencode"]


def test_new_command_needs_no_change_of_the_scripts() -> None:
    """A row in the table of commands is completed in each shell with its options and tasks."""
    from nexus_mcp.cli.options import Command
    from nexus_mcp.cli.shells import bash, fish, zsh

    made = Command(
        "task", "show a task", "", (Option("--owner", "NAME", "x"),), lambda _: 0, argument=Argument("TASK", "")
    )
    table: list[Place] = places({**COMMANDS, "task": lambda: made})
    for module in (bash, zsh, fish):
        text = module.script(table)
        assert "owner" in text
        assert "show a task" in text or module is bash


def test_completion_into_a_closed_pipe_prints_no_error() -> None:
    """A reader that closes the pipe early causes no message."""
    line = f"{sys.executable} -m nexus_mcp completion fish | head -c 10"
    done = subprocess.run(["bash", "-c", line], env=environment(), capture_output=True, check=False)
    assert done.stderr == b""
