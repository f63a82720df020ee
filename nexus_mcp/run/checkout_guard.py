"""See whether an attempt touched the user's checkout: its refs, HEAD, index, configuration or hooks.

A session starts in its worktree, but git reaches the main repository by `-C`, GIT_DIR or a link. With
`run.sandbox: bwrap` that is impossible; without it a difference pauses the run before any work is collected.
"""

from __future__ import annotations

from collections.abc import Mapping

from nexus_mcp.errors import NexusError


class CheckoutChanged(NexusError):
    """The user's checkout changed while an attempt was at work."""

    def __init__(self, parts: list[str]) -> None:
        self.parts = parts
        super().__init__(
            f"The {' and the '.join(parts)} of your checkout changed while an attempt was at work. An agent may have "
            "done it, or you.",
            next_step="Look at it (git reflog, git status, .git/config, .git/hooks); then nexus-mcp run goes on.",
        )


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the parts of a checkout that differ between two fingerprints."""
    return [name for name in before if before[name] != after.get(name)]
