"""Detect whether an attempt touched the user's checkout: its refs, HEAD, index, configuration, hooks or `info`.

The user's own configuration of git is compared, too.

A session starts in its worktree, but git reaches the main repository by `-C`, GIT_DIR or a link. With
`run.sandbox: bwrap` a session can only read it. A difference pauses the run before any work is collected. The log has
digests of the parts before each session, so the next executor sees a change that a session made after its own executor
had died.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from nexus_mcp.errors import NexusError
from nexus_mcp.run import events as ev
from nexus_mcp.run.setup import Run
from nexus_mcp.run.worktrees import GLOBAL_CONFIG

AT_WORK = "while an attempt was at work. An agent may have done it, or you"
UNSEEN = "while no run watched it. A session that was still at work may have done it, or you"
_DIGITS = 16


class CheckoutChanged(NexusError):
    """The user's checkout changed while an attempt was at work. `when` ends the message."""

    def __init__(self, parts: list[str], when: str = AT_WORK) -> None:
        self.parts = parts
        own = [part for part in parts if part != GLOBAL_CONFIG]
        what = [f"{' and the '.join(own)} of your checkout"] if own else []
        what += ["git configuration of your account"] if GLOBAL_CONFIG in parts else []
        places = [".git/config", ".git/hooks", *(("~/.gitconfig",) if GLOBAL_CONFIG in parts else ())]
        super().__init__(
            f"The {' and the '.join(what)} changed {when}.",
            next_step=f"Look at the change (git reflog, git status, {', '.join(places)}); then continue with "
            "nexus-mcp run.",
        )


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the parts of a checkout that differ between two fingerprints."""
    return [name for name in before if before[name] != after.get(name)]


async def record(run: Run) -> dict[str, str]:
    """Return the fingerprint of the checkout, and add its digests to the log if they are new. Raise GitFailed,
    StorageError.
    """
    now = await run.repository.fingerprint()
    if digests(now) != run.state.checkout:
        run.emit(ev.Checkout(parts=digests(now)))
    return now


async def changed_unseen(run: Run) -> list[str]:
    """Return the parts that changed since the log recorded them; [] if no session was at work when the executor died.

    The log gets the new digests, so that the same change does not pause the run twice. Raise GitFailed, StorageError.
    """
    known, is_at_work = run.state.checkout, any(one.state in ("running", "merging") for one in run.state.tasks.values())
    if not known or not is_at_work:
        return []
    changed = differences(known, digests(await run.repository.fingerprint()))
    if changed:
        run.emit(ev.Guard(name="checkout_changed", value=", ".join(changed)))
        await record(run)
    return changed


def digests(fingerprint: Mapping[str, str]) -> dict[str, str]:
    """Return a digest of each part: the configuration may hold secrets, and the refs may be many."""
    return {
        name: hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
        for name, text in fingerprint.items()
    }
