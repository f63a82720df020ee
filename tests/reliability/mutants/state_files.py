"""Faults in the reading of state files: foreign files are accepted, or the rest of a file is lost."""

from __future__ import annotations

import json
from typing import Any

from nexus_mcp.errors import JournalError, StateError
from nexus_mcp.state import shapes
from nexus_mcp.store import codec, journal, transaction
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.history.append import Growth
from nexus_mcp.store.history.archive import Archive
from nexus_mcp.store.session import SessionCache
from tests.reliability.mutants.definition import Mutant


def _broken_is_empty() -> tuple[Any, str, Any]:
    real = SessionCache.parse

    def parse(self: SessionCache, name: str, data: bytes | None) -> Any:
        try:
            return real(self, name, data)
        except StateError:
            return None

    return SessionCache, "parse", parse


def _history_begun_anew() -> tuple[Any, str, Any]:
    real = transaction.read_history

    def read_history(nexus: Folder | None, *others: Any) -> Archive:
        try:
            return real(nexus, *others)
        except StateError:
            archive = real(None, *others)
            archive.nexus = _Without(nexus)  # type: ignore[assignment]
            return archive

    return transaction, "read_history", read_history


class _Without:
    """A folder that reports each file as absent."""

    def __init__(self, folder: Folder | None) -> None:
        self._folder = folder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._folder, name)

    def check_plain(self, name: str) -> bool:
        return False


def _last_member_counts() -> tuple[Any, str, Any]:
    return codec, "STRICT", json.JSONDecoder(parse_constant=codec._constant, parse_float=codec.parse_finite)


def _nan_is_a_number() -> tuple[Any, str, Any]:
    return codec, "STRICT", json.JSONDecoder(object_pairs_hook=codec._object, parse_float=codec.parse_finite)


def _drops_the_unknown() -> tuple[Any, str, Any]:
    real = shapes.order

    def ordered(value: Any, schema: dict[str, Any]) -> Any:
        whole = real(value, schema)
        known = schema.get("properties", {})
        return {k: v for k, v in whole.items() if k in known} if isinstance(whole, dict) and known else whole

    return shapes, "order", ordered


def _history_laid_out_anew() -> tuple[Any, str, Any]:
    def parts(self: Growth) -> list[Any]:
        archive = self._archive
        cycles = [*map(archive.cycle, range(len(archive))), self._cycle]
        return [codec.encode({**archive.version, "cycles": cycles})]

    return Growth, "parts", parts


def _journal_passed_over() -> tuple[Any, str, Any]:
    real = journal.read_pending

    def pending(state: Folder) -> dict[str, Any] | None:
        try:
            return real(state)
        except JournalError:
            return None

    return journal, "read_pending", pending


def _newer_is_written() -> tuple[Any, str, Any]:
    return shapes, "check_writable", lambda value, file: None


def _journal_believed() -> tuple[Any, str, Any]:
    real = journal.is_ours

    def is_ours(value: Any) -> bool:
        try:
            files = [{**file, "after": _digest(file["content"])} for file in value["files"]]
            return real({**value, "files": files})
        except (KeyError, TypeError, AttributeError):
            return real(value)

    return journal, "is_ours", is_ours


def _digest(content: str | None) -> str | None:
    return journal.digest(None if content is None else content.encode("utf-8", "backslashreplace"))


MUTANTS = (
    Mutant("broken-is-empty", "An unreadable session file counts as absent, and is overwritten.", _broken_is_empty),
    Mutant(
        "history-begun-anew", "An unreadable history counts as absent, and a new one is begun.", _history_begun_anew
    ),
    Mutant("last-member-counts", "If a field is there twice, the last one counts.", _last_member_counts),
    Mutant("nan-is-a-number", "NaN and Infinity are taken for numbers.", _nan_is_a_number),
    Mutant("drops-the-unknown", "Unknown fields are dropped when a file is rewritten.", _drops_the_unknown),
    Mutant("history-laid-out-anew", "The history is rewritten from its values.", _history_laid_out_anew),
    Mutant("newer-is-written", "A file of a newer version is written like any other.", _newer_is_written),
    Mutant("journal-believed", "A journal is applied without a check of its digests.", _journal_believed),
    Mutant("journal-passed-over", "An unreadable journal is ignored.", _journal_passed_over),
)
