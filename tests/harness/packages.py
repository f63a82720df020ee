"""Call `nexus-mcp package` and read what it writes."""

from __future__ import annotations

from pathlib import Path

from nexus_mcp.cli import main


def tree(root: Path) -> dict[str, bytes | None]:
    """Return path → bytes of each file, None for a folder or a special file."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(root.rglob("*"))
    }


def package(kind: str, folder: Path | str, *options: str) -> int:
    return main(["package", kind, "--out", str(folder), *options])


def plugin(folder: Path) -> Path:
    return folder / "plugins" / "nexus"
