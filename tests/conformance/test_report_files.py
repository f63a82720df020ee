"""Reports as files: the name selects the kind, and an unwritable path is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nexus_mcp.conformance.report import files
from nexus_mcp.conformance.report.html import to_html
from nexus_mcp.conformance.report.json_report import to_badge, to_json
from nexus_mcp.conformance.report.junit import to_junit
from nexus_mcp.errors import HarnessFault, UsageError
from tests.conformance import runs


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("junit.xml", to_junit(runs.MIXED)),
        ("out/report.html", to_html(runs.MIXED)),
        ("result.json", to_json(runs.MIXED)),
        ("Report.HTML", to_html(runs.MIXED)),
        ("badge.json", to_badge(runs.MIXED)),
        ("out/badge-core.json", to_badge(runs.MIXED)),
        ("badge/result.json", to_json(runs.MIXED)),
        ("my-badge.json", to_json(runs.MIXED)),
    ],
)
def test_suffix_decides_the_kind_of_report(path: str, text: str) -> None:
    """The suffix decides the kind of report; a .json file whose name begins with badge is a badge."""
    assert files.kind(path)(runs.MIXED) == text


@pytest.mark.parametrize("path", ["report", "report.txt", "xml", "badge", "badge.xml.gz", ""])
def test_unknown_suffix_is_refused(path: str) -> None:
    """A name with an unknown suffix is refused with the known suffixes."""
    with pytest.raises(UsageError) as caught:
        files.kind(path)
    assert str(caught.value) == (
        f"--report {path}: the name does not show which report to write. "
        "Use a name that ends in .xml (JUnit), .html or .json; badge.json is a badge."
    )


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["gone/a.xml"], "--report gone/a.xml: the folder gone does not exist. Create it, then start again."),
        (["a.xml", "there.xml"], "--report there.xml: it is a folder."),
        (["file/a.xml"], "--report file/a.xml: the folder file does not exist. Create it, then start again."),
        (["a.xml", "./a.xml"], "--report ./a.xml appears twice."),
    ],
)
def test_unwritable_report_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paths: list[str], message: str
) -> None:
    """A report that cannot be written is reported before the run, and no file is created."""
    monkeypatch.chdir(tmp_path)
    Path("there.xml").mkdir()
    Path("file").write_text("")
    before = sorted(os.listdir())
    with pytest.raises(UsageError) as caught:
        files.check("--report", paths)
    assert str(caught.value) == message
    assert sorted(os.listdir()) == before


def test_report_replaces_an_older_one(tmp_path: Path) -> None:
    """A report replaces an older one completely, and leaves no other file."""
    folder = tmp_path / "out"
    folder.mkdir()
    path = folder / "result.json"
    path.write_text("older and longer than the new one")
    files.check("--report", [str(path)])
    files.write("--report", str(path), "{}\n")
    assert json.loads(path.read_text()) == {}
    assert os.listdir(folder) == ["result.json"]


def test_failed_write_leaves_no_file(tmp_path: Path) -> None:
    """A report whose write fails is a fault of the harness, and leaves no file behind."""
    folder = tmp_path / "out"
    (folder / "result.json").mkdir(parents=True)
    path = str(folder / "result.json")
    with pytest.raises(HarnessFault) as caught:
        files.write("--report", path, "{}\n")
    assert caught.value.faults == [f"--report {path}: could not be written: Is a directory"]
    assert os.listdir(folder) == ["result.json"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [("/proc/x.json", "No such file or directory"), ("x" * 300 + ".json", "File name too long")],
)
def test_folder_that_takes_no_files_is_refused_before_the_run(path: str, reason: str) -> None:
    """A folder that takes no files and a name that is too long are found out before the run."""
    with pytest.raises(UsageError) as caught:
        files.check("--report", [path])
    assert str(caught.value) == f"--report {path}: no file can be created there: {reason}."


def test_report_may_have_the_longest_name(tmp_path: Path) -> None:
    """A report may have a name as long as the system allows."""
    folder = tmp_path / "out"
    folder.mkdir()
    path = str(folder / ("x" * 250 + ".json"))
    files.check("--report", [path])
    files.write("--report", path, "{}\n")
    assert os.listdir(folder) == [os.path.basename(path)]
