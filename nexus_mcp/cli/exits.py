"""The exit codes of every command."""

from __future__ import annotations

OK = 0
FAILED = 1
USAGE = 2
HUNG_UP = 129
"""The terminal of the demo was closed: what shells report for SIGHUP."""
INTERRUPTED = 130
"""Ctrl-C: what shells report for SIGINT."""
OUTPUT_CLOSED = 141
"""Nobody reads the output any more (`nexus-mcp --help | head -0`): what shells report for SIGPIPE."""
TERMINATED = 143
"""The demo was asked to stop: what shells report for SIGTERM."""
