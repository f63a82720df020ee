"""Warn about the files of an installation that git shares and that name a program or folder of this machine."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

from nexus_mcp.errors import NexusError
from nexus_mcp.log import printable
from nexus_mcp.merging.repository import run_git
from nexus_mcp.workspace import find_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nexus_mcp.harness.definition import Site
    from nexus_mcp.harness.plan import State

_SECONDS = 2.0
"""The timeout of git in seconds."""
_NONE = 1
"""The exit code of git check-ignore if it ignores no path."""


def warnings(site: Site, states: Sequence[State], program: str, show: Callable[[Site, State], str]) -> list[str]:
    """Return warnings about files that git tracks or would add: one if they contain the absolute path of `program`, one
    if they contain the path of the project folder. A warning names the files; `show` returns the name of a file.
    """
    contents = {row: _content(row.path) for row in states}
    named: dict[str, list[State]] = {}
    for path in (program, site.root) if os.path.isabs(program) else (site.root,):
        spellings = _spellings(path)
        named[path] = [row for row, data in contents.items() if any(one in data for one in spellings)]
        for spelling in spellings:  # the path of the program may contain that of the project folder
            contents = {row: data.replace(spelling, b"") for row, data in contents.items()}
    ignored = _find_ignored(site.root, [row.path for rows in named.values() for row in rows])
    found = []
    for path, rows in named.items():
        shown = dict.fromkeys(show(site, row) for row in rows if row.path not in ignored)
        head = f"{', '.join(shown)} {'names' if len(shown) == 1 else 'name'} {printable(path)}"
        what = "" if path == program else ", the folder of the project"
        step = "For files in git use --command nexus-mcp." if path == program else "Have them run nexus-mcp install."
        if shown:
            found.append(f"{head}{what}, which colleagues who get the files by git may not have. {step}")
    return found


def _spellings(path: str) -> list[bytes]:
    """Return the forms that the path can have in a file: plain, quoted for a shell, as a URI, and each of these escaped
    as JSON.
    """
    forms = (path, shlex.quote(path), Path(path).as_uri())
    texts = dict.fromkeys(text for one in forms for text in (one, json.dumps(one)[1:-1]))
    return [os.fsencode(text) for text in sorted(texts, key=len, reverse=True)]


def _content(path: str) -> bytes:
    from nexus_mcp.harness.plain_read import read_plain

    try:
        return read_plain(path)
    except OSError:
        return b""


def _find_ignored(root: str, paths: list[str]) -> set[str]:
    """Return those `paths` that git neither tracks nor would add. Without a repository, return all `paths`.

    If git does not answer, no path counts as ignored.
    """
    if not os.path.lexists(os.path.join(find_root(None, {}, root), ".git")):
        return set(paths)
    try:
        data = b"\0".join(map(os.fsencode, paths))
        code, answer, _ = run_git(root, "check-ignore", "-z", "--stdin", data=data, seconds=_SECONDS, is_literal=False)
    except NexusError:
        return set()
    return {os.fsdecode(path) for path in answer.split(b"\0")[:-1]} if code <= _NONE else set()
