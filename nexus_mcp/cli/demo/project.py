"""Make the demo's temporary folder and the small git project in it. The folder is removed even after an error or a
signal, unless --keep is set.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from nexus_mcp.conformance.stopping import block_signals, handle_signals
from nexus_mcp.errors import NexusError
from nexus_mcp.log import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = {
    "README.md": "# shortlink\n\nTurns long addresses into short ones.\n",
    "shortlink/__init__.py": "",
    "shortlink/app.py": (
        "LINKS: dict[str, str] = {}\n\n\n"
        "def shorten(url: str) -> str:\n"
        '    code = f"{len(LINKS):x}"\n'
        "    LINKS[code] = url\n"
        "    return code\n"
    ),
    "tests/test_app.py": (
        "from shortlink.app import LINKS, shorten\n\n\n"
        "def test_shorten() -> None:\n"
        '    assert LINKS[shorten("a.example/long")] == "a.example/long"\n'
    ),
}


@contextmanager
def temporary_folder(*, keep: bool) -> Iterator[str]:
    """Create a temporary folder for the block, and print afterwards whether it was removed or kept.

    Ctrl-C raises KeyboardInterrupt in the block. SIGTERM or SIGHUP raises SystemExit with the exit code that
    shells report. Call this in the main thread.
    """
    with handle_signals(instead=True):
        folder = os.path.realpath(tempfile.mkdtemp(prefix="nexus-demo-"))
        try:
            yield folder
        finally:
            with block_signals():  # a second signal must not stop the removal half-way
                if not keep:
                    shutil.rmtree(folder, ignore_errors=True)
                text = f"The project is still there: {printable(folder)}"
                if not keep:
                    text = f"The project {printable(folder)} is deleted; with --keep it stays."
                # If stdout is closed, report the error of the demo, not this one.
                with suppress(OSError):
                    print(f"\n{text}", flush=True)


def make_project(folder: str) -> None:
    """Write FILES into `folder` and commit them. Raise NexusError when git fails."""
    for name, text in FILES.items():
        path = os.path.join(folder, *name.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    git(folder, "init", "--quiet", "--template=", "--initial-branch=main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "Shorten links")


def git(folder: str, *arguments: str) -> str:
    """Run git in `folder` without the user's configuration and GIT_ variables. Return stdout; raise NexusError."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": os.path.dirname(folder),
        "LC_ALL": "C",
    }
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{role}_NAME": "Demo", f"GIT_{role}_EMAIL": "demo@localhost"}
    try:
        done = subprocess.run(  # noqa: S603 - the words come from this package
            ["git", *arguments],  # noqa: S607 - git from the PATH of the user
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
    except FileNotFoundError as error:
        raise NexusError("git was not found.", next_step="Install git, then start again.") from error
    except subprocess.CalledProcessError as error:
        reason = (error.stderr or "").strip().splitlines()
        raise NexusError(f"git {arguments[0]} failed: {reason[-1] if reason else error.returncode}") from error
    return done.stdout


def tree(folder: str, name: str, indent: str = "") -> Iterator[tuple[str, int | None]]:
    """Yield (indented name, size in bytes or None for a folder) for `folder/name` and everything below it."""
    path = os.path.join(folder, name)
    if not os.path.isdir(path):
        yield indent + name, os.path.getsize(path)
        return
    yield f"{indent}{name}/", None
    for child in sorted(os.listdir(path)):
        yield from tree(path, child, indent + "  ")
