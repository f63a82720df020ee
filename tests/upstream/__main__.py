"""`python -m tests.upstream RESULT.json`: writes the expected failures anew from a run on the upstream server.

Prints how many fixtures show which difference. A fixture that no rule explains is named, and nothing is written.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.upstream.differences import difference

EXPECTED = Path(__file__).with_name("nexus-core-0.21.0.yml")
HEAD = """\
# What fails on the upstream server, and the difference of docs/upstream.md that the failure shows first.
# Written by `python -m tests.upstream` from a run; `make upstream` holds it against the server.
"""


def main(arguments: Sequence[str]) -> int:
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
