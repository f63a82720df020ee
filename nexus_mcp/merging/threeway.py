"""Merge two versions of history.json that come from one: what `git merge` does to lines, done to cycles."""

from __future__ import annotations

from nexus_mcp.merging.assemble import assembled, shell_of
from nexus_mcp.merging.join import join
from nexus_mcp.merging.side import Side


def merge(base: bytes | None, ours: bytes, theirs: bytes, *, descends: bool = True) -> bytes:
    """The merged file. `base` None: both sides made it. `descends` as for join. Raises Undecided.

    The bytes of every cycle are those of a side, ours where it is in both, and the layout is that of ours.
    """
    one, other = Side.read(ours, "our side"), Side.read(theirs, "their side")
    past = None if base is None else Side.read(base, "the common past")
    shell = shell_of(one, other, past)
    return assembled(join(one, other, past, descends=descends), one, other, shell)


def with_cycles(data: bytes, other: bytes, name: str) -> bytes:
    """`data` and the cycles that only `other` has, which is called `name`; what else is in `data` stays. Undecided."""
    one, more = Side.read(data, "the file"), Side.read(other, name)
    return assembled(join(one, more, None, descends=False), one, more, one)


def union(ours: bytes, theirs: bytes) -> bytes:
    """The cycles of both, each once, where nothing is known of what they come from. Raises Undecided."""
    return merge(None, ours, theirs)
