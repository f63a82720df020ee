"""Check git: ignored and tracked files of `state/`, and the merge driver of history.json."""

from __future__ import annotations

import os
import shlex
import shutil
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from nexus_mcp.doctor import documents, places
from nexus_mcp.doctor.checks.files import LIMIT
from nexus_mcp.doctor.finding import Finding
from nexus_mcp.merging.driver import DRIVER
from nexus_mcp.store.journal import SHOWN_HISTORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.site import Site

FILE = f"{places.NEXUS}/.gitignore"


def check_ignored(site: Site) -> Iterator[Finding]:
    """Yield a finding if git does not ignore the files of `state/`, or if that is unknown."""
    there = any(site.entries(places.IGNORE_FILE))
    if not there and not any(site.entries(places.STATE_FOLDER)):
        return  # the first write creates the folder and .gitignore
    if site.git.answered:
        if site.git.not_ignored:
            yield Finding("not-ignored", FILE, f"does not make git ignore {site.git.not_ignored[0]}")
        return
    text = ""
    for entry in site.files(places.IGNORE_FILE):
        data, _ = documents.load(site, entry, LIMIT, bytes)
        text = (data or b"").decode("utf-8", "replace")
    verdict = leaves_out_state(text)
    if verdict is None:
        yield Finding("ignore-unclear", FILE, "has rules that only git can evaluate")
    elif not verdict:
        yield Finding("not-ignored", FILE, "has no rule for state/" if there else "does not exist")


def leaves_out_state(text: str) -> bool | None:
    """Return whether the rules of `.nexus/.gitignore` exclude `state/`, None when only git can decide."""
    verdict, unclear = False, False
    for line in text.removeprefix("\ufeff").splitlines():
        rule = line.rstrip()
        if not rule or rule.startswith("#"):
            continue
        included = rule.startswith("!")
        matches = _matches_state(rule.removeprefix("!"))
        if matches is None:
            # Git cannot include a file again when its folder is excluded.
            unclear = unclear or not (verdict and (not included or rule.startswith(("!state/", "!/state/"))))
        elif matches:
            verdict, unclear = not included, False
    return None if unclear else verdict


def _matches_state(rule: str) -> bool | None:
    """Return whether the pattern matches the folder `state`, None when only git can decide."""
    body = rule.removeprefix("/").removesuffix("/")
    if any(char in body for char in "[\\") or "/" in body:
        plain = not any(char in body for char in "*?[\\")
        return False if plain and not body.startswith("state/") else None
    return fnmatchcase("state", body)


def check_merge_driver(site: Site) -> Iterator[Finding]:
    """Yield findings on the merge driver of history.json, and on an unresolved merge."""
    facts = site.git
    if (
        facts.history_unmerged and site.history.file is not None
    ):  # if the history cannot be read, another finding has the same advice
        yield Finding("history-unmerged", SHOWN_HISTORY, "is unmerged in git and may lack cycles of one side")
    if facts.merge == DRIVER:
        if not facts.driver:
            problem = f"uses the merge driver {DRIVER}, which is not registered in this clone"
            yield Finding("merge-driver-unregistered", SHOWN_HISTORY, problem)
        elif not _runs(facts.driver):
            problem = f"uses the merge driver {DRIVER}, whose program does not exist"
            yield Finding("merge-driver-broken", SHOWN_HISTORY, problem)
    elif facts.merge == "union":
        yield Finding("merge-by-lines", SHOWN_HISTORY, "is merged with git's driver union")
    elif facts.history_tracked and facts.merge in ("", "unspecified"):
        yield Finding("no-merge-driver", SHOWN_HISTORY, "has no merge driver")


def _runs(command: str) -> bool:
    """Return whether the program of the command line exists; True when that is unknown."""
    try:
        words = shlex.split(command.replace("%%", "%"))
    except ValueError:
        return True
    if not words or "=" in words[0] or any(char in words[0] for char in "$`;|&("):
        return True
    return shutil.which(words[0]) is not None or os.access(words[0], os.X_OK)


def check_tracked(site: Site) -> Iterator[Finding]:
    """Yield tracked files of `state/`, and a note when git did not answer."""
    if site.git.reason:
        problem = (
            f"was checked without git ({site.git.reason}): tracked files, ignored files and merge driver are unknown"
        )
        yield Finding("git-not-asked", places.NEXUS, problem)
    for path in site.git.tracked:
        yield Finding("tracked", path, "is tracked by git")
