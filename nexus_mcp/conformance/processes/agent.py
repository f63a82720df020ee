"""The scripted agent and the scripted check of a fixture with an executor: `agent.py session FOLDER`, `agent.py check
FOLDER`.

bench.json in FOLDER has what both need, such as the project, the scripts of the tasks and the command of the executor.
journal.jsonl gets a line for the start of each session, for its end if it did its work, for each check, and for some
steps of a script. The lines of starts and checks have the state of the project at that time. The module runs as a
script, so it imports nothing of this package.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

DONE = "nexus-conformance: done"
"""The last line of a session that did its work."""
BROKEN = "broken"
"""The check fails in a folder that has a file of this name."""
_PATIENCE_S = 60.0
_POLL_S = 0.01


def main(kind: str, folder: str) -> int:
    """Do one session or one check, and return the exit code."""
    with open(os.path.join(folder, "bench.json"), encoding="utf-8") as file:
        bench = json.load(file)
    return _session(bench, folder) if kind == "session" else _check(bench, folder)


def _session(bench: dict[str, Any], folder: str) -> int:
    prompt = sys.stdin.read()
    task = os.environ.get("NEXUS_TASK") or _named_in(prompt, bench["titles"])
    number = _count(folder, f"task-{task}")
    entry = {"kind": "session", "task": int(task) if task.isdigit() else None, "number": number, **_state_of(bench)}
    _note(folder, entry)
    script = bench["agents"].get(task, [[{"write": f"f{task}", "text": f"{task}\n"}]])
    code = None
    for step in script[min(number, len(script) - 1)]:
        code = _perform(step, bench, folder)
        if code is not None:
            break
    _note(folder, {"kind": "end", "task": entry["task"], "cwd": os.getcwd()})
    if code is not None:
        return code
    print(DONE, flush=True)
    return 0


def _perform(step: dict[str, Any], bench: dict[str, Any], folder: str) -> int | None:
    """Do one step of a script; return the exit code if the step ends the session, else None."""
    if "write" in step:
        os.makedirs(os.path.dirname(step["write"]) or ".", exist_ok=True)
        with open(step["write"], "w", encoding="utf-8") as file:
            file.write(step.get("text", ""))
    elif "remove" in step:
        with suppress(FileNotFoundError):
            os.unlink(step["remove"])
    elif "exit" in step:
        return int(step["exit"])
    elif "start_again" in step:
        words = [*bench["command"], *step["start_again"]]
        done = subprocess.run(  # noqa: S603 - the executor that is judged
            words,
            cwd=bench["project"],
            env=bench["environment"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        _note(folder, {"kind": "second", "exit": done.returncode})
    elif "signal" in step:
        _signal_executor(step["signal"], folder)
    elif "hang" in step:
        time.sleep(_PATIENCE_S)
    elif "meet" in step:
        _meet(step["meet"], folder, bench["meeting_s"])
    return None


def _signal_executor(name: str, folder: str) -> None:
    pid = int(_wait_for(lambda: _text(os.path.join(folder, "executor.pid"))) or 0)
    if not pid:
        return
    with suppress(ProcessLookupError):
        if name == "SIGKILL":  # the whole group, so also a program that started the executor
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.Signals[name])


def _meet(number: int, folder: str, most_s: float) -> None:
    """Wait until `number` sessions have come to a step `meet`, for at most `most_s` seconds."""
    _count(folder, "met")
    met = _wait_for(lambda: "yes" if _count_of(folder, "met") >= number else "", most_s)
    _note(folder, {"kind": "met", "met": bool(met)})


def _check(bench: dict[str, Any], folder: str) -> int:
    passed = not os.path.exists(BROKEN)
    _note(folder, {"kind": "check", "passed": passed, "cwd": os.getcwd(), **_state_of(bench)})
    return 0 if passed else 1


def _state_of(bench: dict[str, Any]) -> dict[str, Any]:
    """Return the state of the project: the status of each task, and the content of the executor's status file."""
    tasks = _json(os.path.join(bench["project"], ".nexus", "state", "tasks.json"))
    rows = tasks.get("tasks", []) if isinstance(tasks, dict) else []
    return {"tasks": [row.get("status") for row in rows], "status": _status(bench)}


def _status(bench: dict[str, Any]) -> Any:
    return _json(bench["status"])


def _json(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def _wait_for(look: Any, most_s: float = _PATIENCE_S) -> str:
    """Call `look` until it returns a text that is not "", and return that text; return "" after `most_s` seconds."""
    until = time.monotonic() + most_s
    while not (found := look()) and time.monotonic() < until:
        time.sleep(_POLL_S)
    return str(found)


def _named_in(prompt: str, titles: dict[str, str]) -> str:
    return next((task for task, title in titles.items() if title in prompt), "")


def _count(folder: str, name: str) -> int:
    """Count this call, in a file of its own, and return the number of earlier calls with the name."""
    number = 0
    while True:
        try:
            os.close(os.open(os.path.join(folder, "counts", f"{name}.{number}"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            number += 1
        else:
            return number


def _count_of(folder: str, name: str) -> int:
    return sum(entry.startswith(f"{name}.") for entry in os.listdir(os.path.join(folder, "counts")))


def _note(folder: str, entry: dict[str, Any]) -> None:
    line = json.dumps({"cwd": os.getcwd(), **entry}).encode() + b"\n"
    fd = os.open(os.path.join(folder, "journal.jsonl"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, line)
    os.close(fd)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
