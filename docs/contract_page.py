"""Write the parts of docs/contract.md about fixtures, and docs/contract-fixtures.md: `make docs`.

The text of the rules is written by hand, conformance/rules.yml has their fixtures. A test compares both pages.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from nexus_mcp.conformance.authoring.contract import JUDGED, fixtures_by_rule, matches, texts
from nexus_mcp.conformance.loading import load

PAGE = Path(__file__).with_name("contract.md")
LIST_PAGE = Path(__file__).with_name("contract-fixtures.md")
Entries = Mapping[str, Sequence[str] | str]
_ITEM = re.compile(r"^- \*\*([a-z_]+\.[0-9]+)\*\* .*(?:\n  .*)*", re.MULTILINE)
HEAD = """\
# Fixtures by rule

<!-- Written by docs/contract_page.py from conformance/rules.yml. Do not edit: `make docs` writes it anew. -->

Look up here which fixtures judge a rule of the [contract](contract.md). `nexus-mcp conformance explain FIXTURE` shows
what a fixture sends and expects. The files are in `conformance/`.
"""


def contract(text: str, entries: Entries, files: Mapping[str, str]) -> str:
    """Return the text of docs/contract.md with a current line about fixtures at the end of each rule.

    `files` maps the id of each fixture to its file.
    """

    def with_line(match: re.Match[str]) -> str:
        rule = match[1]
        item = JUDGED.sub("", match[0])
        entry = entries.get(rule, ())
        if isinstance(entry, str):
            return f"{item}\n  Not judged: {entry}."
        number = len(matching(entry, files))
        link = f"contract-fixtures.md#{rule.replace('.', '')}"
        return f"{item}\n  Judged by [{number} fixture{'s' * (number != 1)}]({link})."

    return _ITEM.sub(with_line, text)


def list_page(rules: Sequence[str], entries: Entries, files: Mapping[str, str]) -> str:
    """Return the text of docs/contract-fixtures.md. `rules` are the ids of the rules in their order."""
    parts = [HEAD]
    for rule in rules:
        entry = entries.get(rule, ())
        if isinstance(entry, str):
            lines = [f"Not judged: {entry}."]
        else:
            lines = [f"- `{test_id}` ({files[test_id]})" for test_id in matching(entry, files)]
        parts.append("\n".join((f"## {rule}\n", *lines)) + "\n")
    return "\n".join(parts)


def problems(rules: Sequence[str], entries: Entries, test_ids: Sequence[str]) -> list[str]:
    """Return a line for each disagreement of page, rules.yml and fixtures, each with the next step."""
    found = [
        f"{rule}: rules.yml has no such entry. Add the fixtures that judge it, or the reason why none does."
        for rule in rules
        if not entries.get(rule)
    ]
    found += [
        f"{rule}: docs/contract.md has no such rule. Write it there, or remove the entry from rules.yml."
        for rule in entries
        if rule not in rules
    ]
    claimed: set[str] = set()
    for rule, entry in entries.items():
        for pattern in () if isinstance(entry, str) else entry:
            matched = matching((pattern,), test_ids)
            claimed.update(matched)
            if not matched:
                found.append(f"{rule}: no fixture has the id {pattern}. Correct or remove it in rules.yml.")
    found += [
        f"{test_id}: no rule claims this fixture. Add its id to the rule that it judges, in conformance/rules.yml; if "
        "docs/contract.md has no such rule, write it there first. Then run make docs."
        for test_id in test_ids
        if test_id not in claimed
    ]
    return found


def matching(patterns: Sequence[str], test_ids: Sequence[str] | Mapping[str, str]) -> list[str]:
    """Return the ids that one of the patterns matches, in the order of the suite."""
    return [test_id for test_id in test_ids if any(matches(pattern, test_id) for pattern in patterns)]


def current() -> tuple[str, Entries, dict[str, str]]:
    """Return the text of docs/contract.md, the entries of rules.yml, and the file of each packaged fixture."""
    files = {fixture.test_id: fixture.source.partition(":")[0] for fixture in load()}
    return PAGE.read_text(encoding="utf-8"), fixtures_by_rule(), files


if __name__ == "__main__":
    text, entries, files = current()
    rules = list(texts(text))
    if faults := problems(rules, entries, list(files)):
        sys.exit("\n".join(faults))
    PAGE.write_text(contract(text, entries, files), encoding="utf-8")
    LIST_PAGE.write_text(list_page(rules, entries, files), encoding="utf-8")
