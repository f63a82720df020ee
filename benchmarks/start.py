"""How long a harness waits for our tools, and what a mounted server costs: ours beside the upstream Node server.

    python -m benchmarks.start [--rounds N]

In each round every server is started once, in turn, so that a busy moment hits them alike; the table shows medians.
What is started is what a client mounts: the console script of this environment, or `python -m nexus_mcp` where there is
none. A figure is measured by what the server itself answers: time from spawn to the answer of tools/list, and resident
memory after ten calls, seven of which write; they are the same on both sides and all succeed, or nothing is measured.
The exit code tells whether it could be measured, not who won.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
UPSTREAM = "@moreih29/nexus-core"
UPSTREAM_VERSION = "0.21.0"
CACHE = ROOT / ".cache" / "upstream"
TASK = {"title": "Write the store", "context": "One file for each kind of state.", "acceptance": "Tests pass."}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("plan_start", {"topic": "Storage", "issues": ["Where?", "How?"], "research_summary": "Files suffice."}),
    ("plan_status", {}),
    ("plan_decide", {"issue_id": 1, "decision": "In files"}),
    ("plan_decide", {"issue_id": 2, "decision": "Atomically"}),
    ("task_add", TASK),
    ("task_add", {**TASK, "deps": [1]}),
    ("task_list", {}),
    ("task_update", {"id": 1, "status": "in_progress"}),
    ("artifact_write", {"filename": "notes.md", "content": "Notes\n"}),
    ("history_search", {}),
)
# Our owner is a name; upstream requires one of another form.
UPSTREAM_OWNER = {"owner": {"role": "engineer"}}
GOALS = {"tools/list answered (ms)": 0.2, "resident memory after ten calls (MB)": 0.3}
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


class NotMeasurable(Exception):
    """Something needed for the measurement is missing; the message says what."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="starts of each server (default: 15)")
    rounds = parser.parse_args().rounds
    try:
        servers = commands()
        figures = measure(servers, rounds)
    except (NotMeasurable, OSError) as error:
        print(f"Not measured: {error}", file=sys.stderr)
        return 1
    for text in report(figures, rounds):
        print(text)
    return 0


