"""`python -m tests.reliability.faulty_server MUTANT ARGUMENT…`: nexus-mcp with these arguments and a planted fault.

MUTANT "" plants none, so that a suite starts both in one way.
"""

from __future__ import annotations

import sys

from nexus_mcp.cli import main
from tests.reliability.mutants import planted

if __name__ == "__main__":
    with planted(sys.argv[1]):
        sys.exit(main(sys.argv[2:]))
