"""nexus://agents/{id}: what an agent is told to be."""

from __future__ import annotations

from nexus_mcp.server.resources import catalogued

RESOURCE = catalogued.made("agents", "An agent", "The working prompt of an agent of this project.", 0.3)
