"""Whether git leaves the session files out."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from nexus_mcp.doctor import documents, places
from nexus_mcp.doctor.checks.knowledge import LIMIT
from nexus_mcp.doctor.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.site import Site

FILE = f"{places.NEXUS}/.gitignore"


def check(site: Site) -> Iterator[Finding]:
    there = any(site.entries(places.IGNORE_FILE))
    if not there and not any(site.entries(places.STATE_FOLDER)):
        return  # it comes with the first write
    if site.git.asked:
        if site.git.not_ignored:
            yield Finding("not-ignored", FILE, f"does not keep git from {site.git.not_ignored[0]}")
        return
    text = ""
    for entry in site.files(places.IGNORE_FILE):
        data, _ = documents.load(site, entry, LIMIT, bytes)
        text = (data or b"").decode("utf-8", "replace")
    verdict = leaves_out_state(text)
    if verdict is None:
        yield Finding("ignore-unclear", FILE, "has rules that only git can read")
    elif not verdict:
        yield Finding("not-ignored", FILE, "has no rule for state/" if there else "is not there")


def leaves_out_state(text: str) -> bool | None:
    """Whether rules, those of `.nexus/.gitignore`, leave out `state/`. None when it takes git to say."""
    verdict, unclear = False, False
    for line in text.removeprefix("\ufeff").splitlines():
        rule = line.rstrip()
        if not rule or rule.startswith("#"):
            continue
        included = rule.startswith("!")
        matches = _matches_state(rule.removeprefix("!"))
        if matches is None:
            # What is in a folder that is left out cannot be taken in again.
            unclear = unclear or not (verdict and (not included or rule.startswith(("!state/", "!/state/"))))
        elif matches:
            verdict, unclear = not included, False
    return None if unclear else verdict


def _matches_state(rule: str) -> bool | None:
    """Whether the pattern means the folder `state`; None when git's own rules are needed to say."""
    body = rule.removeprefix("/").removesuffix("/")
    if any(char in body for char in "[\\") or "/" in body:
        plain = not any(char in body for char in "*?[\\")
        return False if plain and not body.startswith("state/") else None
    return fnmatchcase("state", body)
