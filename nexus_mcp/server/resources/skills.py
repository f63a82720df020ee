"""nexus://skills/{id}: how something is done."""

from __future__ import annotations

from nexus_mcp.server.resources import catalogued

RESOURCE = catalogued.made("skills", "A skill", "The working prompt of a skill of this project.", 0.3)
