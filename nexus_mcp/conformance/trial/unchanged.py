"""Check what must stay unchanged: the files that a fixture names, and everything outside of .nexus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.conformance.result import Assertion
from nexus_mcp.conformance.trial.sandbox import OUTSIDE
from nexus_mcp.conformance.trial.snapshot import changed, part

if TYPE_CHECKING:
    from nexus_mcp.conformance.fixture import Asserts
    from nexus_mcp.conformance.trial.sandbox import Sandbox
    from nexus_mcp.conformance.trial.snapshot import Snapshot

_NAMED = 5


def unchanged_checks(asserts: Asserts, before: Snapshot, after: Snapshot, step: str = "") -> list[Assertion]:
    """Return the outcomes of `unchanged`, whose paths have no tokens any more."""
    if asserts.unchanged is None:
        return []
    if asserts.unchanged is True:
        return [_outcome(changed(_inside(before), _inside(after)), step, "")]
    return [_outcome(changed(part(before, path), part(after, path)), step, path) for path in asserts.unchanged]


def describe_strays(before: Snapshot, after: Snapshot, sandbox: Sandbox) -> str:
    """Return which files outside of `.nexus` a target changed or linked to, in words; "" when there are none."""
    differ = changed(before, after)
    touched = [path for path in differ if path != ".nexus" and not path.startswith(".nexus/")]
    outside = [path for path in touched if path.startswith(OUTSIDE)]
    if outside:
        return f"wrote outside of its project: {_listed(outside)}{_or_another(sandbox)}"
    if touched:
        return f"changed files outside .nexus: {_listed(touched)}{_or_another(sandbox)}"
    # A link of the fixture may have been renamed.
    known = set(before.values())
    links = [path for path in differ if after.get(path, "").startswith("-> ") and after[path] not in known]
    ways = [path for path in links if sandbox.leads_out(path)]
    return f"made a link that leads out of its project: {_listed(ways)}" if ways else ""


def _or_another(sandbox: Sandbox) -> str:
    return " (or another target of this run did so at the same time)" if sandbox.in_company else ""


def _inside(whole: Snapshot) -> Snapshot:
    return {path: what for path, what in whole.items() if not f"{path}/".startswith((OUTSIDE, ".git/"))}


def _outcome(paths: list[str], step: str, file: str) -> Assertion:
    message = f"must be unchanged, but changed: {_listed(paths)}" if paths else ""
    return Assertion("unchanged", not paths, message, step, file)


def _listed(paths: list[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more
