"""The projects in which the commands of the pages run: a home folder with ~/my-project, a git repository."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
from tests.cli import example_history
from tests.conftest import git
from tests.pages.blocks import PAGES
from tests.support import pretty

DATED = "2026-01-02T03:04:05.000Z"


def make(home: Path, page: str) -> Path:
    """Make the project of a page below the home folder, with one commit, and return it."""
    root = home / "my-project"
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    (root / "README.md").write_text("# Mine\n", encoding="utf-8")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "First")
    if page in WORLDS:
        WORLDS[page](root)
    return root


def environment(home: Path) -> dict[str, str]:
    """Return the variables of a shell in that home: nexus-mcp of this environment, the system's programs, no proxy."""
    path = os.pathsep.join((os.path.dirname(sys.executable), "/usr/bin", "/bin"))
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", "PAGER": "cat"}


def four_changes(root: Path) -> None:
    """A plan with a decision, and two tasks: four changes that undo can take back."""
    app = App(Workspace(str(root), "claude-code"))
    for tool, arguments in (
        ("plan_start", {"topic": "Cache", "issues": ["How large?"], "research_summary": "None yet."}),
        ("plan_decide", {"issue_id": 1, "decision": "1000 entries."}),
        ("task_add", {"title": "Write it", "context": "cache.py"}),
        ("task_add", {"title": "Test it", "context": "cache.py"}),
    ):
        answer = app.call(tool, arguments)
        assert answer.result["isError"] is False
        answer.confirm_delivery()


def conflicting_history(root: Path) -> None:
    """A committed history, and conflict markers in the file; git knows no merge."""
    nexus = root / ".nexus"
    nexus.mkdir()
    base = {"schema_version": "0.5", "completed_at": DATED, "tasks": []}
    ours, theirs = {**base, "branch": "main"}, {**base, "branch": "other"}
    (nexus / "history.json").write_bytes(pretty({"cycles": [ours]}))
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "Close")
    first, second = json.dumps(ours), json.dumps(theirs)
    text = f'{{"cycles": [\n<<<<<<< HEAD\n{first}\n=======\n{second}\n>>>>>>> other\n]}}\n'
    (nexus / "history.json").write_text(text, encoding="utf-8")


def foreign_folders(root: Path) -> None:
    """A nexus-core package beside the project, and a memory folder of Claude Code."""
    core = root.parent / "nexus-core"
    for name, text in {
        "package.json": '{"name": "core", "version": "1.2.3"}',
        "agents/tester/meta.yml": (
            "id: tester\nname: tester\ndescription: Tests.\ncategory: check\nresume_tier: ephemeral\n"
            "model_tier: standard\ncapabilities: [no_file_edit, no_task_create]\n"
        ),
        "agents/tester/body.md": "# Tester\n",
        "skills/nx-run/meta.yml": "id: nx-run\nname: nx-run\ndescription: How to run.\n",
        "skills/nx-run/body.md": "# Run\n\n{{subagent_spawn target_role=explore prompt=x}}\n",
        "vocabulary/tags.yml": "tags:\n  - id: plan\n",
    }.items():
        path = core / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    memory = root.parent / ".claude" / "projects" / "-home-ann-shop" / "memory"
    memory.mkdir(parents=True)
    (memory / "feedback_tests.md").write_text(
        "---\nname: Run tests first\ntype: feedback\n---\nRun the tests before a commit.\n", encoding="utf-8"
    )
    (memory / "user_role.md").write_text("---\nname: Role\ntype: user\n---\nAnn leads the shop.\n", encoding="utf-8")
    (memory / "MEMORY.md").write_text(
        "- [Tests](feedback_tests.md): first\n- [Role](user_role.md): lead\n", encoding="utf-8"
    )


def shared_folder(root: Path) -> None:
    """A folder that is called PROJECT, as on the page."""
    (root / "PROJECT" / "folder").mkdir(parents=True)


def own_fixtures(root: Path) -> None:
    """A folder with a fixture of the reader's own: the first example of docs/fixtures.md."""
    example = PAGES["docs/fixtures.md"].partition("```json\n")[2].partition("```")[0]
    (root / "my-fixtures").mkdir()
    (root / "my-fixtures" / "mine.json").write_text(example, encoding="utf-8")


WORLDS: dict[str, Callable[[Path], None]] = {
    "docs/commands.md": foreign_folders,
    "docs/conformance.md": own_fixtures,
    "docs/history.md": example_history.write,
    "docs/status.md": example_history.write,
    "docs/index.md": four_changes,
    "docs/install.md": shared_folder,
    "docs/merging.md": conflicting_history,
    "docs/undo.md": four_changes,
}
"""Page → what its project has beside the first commit."""
