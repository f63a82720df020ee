"""The modules that the server has not imported when it answers tools/list, so that it starts fast."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from nexus_mcp.server.pipes import Source
from nexus_mcp.server.stopping import Stop
from tests.wire.connection import ROOT, call, initialize, line, modern, request

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


def test_slow_modules_are_imported_after_the_first_answer(tmp_path: Path) -> None:
    """Nothing slow is imported before tools/list is answered, and neither is the thread of the calls."""
    modules = at_the_list(tmp_path)
    assert "nexus_mcp.server.stdio" in modules
    assert modules & {*SLOW, "nexus_mcp.server.call_queue", "nexus_mcp.server.sdk"} == set()


# A session whose input comes piece by piece; what is loaded is told at each read and at each answer. `ready` is what
# looks at the input say, one after the other and the last for ever; `asked` the seconds that each of them may wait.
PIECEWISE = """
import json, os, sys
from nexus_mcp.server.app import App
from nexus_mcp.server.stdio import _Session
from nexus_mcp.server.stopping import Stop
from nexus_mcp.workspace import Workspace
pieces, ready, missing = map(json.loads, sys.argv[1:])
told, asked = [], []
def tell(what):
    told.append([what, [name for name in sys.modules if name.startswith("nexus_mcp.")]])
class Source:
    fd = os.pipe()[0]
    def is_ready(self, seconds=0):
        asked.append(seconds)
        return ready.pop(0) if len(ready) > 1 else ready[0]
    def read(self):
        tell("read")
        return pieces.pop(0).encode() if pieces else b""
class Sink:
    def send(self, message, before_waiting=None):
        tell("error" if "error" in message else "answer")
        return True
sys.modules.update(dict.fromkeys(missing))
with Stop() as stop:
    _Session(App(Workspace(os.getcwd())), Source(), Sink(), stop).run()
print(json.dumps([told, asked]))
"""
FOR_ANY_CALL = {"server.call_queue", "server.response_json"}
FOR_SOME = {"store.commit"}


def piecewise(
    tmp_path: Path, *messages: object, ready: tuple[bool, ...], missing: tuple[str, ...] = ()
) -> tuple[list[tuple[str, set[str]]], list[float]]:
    """(What was done one after the other, with our modules that were loaded then; the seconds that looks may take)."""
    pieces = [line(message).decode() for message in messages]
    child = subprocess.run(
        [sys.executable, "-c", PIECEWISE, *map(json.dumps, (pieces, ready, missing))],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    told, asked = json.loads(child.stdout)
    return [(what, {name.removeprefix("nexus_mcp.") for name in names}) for what, names in told], asked


@pytest.mark.parametrize("opening", [initialize(), modern(0, "server/discover")], ids=["initialize", "discover"])
def test_loaded_while_the_client_reads(tmp_path: Path, opening: object) -> None:
    """The modules of every call are loaded after the first response, while the client reads it; all others after the
    list.
    """
    listed = modern(1, "tools/list") if "discover" in str(opening) else request(1, "tools/list")
    told, asked = piecewise(tmp_path, opening, listed, ready=(False,))
    assert [what for what, _ in told] == ["read", "answer", "read", "answer", "read"]
    _, opened, before_the_list, listed_at, at_the_end = (modules for _, modules in told)
    assert opened & FOR_ANY_CALL == set()
    assert before_the_list >= FOR_ANY_CALL
    assert before_the_list & FOR_SOME == set()
    assert listed_at & FOR_SOME == set()
    assert at_the_end >= FOR_SOME
    # Nothing is waited for before the list; after it, once, for a moment.
    assert [seconds for seconds in asked if seconds] == [0.001]
    assert asked[:2] == [0, 0]


def test_waiting_input_is_read_before_modules_are_loaded(tmp_path: Path) -> None:
    """A client that sends its next request at once does not wait for modules to load."""
    told, asked = piecewise(tmp_path, initialize(), request(1, "tools/list"), ready=(True,))
    begun = told[0][1]
    # The list makes the calls; nothing else is loaded.
    assert [modules - begun - {"server.call_queue", "server.side_reader"} for _, modules in told] == [set()] * len(told)
    assert [seconds for seconds in asked if seconds] == []


def test_early_call_waits_only_for_its_own_modules(tmp_path: Path) -> None:
    """The modules to load after the list are not loaded before a short wait."""
    told, _ = piecewise(
        tmp_path, initialize(), request(1, "tools/list"), request(2, "ping"), ready=(False, False, True)
    )
    at_the_ping = told[4][1]
    assert at_the_ping & FOR_SOME == set()


@pytest.mark.parametrize("after", range(3, 12))
def test_request_in_between_does_not_end_the_preparation(tmp_path: Path, after: int) -> None:
    """Clients list prompts, or ping, after the tools: the preparation continues after the response."""
    ready = (*[False] * after, True, False)
    told, _ = piecewise(tmp_path, initialize(), request(1, "tools/list"), request(2, "ping"), ready=ready)
    assert [what for what, _ in told] == ["read", "answer"] * 3 + ["read"]
    assert told[-1][1] >= FOR_SOME


def test_failed_import_does_not_end_the_server(tmp_path: Path) -> None:
    """The call that needs the module reports the error."""
    missing = ("nexus_mcp.server.call_queue", "nexus_mcp.server.response_json", "nexus_mcp.store.transaction")
    messages = (initialize(), request(1, "tools/list"), request(2, "ping"), call(3, "task_list"))
    told, _ = piecewise(tmp_path, *messages, ready=(False,), missing=missing)
    assert [what for what, _ in told] == ["read", "answer"] * 3 + ["read", "error", "read"]


@pytest.mark.parametrize("seconds", [0, 0.001])
def test_input_check_waits_as_long_as_requested(seconds: float) -> None:
    """A check of the input waits as long as requested, and returns at once if input is available."""
    reads, writes = os.pipe()
    try:
        with Stop() as stop:
            source = Source(reads, stop)
            with patch.object(stop, "wait_for", wraps=stop.wait_for) as waited:
                assert source.is_ready(seconds) is False
            waited.assert_called_once_with(reads, seconds=seconds)
            os.write(writes, b"x")
            assert source.is_ready(seconds) is True
    finally:
        os.close(reads)
        os.close(writes)


# What answers requests that hardly any client begins with: resources, prompts, completion, subscriptions.
ROOMS = ("handlers", "paging", "prompts", "resources", "subscriptions")


@pytest.mark.requirement("resources.start")
def test_unused_rooms_are_not_loaded_at_the_start(tmp_path: Path) -> None:
    """Of resources, prompts and subscriptions, and of the catalog behind them, nothing is loaded at the start."""
    modules = at_the_list(tmp_path)
    entered = {name for name in modules if name.startswith("nexus_mcp.") and name.split(".")[1] == "server"}
    assert {name for name in entered if name.split(".")[2:3] and name.split(".")[2] in ROOMS} == set()
    assert {name for name in modules if name.startswith(("nexus_mcp.catalog", "nexus_mcp.knowledge"))} == set()
    assert {name for name in os.listdir(ROOT / "nexus_mcp" / "server") if name.removesuffix(".py") in ROOMS} == {
        *(f"{name}.py" for name in ("handlers", "paging")),
        *("prompts", "resources", "subscriptions"),
    }
