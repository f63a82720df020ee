"""What the server has not imported when it answers tools/list: that is what makes it start at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.wire.talk import ROOT, initialize, line, request

# Each of these costs more than the answer itself (docs/wire.md).
SLOW = (
    "typing",
    "dataclasses",
    "asyncio",
    "pydantic",
    "mcp",
    "mcp_types",
    "anyio",
    "jsonschema",
    "logging",
    "pathlib",
    "subprocess",
    "inspect",
    "hashlib",
    "tempfile",
    "importlib.resources",
    "argparse",
    "rich",
    "filelock",
    # Ours, for changes alone.
    "nexus_mcp.store.commit",
    "nexus_mcp.store.jsonl",
    "nexus_mcp.store.leftovers",
    "nexus_mcp.store.oplog",
)
# Runs the server as the console script does, and has the modules listed at the moment tools/list is written.
SPY = """
import os, sys
write = os.write
def spy(fd, data):
    if b'"tools":[' in bytes(data):
        write(2, " ".join(sorted(sys.modules)).encode() + b"\\n")
        os.write = write
    return write(fd, data)
os.write = spy
from nexus_mcp.cli import main
sys.exit(main(["serve"]))
"""


def at_the_list(tmp_path: Path) -> set[str]:
    """The modules that are loaded when tools/list is answered."""
    child = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{SPY}"],
        cwd=tmp_path,
        env={**os.environ},
        input=line(initialize()) + line(request(1, "tools/list")),
        capture_output=True,
        check=True,
    )
    assert child.stdout.count(b"\n") == 2
    return set(child.stderr.decode().split())


def test_modules_before_the_first_answer(tmp_path: Path) -> None:
    """Nothing slow is imported before tools/list is answered, and neither is the thread of the calls."""
    modules = at_the_list(tmp_path)
    assert "nexus_mcp.server.stdio" in modules
    assert modules & {*SLOW, "nexus_mcp.server.calls", "nexus_mcp.server.sdk"} == set()


# What answers requests that hardly any client begins with: resources, prompts, completion, subscriptions.
ROOMS = ("asked", "completion", "lookups", "paging", "prompts", "resources", "subscriptions")


@pytest.mark.requirement("resources.start")
def test_rooms_that_are_not_entered(tmp_path: Path) -> None:
    """Of resources, prompts and subscriptions, and of the catalog behind them, nothing is loaded at the start."""
    modules = at_the_list(tmp_path)
    entered = {name for name in modules if name.startswith("nexus_mcp.") and name.split(".")[1] == "server"}
    assert {name for name in entered if name.split(".")[2:3] and name.split(".")[2] in ROOMS} == set()
    assert {name for name in modules if name.startswith(("nexus_mcp.catalog", "nexus_mcp.knowledge"))} == set()
    assert {name for name in os.listdir(ROOT / "nexus_mcp" / "server") if name.removesuffix(".py") in ROOMS} == {
        *(f"{name}.py" for name in ("asked", "completion", "lookups", "paging")),
        *("prompts", "resources", "subscriptions"),
    }
