"""A harness for tests: does what a script says for the session at hand, as a template driver in `format: jsonl`.

`python -m tests.run.fake_harness SCRIPT`: SCRIPT is a JSON file that maps `<task>` or `<task>-<attempt>` or
`<task>-<agent>` to a list of steps for each session, in order; the last list is repeated. A step is one of
{"write": path, "text": …}, {"append": path, "text": …}, {"say": text}, {"verdict": {...}}, {"exit": code},
{"kill": signal}, {"hang": seconds}, {"read": count of tools}, {"check": command line of a tool}, {"print": line},
{"flood": lines}, {"fork": seconds}, {"no_done": true}, {"run": shell command}.
The number of sessions that a key had is counted in a folder beside the script, so a resumed session is the next one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def main(script: str) -> int:
    steps = _steps(Path(script))
    print(json.dumps({"kind": "session", "text": f"fake-{os.getpid()}"}), flush=True)
    done = True
    for step in steps:
        if "exit" in step:
            return int(step["exit"])
        done = done and not step.get("no_done")
        _perform(step)
    if done:
        print(json.dumps({"kind": "done"}), flush=True)
    return 0


def _steps(script: Path) -> list[dict[str, Any]]:
    table = json.loads(script.read_text())
    task, attempt, agent = (os.environ.get(name, "") for name in ("NEXUS_TASK", "NEXUS_ATTEMPT", "NEXUS_AGENT"))
    key = next((key for key in (f"{task}-{agent}", f"{task}-{attempt}", task, agent, "*") if key in table), None)
    if key is None:
        return []
    counts = script.with_suffix(".counts")
    counts.mkdir(exist_ok=True)
    number = 0
    while True:
        try:
            os.close(os.open(counts / f"{key}.{number}", os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            number += 1
    sessions = table[key]
    found: list[dict[str, Any]] = sessions[min(number, len(sessions) - 1)]
    return found


def _perform(step: dict[str, Any]) -> None:
    if "write" in step or "append" in step:
        path = Path(step.get("write") or step["append"])
        path.parent.mkdir(parents=True, exist_ok=True)
        print(json.dumps({"kind": "tool_start", "text": "Write", "file": str(path), "is_edit": True}), flush=True)
        with path.open("a" if "append" in step else "w", encoding="utf-8") as file:
            file.write(step["text"])
        print(json.dumps({"kind": "tool_end"}), flush=True)
    for line in [""] * step.get("read", 0) + ([step["check"]] if "check" in step else []):
        print(json.dumps({"kind": "tool_start", "text": "Read", "command": line}), flush=True)
        print(json.dumps({"kind": "tool_end"}), flush=True)
    if "print" in step:
        print(step["print"], flush=True)
    if "say" in step:
        print(json.dumps({"kind": "text", "text": step["say"]}), flush=True)
    if "verdict" in step:
        Path(".nexus-verdict.json").write_text(json.dumps(step["verdict"]), encoding="utf-8")
    if "run" in step:
        subprocess.run(["/bin/sh", "-c", step["run"]], check=False)
    if "fork" in step:
        subprocess.Popen(["/bin/sh", "-c", f"sleep {step['fork']}"])
    if "flood" in step:
        for number in range(step["flood"]):
            print(json.dumps({"kind": "text", "text": f"{number} " + "x" * 200}))
    if "kill" in step:
        os.kill(os.getpid(), int(step["kill"]))
    if "hang" in step:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(step["hang"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
