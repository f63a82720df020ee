"""`make e2e`: install the clients, then run the tests with no network except loopback.

`python -m tests.e2e [CLIENT…] [-- PYTEST OPTION…]`. Exit code 0: all passed; 1: a test failed; 2: command line; 3: all
tests that ran passed, but a client could not be installed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.e2e.clients import NEEDED, RUNTIME, Client, NotHad, fetch, files_of, listed

ROOT = Path(__file__).resolve().parents[2]
NOT_RUN = 3
_ENDING = ("--pid", "--fork", "--kill-child", "--mount-proc")
_UNSHARED = (("-n", *_ENDING), ("-rn", *_ENDING), ("-n",), ("-rn",))
"""Options of unshare: for root, and for a user with the right to make user namespaces; if possible with a process
namespace, so that all processes end with pytest."""
_BOUND_S = 3600


def main(words: list[str]) -> int:
    """Run the tests of the named clients, by default of all; return the exit code."""
    named, options = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    clients = listed()
    runtime = clients.pop(RUNTIME)
    needed = {id: clients.pop(name) for id, name in NEEDED.items()}
    if unknown := [name for name in named if name not in clients]:
        print(f"No client {unknown[0]}; clients.json has {', '.join(clients)}.", file=sys.stderr)
        return 2
    programs, missing = get_programs(runtime, needed, [clients[name] for name in named or clients])
    for fault in missing:
        print(f"Not run: {fault}", file=sys.stderr)
    if not programs:
        return NOT_RUN
    here = [str(path.relative_to(ROOT)) for name in programs for path in files_of(name)]
    if not here:
        print(f"There are no tests yet for {', '.join(programs)}.", file=sys.stderr)
        return NOT_RUN
    env = {**os.environ, "NEXUS_E2E_PROGRAMS": json.dumps(programs), "NEXUS_E2E_RECORD": "" if options else "yes"}
    pytest = [sys.executable, "-m", "pytest", "--durations=8", *options, *here]
    try:
        code = subprocess.run(
            [*words_without_network(), *pytest], cwd=ROOT, env=env, check=False, timeout=_BOUND_S
        ).returncode
    except subprocess.TimeoutExpired:
        print(f"Ended after {_BOUND_S} seconds.", file=sys.stderr)
        return 1
    if code:
        return 1  # pytest has a 3 of its own
    return NOT_RUN if missing else 0


def get_programs(runtime: Client, needed: dict[str, Client], wanted: list[Client]) -> tuple[dict[str, str], list[str]]:
    """Return (client -> program, a line for each client that could not be installed).

    Add the runtime, and the programs that the clients need, to the PATH.
    """
    programs: dict[str, str] = {}
    missing = []
    try:
        node = fetch(runtime, os.environ["PATH"])
    except NotHad as fault:
        return {}, [f"{', '.join(client.title for client in wanted)}: {fault}"]
    _add_to_path(node)
    for client in wanted:
        try:
            if client.id in needed:
                _add_to_path(fetch(needed[client.id], os.environ["PATH"]))
            programs[client.id] = str(fetch(client, os.environ["PATH"]))
        except NotHad as fault:
            missing.append(f"{client.title}: {fault}")
    return programs, missing


def _add_to_path(program: Path) -> None:
    os.environ["PATH"] = os.pathsep.join((str(program.parent), os.environ["PATH"]))


def words_without_network() -> list[str]:
    """Return the words before a command that limit its network to loopback; [] if this is not allowed."""
    unshare, ip = shutil.which("unshare"), shutil.which("ip")
    for options in _UNSHARED if unshare and ip else ():
        words = [str(unshare), *options, "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
        if subprocess.run([*words, "true"], check=False, capture_output=True).returncode == 0:
            return words
    print("No network namespace here: a missing proxy keeps the clients from the network.", file=sys.stderr)
    return []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
