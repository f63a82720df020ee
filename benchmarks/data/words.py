"""The words of generated plans and tasks. RARE is in none of them."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

RARE = "Quokkaverse"
_BEGIN = datetime(2016, 1, 1)  # noqa: DTZ001 - written as UTC below

WORDS = tuple(
    """
    the a of to and in is for with on that by as it from are at an be this or when not which into under after before
    archive store lock journal cache index offset tail digest rename append write read flush sync file folder path
    branch merge commit rebase conflict driver schema field type value object array string number pointer error
    message retry timeout client server session harness agent hook event payload request response handshake
    transport pipe socket queue worker thread process signal memory latency throughput budget benchmark measure
    median profile trace log level parser encoder decoder escape unicode case fold lower upper token stream chunk
    buffer page block record cycle plan issue decision task owner status pending completed deps summary topic
    approach acceptance risk context review test fixture property invariant contract version upgrade migrate
    rollback release package wheel module import layer table screen button form label theme layout route query
    filter sort search result user account role permission audit billing invoice tenant region replica shard cluster
    failover backup restore export import report dashboard alert keep move split rename replace remove extract
    inline guard check verify prove document explain measure compare größe prüfen Straße für façade naïve déjà café
    señor niño Ærø łódź čeština привет данные 計画 課題 決定 検索 履歴 한국어 결정 → ≤ “so” – …
    """.split()  # noqa: SIM905 - a list with two hundred quotes would be harder to read
)
AGENTS = ("architect", "designer", "postdoc", "strategist", "engineer", "writer", "researcher", "tester", "reviewer")


def phrase(rng: random.Random, least: int, most: int) -> str:
    """Return `least` to `most` words, the first with a capital letter."""
    text = " ".join(rng.choices(WORDS, k=rng.randint(least, most)))
    return text[0].upper() + text[1:]


def sentences(rng: random.Random, least: int, most: int) -> str:
    """Return `least` to `most` sentences of 7 to 16 words."""
    return ". ".join(phrase(rng, 7, 16) for _ in range(rng.randint(least, most))) + "."


def stamp(minutes: int) -> str:
    """Return the contract's timestamp of the moment `minutes` after the beginning of 2016."""
    moment = _BEGIN + timedelta(minutes=minutes, milliseconds=minutes % 1000)
    return moment.isoformat(timespec="milliseconds") + "Z"
