"""Warn about the files of an installation that git shares and that name a program of this machine."""

from __future__ import annotations

import json
import os
import shlex

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
"""Timeout of git."""
_NONE = 1
"""The exit code of git check-ignore if it ignores no path."""


def warning(site: Site, states: Sequence[State], word: str, show: Callable[[Site, State], str]) -> str:
    """Return a warning that names the files with the absolute path `word` that git tracks or would add; "" for none.

    `show` returns how a file is named.
    """
    spellings = {text.encode() for one in (word, shlex.quote(word)) for text in (one, json.dumps(one)[1:-1])}
    named = [row for row in states if any(text in _content(row.path) for text in spellings)]
    ignored = _ignored(site.root, [row.path for row in named])
    shown = dict.fromkeys(show(site, row) for row in named if row.path not in ignored)
    if not shown:
        return ""
    return (
        f"{', '.join(shown)} {'names' if len(shown) == 1 else 'name'} {printable(word)}, which colleagues who get the "
        "files by git may not have. For files in git use --command nexus-mcp."
    )


def _content(path: str) -> bytes:
    from nexus_mcp.harness.plain_read import read_plain

    try:
        return read_plain(path)
    except OSError:
        return b""


def _ignored(root: str, paths: list[str]) -> set[str]:
    """Return the paths that git neither tracks nor would add: all of them outside of a repository.

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
