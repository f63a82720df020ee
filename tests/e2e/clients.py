"""The clients of npm: their versions are in clients.json, their files in a cache folder outside the checkout.

Install scripts of packages are never run: each client is started from the program for this machine in its package.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("clients.json")
RUNTIME = "runtime"
NEEDED = {"opencode": "ripgrep"}
"""Client -> a program that it would download itself when it first needs it."""
_INSTALL_S = 300
_START_S = 60


class NotHad(Exception):
    """A client that cannot be installed here; the text is the reason, in one line."""


@dataclass(frozen=True)
class Client:
    """A package of npm at one version. `programs` are patterns below its folder; the first that starts is used."""

    id: str
    title: str
    package: str
    version: str
    programs: tuple[str, ...]


def listed() -> dict[str, Client]:
    """Return id -> client, including the runtime and the programs that clients need."""
    rows = json.loads(LIST.read_text(encoding="utf-8"))
    return {
        id: Client(id, row.get("title", row["package"]), row["package"], row["version"], tuple(row["programs"]))
        for id, row in rows.items()
    }


def files_of(client: str) -> list[Path]:
    """Return the test files of a client: test_CLIENT.py, and test_CLIENT_PART.py for each further part."""
    name = f"test_{client.replace('-', '_')}"
    return sorted(path for path in LIST.parent.glob(f"{name}*.py") if path.stem.removeprefix(name)[:1] in ("", "_"))


def client_of(file: Path) -> str:
    """Return the client that a test file tests, "" for any other file."""
    return next((client for client in listed() if file in files_of(client)), "")


def cache_folder() -> Path:
    """Return the folder of the clients: NEXUS_E2E_CACHE, else nexus-mcp/e2e below the user's cache folder."""
    own = os.environ.get("NEXUS_E2E_CACHE")
    if own:
        return Path(own).absolute()
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(caches) / "nexus-mcp" / "e2e"


def fetch(client: Client, path: str) -> Path:
    """Return the program of a client, installed first where it is missing; `path` is the PATH with the runtime.

    Raise NotHad when npm is missing, the package cannot be installed, or no program of it starts on this machine.
    """
    folder = cache_folder() / f"{client.package.rpartition('/')[2]}-{client.version}"
    if not folder.exists():
        _install(client, folder, path)
    found = [program for pattern in client.programs for program in sorted(folder.glob(pattern))]
    for program in found:
        if _starts(program, path):
            return program
    raise NotHad(f"{client.package} {client.version} has no program that starts on this machine; see {folder}")


def _install(client: Client, folder: Path, path: str) -> None:
    npm = shutil.which("npm", path=path)
    if npm is None:
        raise NotHad(f"{client.package} {client.version}: npm is not installed")
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    words = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(work)]
    wanted = f"{client.package}@{client.version}"
    try:
        done = subprocess.run(
            [*words, wanted],
            env={**os.environ, "PATH": path},
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_INSTALL_S,
        )
        if done.returncode:
            fault = " ".join(done.stderr.split())[:200]
            raise NotHad(f"{client.package} {client.version}: npm could not install it: {fault}")
        if not folder.exists():  # a run beside this one may have been faster
            os.rename(work, folder)
    except subprocess.TimeoutExpired:
        raise NotHad(f"{client.package} {client.version}: npm took more than {_INSTALL_S} seconds") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _starts(program: Path, path: str) -> bool:
    with tempfile.TemporaryDirectory() as home:
        try:
            done = subprocess.run(
                [program, "--version"],
                env={"PATH": path, "HOME": home},
                cwd=home,
                check=False,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_START_S,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return done.returncode == 0
