"""Faults of a server over HTTP: in the idempotency keys, the deadlines, the shares and the log."""

from __future__ import annotations

import time
from typing import Any

from nexus_mcp import log
from nexus_mcp.server.http import guard, protocol
from nexus_mcp.state import idempotency as rules
from nexus_mcp.store import atomic, commit, idempotency, paths
from nexus_mcp.store.transaction import Transaction
from tests.reliability.mutants.definition import Mutant

_BETWEEN_S = 0.02


def _unrelated(change: Transaction) -> tuple[str, bytes | None, bytes]:
    """Return a record that no call reads, so that the change is written as one with a key."""
    name = f"{paths.IDEMPOTENCY}/ff.json"
    return name, change.current(name), b'{"version":1,"calls":[]}'


def _keys_forgotten() -> tuple[Any, str, Any]:
    return rules, "answer_in", lambda records, call: None


def _keys_in_memory() -> tuple[Any, str, Any]:
    def keep(change: Transaction, call: Any, earlier: Any, answer: Any) -> None:
        earlier.append(rules.record_of(call, change.stamp(), answer))
        change.record = _unrelated(change)

    return idempotency, "keep", keep


def _reads_memory() -> tuple[Any, str, Any]:
    remembered: dict[str, list[Any]] = {}

    def read(change: Transaction, call: Any) -> list[Any]:
        return remembered.setdefault("" if change._state is None else change._state.path, [])

    return idempotency, "read", read


def _keys_apart() -> tuple[Any, str, Any]:
    real = commit.carry_out

    def carry_out(nexus: Any, state: Any, change: Transaction, held: Any, answer: Any) -> Any:
        record = change.record
        if record is not None:
            change.record = _unrelated(change)
        made = real(nexus, state, change, held, answer)
        if record is not None:
            time.sleep(_BETWEEN_S)
            folder, _ = state.make(paths.IDEMPOTENCY)
            with folder:
                atomic.replace(folder, record[0].rpartition("/")[2], [record[2]])
        return made

    return commit, "carry_out", carry_out


def _keys_believed() -> tuple[Any, str, Any]:
    def answer_in(records: Any, call: Any) -> Any:
        return next((record["answer"] for record in records if record["key"] == call.key), None)

    return rules, "answer_in", answer_in


def _keys_of_anyone() -> tuple[Any, str, Any]:
    real = rules.keyed_call
    return rules, "keyed_call", lambda key, holder, tool, arguments: real(key, "", tool, arguments)


def _no_deadlines() -> tuple[Any, str, Any]:
    return protocol.Protocol, "_arm", lambda self, seconds: None


def _no_share() -> tuple[Any, str, Any]:
    return guard, "share", lambda number: number


def _tokens_logged() -> tuple[Any, str, Any]:
    real = guard.Guard.check_names

    def check_names(self: guard.Guard, headers: Any) -> None:
        log.debug(f"called with {dict(headers)}")
        real(self, headers)

    return guard.Guard, "check_names", check_names


def _tokens_not_cut() -> tuple[Any, str, Any]:
    return log, "without_tokens", lambda text: text


def _host_presumed() -> tuple[Any, str, Any]:
    real = guard.Guard.check_names

    def check_names(self: guard.Guard, headers: Any) -> None:
        headers["host"].encode("ascii")  # raises without one
        real(self, headers)

    return guard.Guard, "check_names", check_names


MUTANTS = (
    Mutant("keys-forgotten", "The answers of calls with a key are kept and never found.", _keys_forgotten),
    Mutant("keys-in-memory", "Keys are kept in the server's memory only.", _keys_in_memory, _reads_memory),
    Mutant("keys-apart", "The record of a key is written after the change, by itself.", _keys_apart),
    Mutant("keys-believed", "A key is answered without a look at the tool and its arguments.", _keys_believed),
    Mutant("keys-of-anyone", "All tokens share their keys.", _keys_of_anyone),
    Mutant("no-deadlines", "A request may arrive as slowly as the client likes.", _no_deadlines),
    Mutant("no-share", "One token may have all open requests.", _no_share),
    Mutant("tokens-logged", "Headers are logged, and tokens are not cut.", _tokens_logged, _tokens_not_cut),
    Mutant("host-presumed", "A request without Host ends in an unexpected error.", _host_presumed),
)
