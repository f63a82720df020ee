"""Read the imports between the rooms of the package, for the picture in docs/architecture.md."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "nexus_mcp"
# These are at the bottom: nearly every part imports them, and an arrow to each would hide the others.
GROUND = ("errors", "log", "packaged", "program", "progress", "quoting", "schemas", "workspace")


def imported_parts() -> dict[str, set[str]]:
    """Return the parts of the package, and for each the parts that it imports; the ground is left out."""
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if part not in ("__init__", "__main__", *GROUND):
            found.setdefault(part, set()).update(_imports(path))
    return {part: names & found.keys() - {part} for part, names in found.items()}


def arrows() -> list[tuple[str, str]]:
    """Return (part, imported part), without the arrows that others imply: a part imports what its imports import."""
    below = imported_parts()
    found = [
        (part, other)
        for part in sorted(below)
        for other in sorted(below[part])
        if not any(other in _reachable(below, between) for between in below[part] - {other})
    ]
    return [*found, *((part, "ground") for part in sorted(below) if not below[part])]


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("nexus_mcp.")}


def _reachable(below: dict[str, set[str]], part: str) -> set[str]:
    found: set[str] = set()
    rest = list(below[part])
    while rest:
        if (one := rest.pop()) not in found:
            found.add(one)
            rest += below[one]
    return found
