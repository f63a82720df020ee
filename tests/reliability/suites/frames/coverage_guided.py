"""`python -m tests.reliability.suites.frames.coverage_guided RUNS SEED`: lines from a coverage-guided fuzzer.

The program writes its initial conversations and its findings into the working folder. It runs the stdio loop without
threads, with tools that touch no file, because coverage is measured in one process and thread. Lines of over 512 bytes
count as too long, so that the fuzzer finds such lines. The exit code is 0 if every conversation was answered by rule.
"""

from __future__ import annotations

import importlib
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.reliability.suite import Piece, Tally
from tests.reliability.suites.frames import corpus, matching, reference_reader, scripts

PROGRAM = "atheris"
LONGEST = 512
_CORPUS, _WORDS = "conversations", "words"
_SEEDS = 300
_MAX_BYTES = 2048
_SLOWEST = 10  # seconds for one conversation
_DONE = re.compile(r"Done (\d+) runs")
_WRONG = re.compile(r"AssertionError: (.*)")
_COVERED = re.compile(r"cov: (\d+)")


def run(piece: Piece, runs: int) -> Tally:
    """Run this many inputs in a process of its own; report if no fuzzer is installed."""
    tally = Tally()
    try:
        importlib.import_module(PROGRAM)
    except ImportError:
        tally.counts[f"coverage-guided runs left out because {PROGRAM} is not there"] += runs
        return tally
    command = [sys.executable, "-m", __spec__.name, str(runs), str(piece.rng.randrange(1, 1 << 31))]
    places = [str(Path(__file__).resolve().parents[4]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
    done = subprocess.run(command, check=False, cwd=piece.folder, env=environment, capture_output=True, text=True)
    found = _DONE.search(done.stderr)
    tally.counts["coverage-guided runs"] += int(found[1]) if found else 0
    tally.peak(
        "places in the code that coverage-guided runs reached", max(map(int, _COVERED.findall(done.stderr)), default=0)
    )
    if done.returncode != 0 or found is None:
        kept = [path.read_bytes() for path in piece.folder.glob("[cto]*-*") if path.is_file()]
        told = _WRONG.findall(done.stderr) or [done.stderr[-1500:]]
        tally.failures.append(f"the fuzzer ended with {done.returncode}: {told[0][:1500]}; it sent {kept!r}")
    return tally


def main(runs: str, seed: str) -> None:
    """Fuzz. Never return: the fuzzer ends the process."""
    _prepare(random.Random(seed))
    atheris = importlib.import_module(PROGRAM)
    for name in [name for name in sys.modules if name.startswith("nexus_mcp.server")]:
        del sys.modules[name]  # import it again, this time instrumented for coverage
    with atheris.instrument_imports(include=["nexus_mcp.server"]):
        stdio: Any
        pipes: Any
        stdio, pipes, _ = (importlib.import_module(f"nexus_mcp.server.{n}") for n in ("stdio", "pipes", "recover"))
    reference_reader.LONGEST = LONGEST
    splitter = pipes.Splitter
    pipes.Splitter = lambda: splitter(LONGEST)
    options = (f"-runs={runs}", f"-seed={seed}", f"-max_len={_MAX_BYTES}", f"-timeout={_SLOWEST}", f"-dict={_WORDS}")
    atheris.Setup([sys.argv[0], *options, _CORPUS], lambda data: converse(stdio, data))
    atheris.Fuzz()


def _prepare(rng: random.Random) -> None:
    """Write the conversations that the fuzzer starts from, and the words that it may insert."""
    folder = Path(_CORPUS)
    folder.mkdir()
    for number in range(_SEEDS):
        lines = scripts.conversation(rng, rng.randrange(1, 5), 0)
        (folder / str(number)).write_bytes(bytes([rng.randrange(256)]) + b"\n".join(lines)[: _MAX_BYTES - 1])
    words = {'"id":', '"jsonrpc":"2.0"', '"method":', '"params":', '"_meta":', '"requestId":', "\\n", *corpus.META}
    words |= {f'"{method}"' for method in ("initialize", "ping", "tools/call", "notifications/cancelled")}
    quoted = [word.replace("\\n", "\\x0a").replace('"', '\\"') for word in sorted(words)]
    Path(_WORDS).write_text("".join(f'"{word}"\n' for word in quoted))


def converse(stdio: Any, data: bytes) -> None:
    """Raise AssertionError when the answers break the rules. The first byte sets the size of the chunks to read."""
    size, rest = 1 + data[0] if data else 1, data[1:]
    chunks = [rest[start : start + size] for start in range(0, len(rest), size)] + [b""]
    answers: list[bytes] = []
    workspace = SimpleNamespace(root=str(Path.cwd()), state_root=str(Path.cwd()))
    session = stdio._Session(
        SimpleNamespace(
            server_info={}, instructions="", tools=list, workspace=workspace, large_hook_arguments=lambda _head: None
        ),
        SimpleNamespace(read=iter(chunks).__next__, is_ready=lambda: True),
        SimpleNamespace(send=lambda message: answers.append(stdio_line(message))),
        SimpleNamespace(requested=False, request=lambda: None),
    )
    session._add = lambda call, _size: answers.append(_called(call))
    session._make_calls = lambda **_: ""  # tools/list starts no thread for later calls
    session.run()
    lines = rest.split(b"\n")
    wrong = matching.faults(lines if lines[-1] else lines[:-1], answers)
    assert not wrong, wrong


def stdio_line(message: dict[str, Any]) -> bytes:
    """Return the line of a message as the server writes it, without the newline."""
    line: bytes = importlib.import_module("nexus_mcp.server.pipes").encode(message)[0]
    return line.removesuffix(b"\n")


def _called(call: Any) -> bytes:
    """Check the response to a call; another suite checks the results of tools."""
    if "/" in call.name and hasattr(call, "params"):  # a request for resources, prompts or completion
        return stdio_line({"jsonrpc": "2.0", "id": call.id, "result": call.result({"contents": []})})
    if call.name not in corpus.TOOLS:
        error = {"code": int(reference_reader.INVALID_PARAMS), "message": f"Unknown tool: {call.name}"}
        return stdio_line({"jsonrpc": "2.0", "id": call.id, "error": error})
    content = {"content": [{"type": "text", "text": "{}"}], "structuredContent": {}, "isError": False}
    return stdio_line({"jsonrpc": "2.0", "id": call.id, "result": call.result(content)})


if __name__ == "__main__":
    main(*sys.argv[1:])
