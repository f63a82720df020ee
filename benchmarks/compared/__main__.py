"""Judge our server and other task servers, and write docs/compared.md.

    python -m benchmarks.compared [--only MAP] [--part probes|beyond|fixtures] [--jobs N]

Servers come from npm into .cache/, at pinned versions. The result is benchmarks/results/compared.json, which has the
requests and answers behind each cell; `make docs` writes the page from it. A server that cannot be started keeps its
earlier column, and stdout says so. Exit code 1: a server does not behave as its map says; 2: our server could not be
judged.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from benchmarks import results
from benchmarks.client import NotMeasurable
from benchmarks.compared import fixtures, page, probes
from benchmarks.compared.peer import Ended, Peer
from benchmarks.compared.proxy import offered
from nexus_mcp.errors import NexusError

MAPS = ("nexus-mcp", "nexus-core", "backlog.md", "task-master-ai")
PARTS = ("probes", "beyond", "fixtures")


def judge(name: str, parts: Sequence[str], jobs: int) -> dict[str, Any]:
    """Return the results of one server. Raise NotMeasurable and others when the server cannot be run."""
    peer = Peer(name)
    found: dict[str, Any] = {
        "title": peer.map.title,
        "version": peer.version,
        "package": peer.map.package,
        "ran": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "load": round(os.getloadavg()[0], 1),
    }
    with probes.places(peer) as place:
        with place.start() as session:
            found["server"] = session.introduced.get("serverInfo", {})
            found["tools"] = sorted(tool["name"] for tool in session.tools)
            names = offered(session)
        found["offered"] = [tool for tool in fixtures.TOOLS if tool in names]
        if "probes" in parts:
            found["cells"] = {row: probes.judge(row, place) for row in probes.ROWS}
        if "beyond" in parts:
            found["beyond"] = probes.beyond(place)
    if "fixtures" in parts:
        outcomes = fixtures.run(peer, names, jobs) if peer.map.package else fixtures.run_plain(peer, jobs)
        found["fixtures"] = {"counts": fixtures.count(outcomes), "outcomes": outcomes}
        if peer.map.package and peer.map.same_files:
            found["fixtures"]["plain"] = fixtures.count(fixtures.plain_outcomes())
    return found


def faults_of(found: dict[str, Any]) -> list[str]:
    """Return a sentence for each row or item in which a server did not behave as its map says."""
    judged = found.get("cells", {}).items()
    cells = [(probes.ROWS[row][0], one["note"]) for row, one in judged if one["verdict"] == page.WRONG]
    more = [(one["what"], "; ".join(one["faults"])) for one in found.get("beyond", ()) if one["faults"]]
    return [f"{found['title']}: {what}: {why}" for what, why in cells + more]


def main(argv: Sequence[str]) -> int:
    """Judge the servers, write the result after each, and then the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compared", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", choices=MAPS, action="append", help="judge only this server; the others stay")
    parser.add_argument("--part", choices=PARTS, action="append", help="run only this part; the other one stays")
    parser.add_argument("--jobs", type=int, default=2, help="fixtures at once")
    options = parser.parse_args(argv)
    code = 0
    for name in options.only or MAPS:
        try:
            found = judge(name, options.part or PARTS, options.jobs)
        except (NotMeasurable, Ended, NexusError, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            print(f"{name} was not judged: {' '.join(str(error).split())[:300]}. Its column stays as it was.")
            code = 2 if name == "nexus-mcp" else code
            continue
        known = results.read(page.RESULT) if page.RESULT.exists() else {}
        known[name] = {**known.get(name, {}), **found}
        results.write(page.RESULT, {name: known[name] for name in MAPS if name in known})
        faults = faults_of(found)
        print(f"{name} was judged", *faults, sep="\n  ")
        code = code or bool(faults)
    page.write()
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
