"""Find the place from which pip installed this nexus-mcp, so that an author's workflow can install it from there, too.

pip records the place in `direct_url.json` (PEP 610), unless it installed the package by its name from an index.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any
from urllib.parse import unquote, urlsplit

from nexus_mcp.errors import UsageError

DISTRIBUTION = "nexus-mcp"


def recorded_source() -> str:
    """Return the URL, or the path of the wheel, to which the record leads; "" if a workflow can use neither."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        text = distribution(DISTRIBUTION).read_text("direct_url.json")
        return _source(json.loads(text)) if text else ""
    except (PackageNotFoundError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""


def check_source(source: str) -> str:
    """Return what `--package` names: a URL, a requirement, or the absolute path of a wheel.

    Raise UsageError for a missing wheel, another file or folder, and a text that is empty or not printable.
    """
    if not source or not source.isprintable():
        raise UsageError("--package names nothing that pip can install.", next_step=_NEXT)
    if os.path.isfile(source) and source.endswith(".whl"):
        return os.path.abspath(source)
    if source.endswith(".whl") and "://" not in source and not os.path.lexists(source):
        raise UsageError(f"--package: there is no wheel {source!r}.", next_step=_NEXT)
    if os.path.exists(source) or (source.endswith(".whl") and "://" not in source):
        raise UsageError(f"--package: {source!r} is no wheel, and a CI job does not have it.", next_step=_NEXT)
    return source


_NEXT = "Name a URL, as you would for pip, or the path of a wheel (.whl), which is copied into the project."


def _source(recorded: dict[str, Any]) -> str:
    url = recorded["url"]
    if "vcs_info" in recorded:
        vcs = recorded["vcs_info"]
        return _public(f"{vcs['vcs']}+{url}@{vcs['commit_id']}")
    if urlsplit(url).scheme != "file":
        return _public(url)
    path = unquote(urlsplit(url).path)
    if "dir_info" in recorded:
        origin, commit = (_git(path, *words) for words in (("remote", "get-url", "origin"), ("rev-parse", "HEAD")))
        return _public(f"git+{origin}@{commit}") if origin and commit else ""
    return path if path.endswith(".whl") and os.path.isfile(path) else ""


def _public(url: str) -> str:
    """Return the URL if a CI job can use it and it holds no password, else ""."""
    parts = urlsplit(url)
    return url if parts.scheme.rpartition("+")[2] == "https" and "@" not in parts.netloc else ""


def _git(folder: str, *words: str) -> str:
    """Return the output of git in the folder, "" if git fails."""
    try:
        done = subprocess.run(  # noqa: S603
            ["git", "-C", folder, *words],  # noqa: S607
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
