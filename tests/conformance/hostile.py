"""Judge the hostile server in a process of its own, and measure that process: `python -m tests.conformance.hostile`.

Each attack of the server is a fixture. Each fixture makes every kind of assertion on the answer and on a file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from tests.conformance.servers import hostile
from tests.forks import MEMORY

SERVER = shlex.join((sys.executable, str(Path(hostile.__file__))))
MOST_KIB = 300 << 10
"""The maximum resident memory of the runner in KiB, as docs/conformance.md promises."""
# /proc/self/status is read at the very end, so that the memory for the reports counts, too.
SCRIPT = """
import sys
from nexus_mcp.cli import main
try:
    code = main(sys.argv[1:])
except SystemExit as error:
    code = error.code
finally:
    sys.stderr.write(open("/proc/self/status").read())
sys.exit(code)
"""
REPORTS = ("result.json", "report.html", "junit.xml", "badge.json")


class Measured(NamedTuple):
    """The result of a run of the command: `code`, its peak of resident memory, its time and its output."""

    code: int
    peak_kib: int
    seconds: float
    output: str


def fixture(attack: str, number: int, size: int) -> dict[str, Any]:
    """Return a fixture that makes the server attack, and has an assertion that fails."""
    names = re.sub(r"\W", "_", attack)
    return {
        "test_id": f"{names}_{number}",
        "description": f"The runner survives the attack: {attack}.",
        "steps": [
            {
                "action": {"tool": "act", "params": {"do": attack, "size": size}},
                "assert_return": {
                    "$": {"keys": ["never"]},
                    "$.did": {"type": "string", "pattern": "^(a+)+$" if attack == "slow pattern" else "^never$"},
                    "$.did.length": 3,
                    "$.all": {"type": "array", "minLength": 4_000_000},
                    "$.other": [1, {"type": "number", "max": 3}],
                },
                "assert_result": {"$": "never", "$.content": "never"},
                "assert_unchanged": True,
            }
        ],
        "postcondition": {
            "return_value": {"$": {"type": "string"}, "$.did": {"type": "number", "min": 1, "max": 2}},
            "state_files": {
                "{STATE_ROOT}/plan.json": {"$.id": 1, "$": {"keys": []}, "text": {"type": "string", "pattern": "^n$"}},
                "{STATE_ROOT}/0.md": {"text": "never"},
            },
            "unchanged": True,
        },
    }


def measured(folder: Path, *words: str, seconds: float = 600) -> Measured:
    """Run `nexus-mcp conformance` in `folder` and measure it."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=MEMORY) as temporary:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, "conformance", *words],
            cwd=folder,
            env={**os.environ, "TMPDIR": temporary},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert os.listdir(temporary) == []
    (peak,) = re.findall(r"^VmHWM:\s+(\d+) kB$", done.stderr, re.MULTILINE)
    return Measured(done.returncode, int(peak), time.monotonic() - started, done.stdout)


def judged(
    folder: Path, attacks: list[str], times: int = 1, *, size: int = 1, server: str = SERVER, jobs: int = 2
) -> Measured:
    """Judge the server with `times` fixtures for each attack, `jobs` at once, and write every kind of report."""
    fixtures = [fixture(attack, number, size) for number in range(times) for attack in attacks]
    (folder / "fixtures.json").write_text(json.dumps(fixtures), encoding="utf-8")
    reports = (word for name in REPORTS for word in ("--report", name))
    limits = ("--timeout", "2", "--jobs", str(jobs))
    return measured(folder, "run", "--server", server, "--fixtures", "fixtures.json", *limits, *reports)


def main() -> None:
    """Print a line for each attack, and one for all of them in one run."""
    options = argparse.ArgumentParser()
    options.add_argument("attacks", nargs="*", default=list(hostile.ATTACKS))
    options.add_argument("--times", type=int, default=8)
    options.add_argument("--size", type=int, default=1)
    options.add_argument("--jobs", type=int, default=2)
    given = options.parse_args()
    for attacks in (*([attack] for attack in given.attacks), given.attacks):
        with tempfile.TemporaryDirectory() as folder:
            found = judged(Path(folder), attacks, given.times, size=given.size, jobs=given.jobs)
            sizes = {
                name: (Path(folder) / name).stat().st_size >> 10 for name in REPORTS if Path(folder, name).exists()
            }
        name = attacks[0] if len(attacks) == 1 else "all"
        said = f"exit {found.code}, {found.peak_kib >> 10} MiB, {found.seconds:.1f} s, reports {sizes} KiB"
        print(f"{name}: {said}{'' if found.peak_kib < MOST_KIB else '  TOO MUCH'}", flush=True)


if __name__ == "__main__":
    main()
