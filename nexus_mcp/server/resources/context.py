"""nexus://context/{name}: a note on what the project is and how it is built."""

from __future__ import annotations

from nexus_mcp.server.resources import notes

RESOURCE = notes.made("context", "A context note", "What the project is, how it is built and why.", 0.6)
