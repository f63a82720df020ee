"""What the server has not imported when it answers tools/list: that is what makes it start at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.wire.talk import ROOT, initialize, line, modern, request

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


# A session whose input comes piece by piece; what is loaded is told at each read. `ready` is what a look says of the
# next piece, `asked` the seconds that a look may wait for it.
PIECEWISE = """
import json, os, sys
from nexus_mcp.server.app import App
from nexus_mcp.server.stdio import _Session
from nexus_mcp.server.stopping import Stop
from nexus_mcp.workspace import Workspace
pieces, ready = json.loads(sys.argv[1]), json.loads(sys.argv[2])
told, asked = [], []
class Source:
    fd = os.pipe()[0]
    def is_ready(self, seconds=0):
        asked.append(seconds)
        return ready
    def read(self):
        told.append([name for name in sys.modules if name.startswith("nexus_mcp.")])
        return pieces.pop(0).encode() if pieces else b""
class Sink:
    def send(self, message, before_waiting=None):
        return True
with Stop() as stop:
    _Session(App(Workspace(os.getcwd())), Source(), Sink(), stop).run()
print(json.dumps([told, asked]))
"""


def read_piecewise(tmp_path: Path, *messages: object, ready: bool) -> tuple[list[set[str]], list[float]]:
    """(Of our modules, those that are loaded before each read, how long each look at the input might have waited)."""
    pieces = [line(message).decode() for message in messages]
    child = subprocess.run(
        [sys.executable, "-c", PIECEWISE, json.dumps(pieces), json.dumps(ready)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    told, asked = json.loads(child.stdout)
    return [{name.removeprefix("nexus_mcp.") for name in names} for names in told], asked


FOR_ANY_CALL = {"server.calls", "server.rendered"}


@pytest.mark.parametrize("opening", [initialize(), modern(0, "server/discover")], ids=["initialize", "discover"])
def test_loaded_while_the_client_reads(tmp_path: Path, opening: object) -> None:
    """What every call needs is loaded after the first answer, while the client reads that; all else after the list."""
    listed = modern(1, "tools/list") if "discover" in str(opening) else request(1, "tools/list")
    (begun, opened, after, *_), asked = read_piecewise(tmp_path, opening, listed, ready=False)
    assert begun & FOR_ANY_CALL == set()
    assert opened - begun >= FOR_ANY_CALL
    assert not opened & {"store.commit", "store.session.reading"}
    assert after >= {"store.commit", "store.session.reading", "store.session.writing"}
    # Nothing is waited for before the list, nor, longer than for a moment, after it.
    assert asked[0] == 0
    assert sum(1 for seconds in asked if seconds) == 1
    assert max(asked) <= 0.001


def test_nothing_is_loaded_before_what_is_there_already(tmp_path: Path) -> None:
    """A client that does not wait for an answer does not wait for us either: neither for the list, nor for a call."""
    (begun, opened, after, *_), _ = read_piecewise(tmp_path, initialize(), request(1, "tools/list"), ready=True)
    assert opened == begun
    assert not after & {"store.commit", "store.session.writing"}
    assert "store.session.reading" in after  # which every look at the files takes


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
