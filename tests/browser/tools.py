"""What the browser tests need beside the locked packages: a Chromium of the system, and axe-core from npm."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

from tests.e2e.clients import cache_folder

AXE = "axe-core@4.14.1"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_INSTALL_S = 300
ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / ".cache" / "browser"
"""The screenshots of the last run, which git ignores."""


class NotHad(Exception):
    """A tool that is not here; the text is the reason and the next step, in one line."""


def chromium() -> str:
    """Return the path of the browser: NEXUS_BROWSER, else the first of the usual names. Raise NotHad."""
    named = os.environ.get("NEXUS_BROWSER")
    found = shutil.which(named) if named else next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        raise NotHad(f"{named or 'Chromium'} is not installed; apt-get install chromium, or name it in NEXUS_BROWSER")
    if importlib.util.find_spec("playwright") is None:
        raise NotHad("Playwright is not installed; make browser installs it")
    return found


def axe() -> Path:
    """Return axe.min.js, from npm when it is not in the cache folder. Raise NotHad."""
    folder = cache_folder().parent / AXE.replace("@", "-")
    file = folder / "node_modules/axe-core/axe.min.js"
    if file.is_file():
        return file
    npm = shutil.which("npm")
    if npm is None:
        raise NotHad(f"{AXE}: npm is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    words = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(folder)]
    done = subprocess.run([*words, AXE], check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=_INSTALL_S)
    if done.returncode or not file.is_file():
        raise NotHad(f"{AXE}: npm could not install it")
    return file
