"""nexus://rules/{name}: rules of the project."""

from __future__ import annotations

from nexus_mcp.server.resources import notes

RESOURCE = notes.made("rules", "Rules of the project", "Rules that work in this project keeps.", 0.7)
