"""The text of the package and its pages has few words that stand in the place of a noun."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# A sentence with one of these most often hides who does something, or what it is done to.
VAGUE = re.compile(
    r"\b(whoever|who|nobody|somebody|anybody|told|said|asked|given)\b|\bthere is no more\b", re.IGNORECASE
)
MOST = 50


def counted() -> Counter[str]:
    """Path -> how many vague words its text has, code included."""
    paths = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "nexus_mcp").rglob("*.py")]
    counts = {path.relative_to(ROOT).as_posix(): len(VAGUE.findall(path.read_text(encoding="utf-8"))) for path in paths}
    return Counter({path: count for path, count in counts.items() if count})


def test_vague_words_are_rare() -> None:
    """There are fewer than fifty of them in the package, the pages and the README together."""
    found = counted()
    assert found.total() < MOST, found.most_common(20)
