"""The exit codes of every command."""

from __future__ import annotations

OK = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130
"""Ctrl-C: what shells report for SIGINT."""
OUTPUT_CLOSED = 141
"""Nobody reads the output any more (`nexus-mcp --help | head -0`): what shells report for SIGPIPE."""
