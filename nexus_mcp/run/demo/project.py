"""The repository of `nexus-mcp run --demo`: a module with a failing test, and three tasks."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import Any

from nexus_mcp.run.config import RunConfig
from nexus_mcp.run.demo import agent
from nexus_mcp.state.oplog import By
from nexus_mcp.store.store import Store
from nexus_mcp.tools import task_add
from nexus_mcp.tools.definition import ToolContext
from nexus_mcp.workspace import Workspace

HARNESS = "demo-agent"
FILES = {
    "prices.py": '"""Prices of a shop."""\n\n\ndef total(prices):\n    return 0\n',
    "test_prices.py": (
        "import unittest\n\nimport prices\n\nCase = unittest.TestCase\n\n\nclass Total(Case):\n"
        "    def test_sum(self):\n        self.assertEqual(prices.total([1, 2]), 3)\n"
    ),
    ".gitignore": "__pycache__/\n",
}
TASKS: tuple[dict[str, Any], ...] = (
    {
        "title": "Let total() add the prices up",
        "context": "test_sum fails: total() returns 0.",
        "acceptance": "The test passes.",
        "owner": "engineer",
    },
    {
        "title": "Add discounted(price, percent)",
        "context": "The shop gives discounts.",
        "acceptance": "25 % off 200 is 150, and a test shows it.",
        "owner": "engineer",
        "deps": [1],
    },
    {
        "title": "Add shown(price)",
        "context": "Prices are shown with two digits and the currency.",
        "acceptance": "3 is shown as 3.00 EUR, and a test shows it.",
        "owner": "engineer",
        "deps": [1],
    },
)
_USER = {f"GIT_{role}_{part}": "demo" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}


def make(folder: str) -> Workspace:
    """Make the repository in an empty folder, with its task list, and return the workspace."""
    _git(folder, "init", "--quiet", "--template=", "--initial-branch=main")
    _git(folder, "config", "user.name", "Demo")
    _git(folder, "config", "user.email", "demo@example.org")
    _git(folder, "config", "commit.gpgsign", "false")
    for name, text in FILES.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    _git(folder, "add", ".")
    _git(folder, "commit", "--quiet", "--message", "Sell things")
    workspace = Workspace(os.path.realpath(folder))
    store = Store(workspace)
    context = ToolContext(workspace, store, By(task_add.TOOL.name, workspace.harness_id, "nexus-mcp run --demo"))
    for task in TASKS:
        task_add.TOOL.run(context, {"deps": [], **task})
    return workspace


def config(worktrees: str) -> RunConfig:
    """Return the configuration of the demo, whose harness is the scripted agent."""
    python, program = sys.executable, agent.__file__
    template = {"command": [python, program], "resume": [python, program, "--resume"], "format": "jsonl"}
    return RunConfig.model_validate(
        {
            "harness": HARNESS,
            "drivers": {HARNESS: template},
            "worktrees": worktrees,
            "checks": {"test": f"{shlex.quote(python)} -m unittest"},
            "review": {"do": ["tester"]},
            "jobs": 2,
        }
    )


def log(folder: str) -> str:
    """Return the last 30 commits of the checked-out branch as git draws them."""
    return _git(folder, "log", "--graph", "--format=%s", "--max-count=30")


def is_green(folder: str) -> bool:
    """Return whether the tests of the repository pass in its checkout."""
    done = subprocess.run([sys.executable, "-m", "unittest"], cwd=folder, capture_output=True, check=False)
    return done.returncode == 0


def _git(folder: str, *words: str) -> str:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _USER
    done = subprocess.run(  # noqa: S603
        ["git", *words],  # noqa: S607
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
