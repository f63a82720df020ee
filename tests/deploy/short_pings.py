"""Run nexus-mcp with a comment each 0.2 s in idle streams, instead of each 15 s."""

from __future__ import annotations

import sys

from mcp.server import _streamable_http_modern

from nexus_mcp.cli import main

if __name__ == "__main__":
    _streamable_http_modern._SSE_PING_INTERVAL = 0.2
    sys.exit(main())
