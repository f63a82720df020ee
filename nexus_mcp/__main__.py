"""`python -m nexus_mcp` is the command `nexus-mcp`."""

from __future__ import annotations

import sys

from nexus_mcp.cli import main

if __name__ == "__main__":
    sys.exit(main())
