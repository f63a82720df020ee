"""`nexus-mcp history repair` and `nexus-mcp history merge`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from nexus_mcp.cli import main
from nexus_mcp.store.folder import Folder
from tests.cli.support import CHECKOUT, nexus
from tests.cli.test_help import HEAVY
from tests.merging.support import OURS, numbered, titles
from tests.support import Project, without_lock

ONE, TWO = OURS([numbered(1), numbered(2)]), OURS([numbered(1), numbered(3)])
MARKED = b"<<<<<<< HEAD\n" + ONE + b"=======\n" + TWO + b">>>>>>> other\n"
N = b"\n"
CUT = ONE[:-30].replace(b"Work 2", b"\x1b[31m\xff")
FILE = ".nexus/history.json"
Capture = pytest.CaptureFixture[str]


def repair(project: Project, *options: str) -> int:
    return main(["history", "repair", "--project", str(project.root), *options])


def test_conflict_is_repaired_with_next_steps(project: Project) -> None:
    """A conflict is reported and repaired; the output names the backup and the remaining steps; a second repair finds a
    whole history.
    """
    project.put("history.json", MARKED)
    ran = nexus("history", "repair", cwd=project.root)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"{FILE} has git conflict markers: 2 cycles on our side, 2 cycles on theirs, 3 cycles in all.",
        "git records no conflict for this file, so the repair uses only the cycles in it. If a branch changed old "
        "cycles, compare the result with that branch.",
        "Cycles of the result, with their sources:",
        "  cycle 1: 1970-01-01T00:01:00.000Z, our side and their side",
        "  cycle 2: 1970-01-01T00:02:00.000Z, our side",
        "  cycle 3: 1970-01-01T00:03:00.000Z, their side",
        "Repaired. The previous file is kept as .nexus/history.backup.json, which git does not ignore: "
        "delete it when you no longer need it.",
        f"If you added the file to git with the markers, run git add {FILE} again.",
    ]
    assert titles(project.get("history.json")) == [1, 2, 3]
    again = nexus("history", "repair", cwd=project.root)
    assert again == (0, f"{FILE} is whole, with 3 cycles: nothing to repair.\n", "")


def test_interrupt_during_a_repair_takes_effect_after_it(project: Project, capsys: Capture) -> None:
    """Ctrl-C between the copy and the repaired history takes effect only after both are written and reported."""
    project.put("history.json", MARKED)
    real = Folder.rename

    def rename(self: Folder, old: str, new: str) -> None:
        signal.raise_signal(signal.SIGINT)
        real(self, old, new)
        signal.raise_signal(signal.SIGINT)

    with patch.object(Folder, "rename", rename):
        assert repair(project) == 0
    assert "Repaired." in capsys.readouterr().out
    assert titles(project.get("history.json")) == [1, 2, 3]


def test_dry_run_changes_nothing_and_exits_with_1(project: Project, capsys: Capture) -> None:
    """A dry run reports the faults, exits with 1 and changes nothing, with any other option."""
    for data, told in (
        (MARKED, "keeps the cycles of both sides, each once."),
        (CUT, "and a copy of this file."),
    ):
        project.put("history.json", data)
        before = project.snapshot()
        assert repair(project, "--dry-run", "--yes") == 1
        out = capsys.readouterr().out
        assert "Nothing was changed" in out
        assert out.endswith(f"{told}\n")
        assert project.snapshot() == before


def test_damaged_history_is_repaired_only_with_yes(project: Project, capsys: Capture) -> None:
    """Readable cycles are counted, unreadable parts are shown escaped with their place; only --yes drops these
    parts.
    """
    project.put("history.json", CUT)
    before = project.snapshot()
    assert repair(project) == 1
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0].startswith(f"{FILE} (line 27, column 26) is not UTF-8")
    assert lines[1:3] == ["1 cycle can be read.", "Unreadable (1 part):"]
    assert lines[3].startswith('  line 19, column 5: 337 bytes, beginning with {\\n      "schema_version": "0.5"')
    assert lines[4:] == [
        f"Nothing was changed. A whole copy may be in git: git log -- {FILE} lists the copies.",
        "nexus-mcp history repair --yes keeps what can be read, and a copy of this file.",
    ]
    assert "\x1b" not in out
    assert project.snapshot() == before
    assert repair(project, "--yes") == 0
    assert titles(project.get("history.json")) == [1]
    assert project.get("history.backup.json") == CUT


def test_first_ten_unreadable_parts_are_shown(project: Project, capsys: Capture) -> None:
    """The first ten unreadable parts are shown and the others counted; a missing end alone is named as such."""
    whole = '{"completed_at": "", "tasks": []}'
    project.put("history.json", '{"cycles": [' + f"{whole}, \0, " * 12 + whole)
    assert repair(project) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:4] == [
        "13 cycles can be read.",
        "Unreadable (12 parts):",
        "  line 1, column 48: 1 bytes that are all NUL",
    ]
    assert lines[13] == "  and 2 more"
    project.put("history.json", f'{{"cycles": [{whole}')
    assert repair(project) == 1
    assert "All complete cycles are readable; the end of the file is missing." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("data", "fault", "slips"),
    [
        ('{"cycles": [\n %,\n %,\n]}', " (line 3, column 35) is not JSON (a comma before a closing bracket)",
         ["line 3, column 35: a comma too many before the closing bracket"]),
        ('{"cycles": [%,, %]}', " (line 1, column 47) is not JSON (Expecting value)",
         ["line 1, column 47: a comma too many"]),
        ('{"cycles": [%\n%]}', " (line 2, column 1) is not JSON (Expecting ',' delimiter)",
         ["line 1, column 46: a comma is missing after a cycle"]),
        ('{"cycles": [,%,,\n,]}', " (line 1, column 13) is not JSON (Expecting value)",
         ["line 1, column 13: a comma too many", "line 1, column 47: commas too many before the closing bracket"]),
    ],
)  # fmt: skip
def test_a_comma_is_called_a_comma(project: Project, capsys: Capture, data: str, fault: str, slips: list[str]) -> None:
    """If only commas are wrong, each is named with its place, and no message says that the end is missing."""
    project.put("history.json", data.replace("%", '{"completed_at": "", "tasks": []}'))
    assert repair(project) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{FILE}{fault}."
    assert lines[2:-2] == [f"  {slip}" for slip in slips]
    assert repair(project, "--yes") == 0


@pytest.mark.parametrize(
    ("data", "code", "told"),
    [
        (None, 0, f"There is no {FILE}: no cycle was closed here yet."),
        (ONE, 0, f"{FILE} is whole, with 2 cycles: nothing to repair."),
        (b"", 1, "It cannot be repaired: it does not begin like a history."),
        (MARKED[:-16], 1, f"the conflict markers are not those of one merge (line {MARKED[:-16].count(N)})."),
        (b'{"cycles": [{"a": 1, "a": 2}]}', 1, "an object with the same key twice"),
    ],
)  # fmt: skip
def test_exit_code_distinguishes_whole_missing_and_unreadable(
    project: Project, capsys: Capture, data: bytes | None, code: int, told: str
) -> None:
    """The exit code differs for a whole, a missing and an irreparable history; no file changes."""
    if data is not None:
        project.put("history.json", data)
    before = project.snapshot()
    assert repair(project, "--yes") == code
    out = capsys.readouterr().out
    assert told in out
    assert ("git log" in out) is (code == 1)
    assert project.snapshot() == before


def test_interrupted_change_is_reported_and_left(project: Project, capsys: Capture) -> None:
    """A pending change is reported and stays."""
    project.put("history.json", MARKED)
    project.put("state/txn.json", b"{}")
    before = project.snapshot()
    assert repair(project) == 0
    assert "the next call completes it" in capsys.readouterr().out
    after = without_lock(project.snapshot())
    assert {path: after[path] for path in before if path != FILE} == {p: c for p, c in before.items() if p != FILE}


def test_refusal_is_one_line_on_stderr(project: Project, capsys: Capture) -> None:
    """A refusal of the store, such as that of a link, is one line on stderr."""
    project.nexus.symlink_to(project.root)
    assert repair(project) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert "symbolic link" in captured.err


@pytest.fixture
def three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files O, A and B in the working directory: A and B each closed a cycle more than O."""
    monkeypatch.chdir(tmp_path)
    for name, data in (("O", OURS([numbered(1)])), ("A", ONE), ("B", TWO)):
        Path(name).write_bytes(data)
    return ["O", "A", "B"]


