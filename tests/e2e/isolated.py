"""Start a module again with the programs of the clients, and with no network except loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from tests.e2e.__main__ import NOT_RUN, ROOT, get_programs, words_without_network
from tests.e2e.clients import NEEDED, RUNTIME, listed

_VARIABLE = "NEXUS_E2E_PROGRAMS"


def given_programs() -> dict[str, Path]:
    """Return client -> program if `run_isolated` started this process, else {}."""
    return {client: Path(program) for client, program in json.loads(os.environ.get(_VARIABLE, "{}")).items()}


def run_isolated(module: str, names: Sequence[str], known: Collection[str], options: Sequence[str] = ()) -> int:
    """Install the named clients, by default all, and run the module for them. Return its exit code.

    NOT_RUN means that a client could not be installed, 2 that a name is unknown.
    """
    if unknown := [name for name in names if name not in known]:
        print(f"No client {unknown[0]}; there are {', '.join(known)}.", file=sys.stderr)
        return 2
    clients = listed()
    needed = {id: clients[name] for id, name in NEEDED.items()}
    programs, missing = get_programs(clients[RUNTIME], needed, [clients[name] for name in names or known])
    for fault in missing:
        print(f"Not run: {fault}", file=sys.stderr)
    if not programs:
        return NOT_RUN
    env = {**os.environ, _VARIABLE: json.dumps(programs)}
    words = [*words_without_network(), sys.executable, "-m", module, *options]
    code = subprocess.run(words, cwd=ROOT, env=env, check=False).returncode
    return code or (NOT_RUN if missing else 0)
