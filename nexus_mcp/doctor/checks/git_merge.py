"""How git merges the history: by a driver of ours, if it is told to and the driver is registered."""

from __future__ import annotations

import os
import shlex
import shutil
from typing import TYPE_CHECKING

from nexus_mcp.doctor.finding import Finding
from nexus_mcp.merging.attributes import DRIVER
from nexus_mcp.store.journal import SHOWN_HISTORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.site import Site


def check(site: Site) -> Iterator[Finding]:
    facts = site.git
    if facts.history_unmerged and site.history.file is not None:  # else that is told, and with the same advice
        yield Finding("history-unmerged", SHOWN_HISTORY, "is unmerged in git, which may have cycles that it lacks")
    if facts.merge == DRIVER:
        if not facts.driver:
            problem = f"is to be merged by the driver {DRIVER}, which is not registered in this clone"
            yield Finding("merge-driver-unregistered", SHOWN_HISTORY, problem)
        elif not _runs(facts.driver):
            problem = f"is to be merged by the driver {DRIVER}, whose program is not there"
            yield Finding("merge-driver-broken", SHOWN_HISTORY, problem)
    elif facts.merge == "union":
        yield Finding("merge-by-lines", SHOWN_HISTORY, "is to be merged by git's driver union")
    elif facts.history_tracked and facts.merge in ("", "unspecified"):
        yield Finding("no-merge-driver", SHOWN_HISTORY, "has no merge driver")


def _runs(command: str) -> bool:
    """Whether the program that the command line begins with is there; True when that cannot be told."""
    try:
        words = shlex.split(command.replace("%%", "%"))
    except ValueError:
        return True
    if not words or "=" in words[0] or any(char in words[0] for char in "$`;|&("):
        return True
    return shutil.which(words[0]) is not None or os.access(words[0], os.X_OK)
