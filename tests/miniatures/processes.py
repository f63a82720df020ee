"""Servers that are wrong as processes: their output, their end, and the processes that they leave behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from nexus_mcp.server.app import Answer
from tests.miniatures.base import PROCESS, Call, Miniature, failed

# Seconds after which a surviving child ends by itself.
_CHILD_SECONDS = 60
_PAUSE = 0.002
WIRE = 63
"""The real stdout, which __main__ stores here: the server redirects what its process prints."""


def keeps_all_in_memory(call: Call) -> Answer:
    """Write the task a tenth of a second after the answer."""
    answer = call.right()
    if not failed(answer):
        late = call.tasks.read_bytes()
        call.tasks.unlink()
        threading.Timer(_PAUSE * 50, call.tasks.write_bytes, [late]).start()
    return answer


def _print(text: str) -> None:
    os.write(WIRE, text.encode())


def prints_notes(call: Call) -> Answer:
    _print(f"calling {call.name} …\n")
    return call.right()


def prints_half_messages(call: Call) -> Answer:
    _print('{"jsonrpc": "2.0", "id": ')
    return call.right()


def dies(call: Call) -> Answer:
    os._exit(3)


def hangs(call: Call) -> Answer:
    time.sleep(3600)
    return call.right()


def floods(call: Call) -> Answer:
    line = json.dumps(
        {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 9999}}
    )
    while True:
        _print(f"{line}\n")


def leaves_children(call: Call) -> Answer:
    if "child" not in call.memory:
        code = f"import time; time.sleep({_CHILD_SECONDS})"
        call.memory["child"] = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    return call.right()


def stays_after_the_end(call: Call) -> Answer:
    if "thread" not in call.memory:
        call.memory["thread"] = threading.Thread(target=time.sleep, args=(_CHILD_SECONDS,))
        call.memory["thread"].start()
    return call.right()


def makes_a_workspace(root: Path) -> None:
    (root / ".nexus" / "state").mkdir(parents=True, exist_ok=True)


def tidies(root: Path) -> None:
    """Sort the keys of the state files."""
    for path in (root / ".nexus" / "state").glob("*.json"):
        with suppress(ValueError):
            path.write_text(json.dumps(json.loads(path.read_bytes()), sort_keys=True))


MINIATURES = (
    Miniature(
        "starts-with-a-workspace",
        "A server that starts makes .nexus.",
        ("context",),
        None,
        PROCESS,
        at_start=makes_a_workspace,
    ),
    Miniature(
        "starts-with-tidying",
        "A server that starts rewrites the state files.",
        ("context",),
        None,
        PROCESS,
        at_start=tidies,
    ),
    Miniature("adding-late", "task_add answers before it writes.", ("task_add",), keeps_all_in_memory, PROCESS),
    Miniature("prints-notes", "Notes for people are printed to stdout.", ("task_list",), prints_notes, PROCESS),
    Miniature(
        "prints-half-messages",
        "Half a message is printed before an answer.",
        ("plan_status",),
        prints_half_messages,
        PROCESS,
    ),
    Miniature("dies", "task_close ends the server.", ("task_close",), dies, PROCESS),
    Miniature("hangs", "context never answers.", ("context",), hangs, PROCESS),
    Miniature("floods", "task_update prints without end.", ("task_update",), floods, PROCESS),
    Miniature("leaves-children", "A child process outlives the server.", ("history_search",), leaves_children, PROCESS),
    Miniature(
        "stays-after-the-end", "The server outlives its stdin.", ("artifact_write",), stays_after_the_end, PROCESS
    ),
)
