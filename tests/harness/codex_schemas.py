"""The schemas of answers to hooks, as Codex generates them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "codex-schemas"


def schema_of_answer(event: str) -> dict[str, Any] | None:
    """Return the schema of the answer to an event of Codex, None if the event takes no answer."""
    words = "".join(f"-{char.lower()}" if char.isupper() else char for char in event)[1:]
    path = FOLDER / f"{words}.command.output.schema.json"
    schema: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
    return schema
