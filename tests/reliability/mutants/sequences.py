"""Faults that show only after a sequence of calls."""

from __future__ import annotations

from typing import Any

from nexus_mcp.state import oplog, plan
from nexus_mcp.store.close_receipt import Receipt
from nexus_mcp.store.replacement import Original
from tests.reliability.mutants.definition import Mutant


def _ids_reused() -> tuple[Any, str, Any]:
    def add(value: dict[str, Any], title: str) -> tuple[dict[str, Any], dict[str, Any]]:
        issue = {"id": 1 + len(value["issues"]), "title": title, "status": "pending"}
        return {**value, "issues": [*value["issues"], issue]}, issue

    return plan, "add", add


def _answered_twice() -> tuple[Any, str, Any]:
    return Receipt, "confirm_delivery", Receipt.release


def _undo_anyway() -> tuple[Any, str, Any]:
    return oplog, "_matches", lambda mark, data: True


def _overwrites_foreign() -> tuple[Any, str, Any]:
    return Original, "disown", lambda _: None


MUTANTS = (
    Mutant("ids-reused", "A new issue gets the number of issues as its id, which may be taken.", _ids_reused),
    Mutant("undo-anyway", "Undo takes back a change even if later changes depend on it.", _undo_anyway),
    Mutant("overwrites-foreign", "A recovery overwrites the change of another program.", _overwrites_foreign),
    Mutant("answered-twice", "The delivered response of a close is returned to the next close, too.", _answered_twice),
)