def commands() -> dict[str, tuple[list[str], str]]:
    """Command line and tool prefix of each server. The interpreter by its own path: a shim would be measured too."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(ROOT / "nexus_mcp")], check=True)
    script = Path(sysconfig.get_path("scripts")) / "nexus-mcp"
    ours = [*([str(script)] if script.exists() else [sys.executable, "-m", "nexus_mcp"]), "serve"]
    return {
        "ours": (ours, ""),
        "upstream": ([find("node"), str(upstream())], "nx_"),
        "ours --sdk": ([*ours, "--sdk"], ""),
    }


def find(program: str) -> str:
    """The real path of a program. Raises NotMeasurable."""
    found = shutil.which(program)
    if found is None:
        raise NotMeasurable(f"{program} is not installed; the upstream server needs Node 20 or newer")
    if program == "node":
        asked = [found, "-p", "process.execPath"]
        found = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    return found


def upstream() -> Path:
    """The upstream server's entry, installed into .cache/ when it is not there. Raises NotMeasurable."""
    package = CACHE / "node_modules" / UPSTREAM
    manifest = package / "package.json"
    if not manifest.exists() or json.loads(manifest.read_text())["version"] != UPSTREAM_VERSION:
        CACHE.mkdir(parents=True, exist_ok=True)
        npm = [find("npm"), "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(CACHE)]
        done = subprocess.run([*npm, f"{UPSTREAM}@{UPSTREAM_VERSION}"], check=False, capture_output=True, text=True)
        if done.returncode:
            raise NotMeasurable(f"npm could not install {UPSTREAM} {UPSTREAM_VERSION}: {done.stderr.strip()[-300:]}")
    return package / "dist" / "mcp" / "server.js"


def measure(servers: dict[str, tuple[list[str], str]], rounds: int) -> dict[str, dict[str, list[float]]]:
    """All figures: what → server → one value a round, with the bare interpreter for context."""
    figures: dict[str, dict[str, list[float]]] = {what: {} for what in GOALS}
    times, sizes = figures.values()
    for turn in range(rounds + 1):  # the first warms the file cache and does not count
        for name, (command, prefix) in servers.items():
            with tempfile.TemporaryDirectory() as project:
                milliseconds, megabytes = one_start(command, prefix, project)
            if turn:
                times.setdefault(name, []).append(milliseconds)
                sizes.setdefault(name, []).append(megabytes)
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        if turn:
            times.setdefault("python -c pass", []).append((time.perf_counter() - begun) * 1000)
    return figures


def one_start(command: Sequence[str], prefix: str, project: str) -> tuple[float, float]:
    """Milliseconds until tools/list is answered, and megabytes resident after ten calls. Raises NotMeasurable."""
    (Path(project) / ".git").mkdir()
    environment = {**os.environ, "NEXUS_PROJECT_ROOT": project, "PYTHONPATH": str(ROOT)}
    begun = time.perf_counter()
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=project, env=environment, **pipes) as child:
        ask = asker(child)
        ask({"id": 0, "method": "initialize", "params": HELLO})
        ask({"method": "notifications/initialized"})
        tools = ask({"id": 1, "method": "tools/list"})["tools"]
        milliseconds = (time.perf_counter() - begun) * 1000
        if missing := {prefix + tool for tool, _ in CALLS} - {tool["name"] for tool in tools}:
            raise NotMeasurable(f"{command[0]} does not offer {', '.join(sorted(missing))}")
        for number, (tool, arguments) in enumerate(CALLS, 2):
            extra = UPSTREAM_OWNER if tool == "task_add" and prefix else {}
            params = {"name": f"{prefix}{tool}", "arguments": {**arguments, **extra}}
            result = ask({"id": number, "method": "tools/call", "params": params})
            if result.get("isError"):
                raise NotMeasurable(f"{command[0]} refused {prefix}{tool}: {result['content']}")
        megabytes = psutil.Process(child.pid).memory_info().rss / 1e6
        assert child.stdin is not None
        child.stdin.close()
        child.wait(30)
    return milliseconds, megabytes


def asker(child: subprocess.Popen[bytes]) -> Callable[[dict[str, Any]], Any]:
    """A function that sends a message and returns the result of its answer (None for a notification)."""

    def ask(message: dict[str, Any]) -> Any:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        child.stdin.flush()
        if "id" not in message:
            return None
        answer = child.stdout.readline()
        if not answer or "result" not in json.loads(answer):
            raise NotMeasurable(f"no answer to {message['method']} from {child.args!r}")
        return json.loads(answer)["result"]

    return ask


def report(figures: dict[str, dict[str, list[float]]], rounds: int) -> list[str]:
    """The table, and the other servers for context."""
    lines = [f"{'what':38} {'ours':>8} {'upstream':>9} {'ratio':>6} {'goal':>5}  met"]
    for what, values in figures.items():
        ours, theirs = statistics.median(values["ours"]), statistics.median(values["upstream"])
        ratio = ours / theirs
        met = "yes" if ratio <= GOALS[what] else "no"
        lines.append(f"{what:38} {ours:8.1f} {theirs:9.1f} {ratio:6.3f} {GOALS[what]:5.2f}  {met}")
    lines.append("")
    for what, values in figures.items():
        others = [name for name in values if name not in ("ours", "upstream")]
        lines += [f"{what:38} {statistics.median(values[name]):8.1f} {name}" for name in others]
    versions = f"Python {sys.version.split()[0]}, upstream {UPSTREAM} {UPSTREAM_VERSION}"
    return [*lines, "", f"Medians of {rounds} interleaved starts; {versions}, {os.cpu_count()} processors."]


if __name__ == "__main__":
    sys.exit(main())
