"""Read the rules of the contract: their texts from docs/contract.md, their fixtures from conformance/rules.yml.

The texts are written by hand. The line below each text is generated from rules.yml: it counts the fixtures of the
rule, or says why there is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from functools import lru_cache

from nexus_mcp.packaged import data_path

_ITEM = re.compile(r"^- \*\*([a-z_]+\.[0-9]+)\*\* (.*(?:\n  .*)*)", re.MULTILINE)
JUDGED = re.compile(r"\n  (?:Judged by \[.*|Not judged: .*)")
"""The generated line at the end of a rule on the page."""
_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")


@dataclass(frozen=True)
class Rule:
    """One rule. `fixtures` are ids and patterns with *; without any, `reason` says why no fixture judges it."""

    id: str
    text: str
    fixtures: tuple[str, ...] = ()
    reason: str = ""

    def is_judged_by(self, test_id: str) -> bool:
        """Return whether the fixture of this id judges the rule."""
        return any(matches(pattern, test_id) for pattern in self.fixtures)


@lru_cache(maxsize=1)
def rules() -> tuple[Rule, ...]:
    """Return the rules in the order of the page. A rule without an entry in rules.yml has no fixtures and no reason."""
    entries = fixtures_by_rule()
    found = []
    for rule, text in texts(page()).items():
        entry = entries.get(rule, [])
        found.append(Rule(rule, text, reason=entry) if isinstance(entry, str) else Rule(rule, text, tuple(entry)))
    return tuple(found)


def rules_of(test_id: str) -> list[Rule]:
    """Return the rules that the fixture of this id judges, in the order of the page."""
    return [rule for rule, judges in _judging() if judges(test_id)]


@lru_cache(maxsize=1)
def _judging() -> list[tuple[Rule, Callable[[str], object]]]:
    """Return each rule that has fixtures, with a function that matches their ids.

    The result is cached, because a report needs it for each fixture.
    """
    return [
        (
            rule,
            re.compile("|".join(translate(one) if "*" in one else re.escape(one) for one in rule.fixtures)).fullmatch,
        )
        for rule in rules()
        if rule.fixtures
    ]


def matches(pattern: str, test_id: str) -> bool:
    """Return whether an id or a pattern of rules.yml matches the id of a fixture."""
    return pattern == test_id or ("*" in pattern and fnmatchcase(test_id, pattern))


def page() -> str:
    """Return docs/contract.md."""
    return _read("docs", "contract.md")


def fixtures_by_rule() -> dict[str, list[str] | str]:
    """Return rules.yml: the id of a rule → ids and patterns of fixtures, or the reason why no fixture judges it."""
    import yaml

    entries: dict[str, list[str] | str] = yaml.safe_load(_read("conformance", "rules.yml"))
    return entries


def texts(markdown: str) -> dict[str, str]:
    """Return the id of each rule of a page and its text, on one line, without link targets and generated parts."""
    return {rule: " ".join(_LINK.sub(r"\1", JUDGED.sub("", text)).split()) for rule, text in _ITEM.findall(markdown)}


def _read(*parts: str) -> str:
    with open(data_path(*parts), encoding="utf-8") as file:
        return file.read()
