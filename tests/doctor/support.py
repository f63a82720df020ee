"""Run doctor for a test, and check the properties that hold for every run."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from nexus_mcp import schemas
from nexus_mcp.doctor.examine import examine
from nexus_mcp.doctor.finding import Finding, Report
from nexus_mcp.doctor.reports import to_json, to_text
from nexus_mcp.server.app import App
from nexus_mcp.store.folder import Folder
from nexus_mcp.workspace import Workspace
from tests.conftest import git
from tests.support import Project

Seen = dict[str, tuple[Any, ...]]


def look(root: Path, patience: float = 0.0) -> Report:
    """The report on a project, which is untouched by it, keeps its schema, and can be shown on a terminal."""
    before = traces(root)
    report = examine(str(root), patience)
    assert traces(root) == before
    shown(report)
    return report


def shown(report: Report) -> str:
    """Return the report as text, after checking that it is fit for a terminal and equals the JSON."""
    value = json.loads(to_json(report))
    assert list(_validator().iter_errors(value)) == []
    assert sum(value["totals"].values()) == len(value["findings"]) + sum(value["more"].values())
    text = to_text(report)
    lines = text.split("\n")
    assert [line for line in lines if not line.isprintable() or line != line.rstrip()] == []
    files = [finding.file for finding in report.findings]
    assert [line for line in lines[1:] if len(line) > 80 and not any(ascii(file)[1:-1] in line for file in files)] == []
    return text


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(schemas.load("doctor/report"))


def codes(root: Path) -> list[str]:
    """Return the codes of the findings, sorted."""
    return sorted(finding.code for finding in look(root).findings)


def only(root: Path) -> Finding:
    """Return the only finding."""
    (finding,) = look(root).findings
    return finding


@contextmanager
def opened(root: Path, *names: str) -> Iterator[Folder]:
    """Return the existing folder, open."""
    with ExitStack() as stack:
        folder = stack.enter_context(Folder.root(str(root)))
        for name in names:
            child = folder.child(name)
            assert child is not None
            folder = stack.enter_context(child)
        yield folder


def traces(root: Path) -> Seen:
    """Every path below the root with all that looking at it may not change. When it was last read is not among it."""
    seen = {".": _trace(root)}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            seen[path.relative_to(root).as_posix()] = _trace(path)
    return seen


def _trace(path: Path) -> tuple[Any, ...]:
    info = path.lstat()
    content = path.read_bytes() if stat.S_ISREG(info.st_mode) and info.st_size < 1 << 20 else b""
    return (info.st_mode, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_nlink, content)


def answered(root: Path, name: str, /, **arguments: Any) -> Any:
    """Call a tool as a server does, deliver the response, and return the answer."""
    answer = App(Workspace(str(root))).call(name, arguments)
    answer.confirm_delivery()
    assert answer.result["isError"] is False, answer.result
    return answer.result["structuredContent"]


def whole_cycle(root: Path, *, close: bool = True) -> None:
    """A plan that was decided and carried out."""
    answered(root, "plan_start", topic="Topic", issues=["One"], research_summary="")
    answered(root, "plan_decide", issue_id=1, decision="Yes")
    answered(root, "task_add", title="Do it", context="c", plan_issue=1)
    answered(root, "task_add", title="Then this", context="c", deps=[1])
    answered(root, "artifact_write", filename="notes/a.md", content="text")
    if close:
        answered(root, "task_close")


def commit(project: Project, *paths: str) -> None:
    git(project.root, "add", "-f", *paths)
    git(project.root, "commit", "-q", "-m", "Next")
