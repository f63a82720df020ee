"""`python -m tests.upstream RESULT.json`: rewrite the expected failures from a run on the upstream server.

Prints how many fixtures show which difference. A fixture that no rule explains is named, and nothing is written.
Without a file it prints the fixtures that run there: those that call no tool outside the contract.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from nexus_mcp.conformance.fixture import Fixture
from nexus_mcp.conformance.loading import load
from tests.contract.parameters import CONTRACT
from tests.upstream.differences import difference

EXPECTED = Path(__file__).with_name("nexus-core-0.21.0.yml")
HEAD = """\
# What fails on the upstream server, and the difference of docs/upstream.md that the failure shows first.
# Written by `python -m tests.upstream` from a run; `make upstream` holds it against the server.
"""


def compared() -> list[Fixture]:
    """Return the fixtures whose tools are all of the contract: the upstream server has no later ones."""
    return [one for one in load() if all(name.startswith("event ") or name in CONTRACT for name in one.tools)]


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        print("\n".join(fixture.test_id for fixture in compared()))
        return 0
    document = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    failed = [result for result in document["results"] if result["status"] == "failed"]
    reasons = {result["test_id"]: difference(result) for result in failed}
    unexplained = [test_id for test_id, reason in reasons.items() if reason is None]
    if unexplained:
        print("No rule in tests/upstream/differences.py explains:", *unexplained, sep="\n  ", file=sys.stderr)
        return 1
    for reason, number in Counter(reasons.values()).most_common():
        print(f"{number:4} {reason}")
    lines = [f"{test_id}: {reason}\n" for test_id, reason in sorted(reasons.items())]
    EXPECTED.write_text(HEAD + "".join(lines), encoding="utf-8")
    print(f"{document['summary']}; written: {EXPECTED.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
