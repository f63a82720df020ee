"""How agents are started and resumed in a harness: assets/harnesses/<id>/notes.md."""

from __future__ import annotations

from nexus_mcp.packaged import data_path


def read(harness: str) -> str:
    """The notes of a harness, by its id (workspace.check_harness_id); "" for one that has none."""
    try:
        with open(data_path("assets", "harnesses", harness, "notes.md"), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""
