"""The runner's memory stays bounded in one run with every attack of the hostile server.

`python -m tests.conformance.hostile` measures each attack on its own, with more repetitions and larger sizes.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

from tests.conformance.fixture_files import stepped, write
from tests.conformance.hostile import MOST_KIB, REPORTS, SERVER, judged, measured
from tests.conformance.servers import hostile

MOST_REPORT = 8 << 20


def test_runner_survives_every_attack(tmp_path: Path) -> None:
    """A target that prints, answers, writes or starts too much fails, and the runner stays below 300 MiB."""
    found = judged(tmp_path, list(hostile.ATTACKS))
    assert (found.code, found.peak_kib < MOST_KIB) == (1, True), f"{found.peak_kib >> 10} MiB: {found.output[-2000:]}"
    assert {name: (tmp_path / name).stat().st_size < MOST_REPORT for name in REPORTS} == dict.fromkeys(REPORTS, True)
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert {one["status"] for one in result["results"]} == {"failed"}
    assert (result["left_behind"], result["cut"]["characters"] > 10_000_000) == ([], True)
    assert "Left out of the evidence because of its size: " in found.output


def test_runner_truncates_long_names(tmp_path: Path) -> None:
    """Names of a server and of its tools are cut, too."""
    found = judged(tmp_path, ["exponent"], server=f"{SERVER} names")
    assert (found.code, found.peak_kib < MOST_KIB) == (1, True)
    assert len((tmp_path / "result.json").read_text(encoding="utf-8")) < 100_000


def test_output_of_event_commands_is_bounded(tmp_path: Path) -> None:
    """The output of an event command is bounded like that of a server."""
    act = {"action": {"tool": "act", "params": {"do": "nothing"}}}
    fixtures = [
        stepped(act, {"event": {"type": kind}}, test_id=kind, postcondition={"return_value": {"$[0]": 1}})
        for kind in ("lines", "values")
    ]
    write(tmp_path / "fixtures.json", fixtures)
    command = shlex.join((sys.executable, str(Path(hostile.__file__)), "event", "{type}"))
    words = ("--server", SERVER, "--event-command", command, "--fixtures", "fixtures.json")
    found = measured(tmp_path, "run", *words)
    assert (found.code, found.peak_kib < MOST_KIB) == (1, True), found.output
    assert len(re.findall("^FAILED", found.output, re.MULTILINE)) == 2
