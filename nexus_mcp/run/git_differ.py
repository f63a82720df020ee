"""Compare commits of a run by a long-lived git process.

Before `open` and after `close`, git is started for each comparison.
"""

from __future__ import annotations

import secrets

from nexus_mcp.run.git import Git, GitFailed
from nexus_mcp.run.git_process import GitProcess

_OPTIONS = ("--no-color", "--no-ext-diff", "--no-renames", "--raw", "--patch", "--binary", "-z")


class Differ:
    """Returns the differences between two commits of one repository."""

    def __init__(self) -> None:
        self._process = GitProcess("diff-tree", "--stdin", "--always", *_OPTIONS)
        self._is_open = False
        # git echoes every line that is not a request, so this line marks the end of an answer. The line is random: an
        # agent that knew the line could write it into a file, and the answer would end there.
        self._end = f"end {secrets.token_hex()}"

    def open(self) -> None:
        """Use a long-lived process until `close`."""
        self._is_open = True

    async def close(self) -> None:
        """End the process."""
        self._is_open = False
        await self._process.end()

    async def diff(self, git: Git, base: str, commit: str) -> tuple[list[str], str]:
        """Return (the paths that differ between two commits, the patch). Raise GitFailed."""
        if self._is_open:
            async with self._process.lock:
                out = await self._process.ask_until(git, f"{commit} {base}\n{self._end}\n", self._end)
            # For a missing commit git prints nothing. This must not look like a commit without differences.
            if not out.startswith(f"{commit}\0"):
                raise GitFailed(("diff-tree", commit), 1, "the commit is missing")
            out = out[len(commit) + 1 :]
        else:
            _, out = await git.run("diff-tree", *_OPTIONS, base, commit)
        # Each row is `:modes ids status NUL path NUL`; an empty row separates the rows from the patch.
        rows, _, patch = out.partition("\0\0")
        return rows.split("\0")[1::2], patch
