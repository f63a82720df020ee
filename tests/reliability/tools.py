"""Find the programs that a suite needs beside the development environment, and install them for the long form."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys

from tests.reliability.suite import Suite

_SECONDS = 600


def missing(suite: Suite) -> dict[str, str]:
    """Return the required programs and modules of the suite that are not installed."""
    return _absent(suite.needs)


def wanted(suite: Suite) -> dict[str, str]:
    """Return the optional programs and modules of the suite that are not installed."""
    return _absent({**suite.needs, **suite.helps})


def install(lacking: dict[str, str]) -> None:
    """Try to install them, and print each step on stderr. Call `missing` afterwards to learn whether that worked."""
    for source in lacking.values():
        kind, package = source.split()
        print(f"installing {package} ({kind})", file=sys.stderr, flush=True)
        for command in _commands(kind, package):
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            try:
                done = subprocess.run(
                    command,
                    check=False,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=_SECONDS,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                print(f"  {error}", file=sys.stderr)
                break
            if done.returncode != 0:
                print(f"  {command[0]} ended with {done.returncode}: {done.stderr.strip()[-300:]}", file=sys.stderr)


def _absent(sources: dict[str, str]) -> dict[str, str]:
    return {name: source for name, source in sources.items() if not _is_there(name)}


def _is_there(name: str) -> bool:
    return shutil.which(name) is not None or importlib.util.find_spec(name) is not None


def _commands(kind: str, package: str) -> list[list[str]]:
    if kind == "pip":
        return [[sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]]
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    return [
        [*sudo, "apt-get", "update", "-qq"],
        [*sudo, "apt-get", "install", "-y", "-qq", "--no-install-recommends", package],
    ]
