"""docs/doctor.md agrees with doctor."""

from __future__ import annotations

import re

from nexus_mcp.doctor import lock_watch, survey
from nexus_mcp.doctor.checks import files, lines
from nexus_mcp.doctor.codes import CODES
from nexus_mcp.doctor.examine import MAX_PASSES
from nexus_mcp.doctor.finding import CAP
from nexus_mcp.doctor.git import TIMEOUT_S
from nexus_mcp.store import agents_extension, oplog
from nexus_mcp.store.journal import HISTORY_LIMIT, SESSION_LIMIT
from tests.conftest import CHECKOUT

PAGE = (CHECKOUT / "docs" / "doctor.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())


def test_every_code_has_its_row() -> None:
    """The table has a row for every code, in the order of the table in the code, and for nothing else."""
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (\w+) \| (.*) \|$", PAGE, re.MULTILINE)
    named = [name for name, _, _ in rows]
    for place, (name, code) in enumerate(CODES.items()):
        wanted = f"| `{name}` | {code.severity} | {code.meaning} |"
        assert name in named, f"docs/doctor.md has no row for {name}. Add to its table: {wanted}"
        assert named.index(name) == place, f"docs/doctor.md has the row of {name} at another place than CODES"
        assert rows[place][1:] == (code.severity, code.meaning), f"docs/doctor.md: the row of {name} should be {wanted}"
    assert len(rows) == len(CODES), f"docs/doctor.md has a row for codes that do not exist: {set(named) - CODES.keys()}"


def test_the_bounds_are_those_of_the_code() -> None:
    """The page names the bounds that are kept."""
    bounds = re.findall(r"^    \| (.*) \| (.*) \|$", PAGE, re.MULTILINE)[1:]
    assert bounds == [
        ("findings of one code", f"{CAP} are listed, the others are counted"),
        ("files and folders", f"{survey.MAX_KEPT // 1000} 000, {survey.MAX_DEPTH} levels deep"),
        ("`history.json`", f"{HISTORY_LIMIT >> 20} MiB"),
        ("`oplog.jsonl`", f"{oplog.READ_LIMIT >> 20} MiB"),
        ("notes", f"{files.LIMIT >> 20} MiB"),
        ("`agents.extension.jsonl`", f"{agents_extension.READ_LIMIT >> 20} MiB"),
        ("plan, tasks, tool log and the other files of a harness", f"{SESSION_LIMIT >> 20} MiB"),
        ("lines of a JSONL file", f"{lines.MAX_LINES // 1000} 000"),
    ]
    assert (MAX_PASSES, "four times at most" in TEXT) == (4, True)
    assert (TIMEOUT_S, "for ten seconds at most" in TEXT) == (10.0, True)
    assert (lock_watch.PATIENCE_S, "for a second in all" in TEXT) == (1.0, True)
