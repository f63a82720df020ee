"""The pinned npm packages, and their installation into .cache/. Their install scripts are never run."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchmarks.client import ROOT, NotMeasurable

UPSTREAM = "@moreih29/nexus-core"
UPSTREAM_VERSION = "0.21.0"


@dataclass(frozen=True)
class Package:
    """A package of npm; `folder` is below .cache/. The first existing file of `entries` is the one to run."""

    name: str
    version: str
    folder: str
    entries: tuple[str, ...]


PACKAGES = {
    "upstream": Package(UPSTREAM, UPSTREAM_VERSION, "upstream", (f"node_modules/{UPSTREAM}/dist/mcp/server.js",)),
    # The binary for this machine is a package of its own, named by system and processor.
    "bun": Package("bun", "1.4.5", "peers/bun", ("node_modules/@oven/*/bin/bun", "node_modules/@oven/*/bin/bun.exe")),
    "task-master-ai": Package(
        "task-master-ai", "0.43.1", "peers/task-master-ai", ("node_modules/task-master-ai/dist/mcp-server.js",)
    ),
    "backlog.md": Package("backlog.md", "1.52.0", "peers/backlog.md", ("node_modules/backlog.md-*/backlog*",)),
    "server-memory": Package(
        "@modelcontextprotocol/server-memory",
        "2026.8.31",
        "peers/server-memory",
        ("node_modules/@modelcontextprotocol/server-memory/dist/index.js",),
    ),
}


def find(program: str) -> str:
    """Return the real path of a program, because a version manager's shim would take time. Raise NotMeasurable."""
    found = shutil.which(program)
    if found is None:
        raise NotMeasurable(f"{program} is not installed; the upstream server needs Node 20 or newer")
    if program == "node":
        asked = [found, "-p", "process.execPath"]
        found = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    return found


def installed(package: Package) -> Path:
    """Return the file to run; install the package if it is missing or has another version. Raise NotMeasurable."""
    folder = ROOT / ".cache" / package.folder
    manifest = folder / "node_modules" / package.name / "package.json"
    if not manifest.exists() or json.loads(manifest.read_text(encoding="utf-8"))["version"] != package.version:
        folder.mkdir(parents=True, exist_ok=True)
        npm = [find("npm"), "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder)]
        wanted = f"{package.name}@{package.version}"
        done = subprocess.run([*npm, wanted], check=False, capture_output=True, text=True)
        if done.returncode:
            raise NotMeasurable(f"npm could not install {wanted}: {done.stderr.strip()[-300:]}")
    for pattern in package.entries:
        for entry in sorted(folder.glob(pattern)):
            return entry.resolve()  # a server may compare this path with its own
    raise NotMeasurable(f"{package.name} {package.version} has nothing to run for this machine")


def upstream() -> Path:
    """Return the file of the upstream server. Raise NotMeasurable."""
    return installed(PACKAGES["upstream"])