def test_merge_replaces_the_second_file(three: list[str]) -> None:
    """The merged file is in the place of the second one, silently."""
    assert nexus("history", "merge", *three, cwd=Path.cwd()) == (0, "", "")
    assert titles(Path("A").read_bytes()) == [1, 2, 3]


def test_merge_imports_no_slow_module(three: list[str]) -> None:
    """git runs the driver at each commit of a rebase, so the driver imports no slow module."""
    code = (
        f"import sys; sys.path.insert(0, {str(CHECKOUT)!r})\n"
        f"from nexus_mcp.cli import main; code = main({['history', 'merge', *three]!r})\n"
        "print(*sorted(sys.modules)); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, HEAVY.intersection(done.stdout.split())) == (0, "", set())
    assert titles(Path("A").read_bytes()) == [1, 2, 3]


def test_undecided_merge_exits_with_1(three: list[str], capsys: Capture) -> None:
    """A conflict exits with 1, has the reason on stderr in one line, and markers of the requested size."""
    Path("B").write_bytes(OURS([numbered(3)]))
    assert main(["history", "merge", "--marker-size=9", *three]) == 1
    assert capsys.readouterr() == (
        "",
        "nexus-mcp: The histories are not merged, because their side lacks or has changed a cycle of the common "
        "ancestor. The file has a conflict for you to resolve; nexus-mcp history repair --dry-run shows the possible "
        "repair.\n",
    )
    assert b"\n<<<<<<<<< ours\n" in Path("A").read_bytes()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["O", "A"], "nexus-mcp history merge needs 3 arguments %O %A %B."),
        (["O", "A", "B", "C"], "nexus-mcp history merge takes %O %A %B: 'C' after 'B' is too much."),
        (["O", "A", "X"], "X cannot be read: No such file or directory."),
        (["O", "A", "B", "--marker-size", "0"], "--marker-size needs a number from 1, not '0'."),
        (["O", "A", "B", "--marker-size", "x"], "--marker-size needs a number from 1, not 'x'."),
    ],
)
@pytest.mark.usefixtures("three")
def test_wrong_merge_command_exits_with_2(capsys: Capture, words: list[str], told: str) -> None:
    """A wrong command line ends with 2 and changes nothing."""
    assert main(["history", "merge", *words]) == 2
    assert told in capsys.readouterr().err
    assert Path("A").read_bytes() == ONE
    assert {"O", "A", "B"} <= set(os.listdir())
