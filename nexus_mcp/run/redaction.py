"""Keep secrets of the environment out of everything that a run writes: logs, transcripts, outputs of checks.

A variable counts as secret by its name. Its value is replaced by `[NAME]` wherever it occurs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from nexus_mcp.run.events import Event

_NAME = re.compile(r"(?i)(key|token|secret|passw|credential|auth|cookie|session_id|dsn|private)")
_SHORTEST = 8
"""Shorter values are no secrets, and would be replaced everywhere."""
_NOT_SECRET = frozenset(("SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_SESSION_ID", "KEYBOARD"))


class Redactor:
    """Replaces the secrets of one environment."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        found = os.environ if environ is None else environ
        secrets = {
            value: name
            for name, value in found.items()
            if _NAME.search(name) and name not in _NOT_SECRET and len(value) >= _SHORTEST and not value.isspace()
        }
        longest_first = sorted(secrets, key=len, reverse=True)
        self._table = [(value, f"[{secrets[value]}]") for value in longest_first]
        self._bytes = [(os.fsencode(value), name.encode()) for value, name in self._table]

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        for value, name in self._table:
            if value in text:
                text = text.replace(value, name)
        return text

    def data(self, data: bytes) -> bytes:
        """Return the bytes without secrets."""
        for value, name in self._bytes:
            if value in data:
                data = data.replace(value, name)
        return data

    def event(self, event: Event) -> Event:
        """Return the event without secrets in its texts."""
        if not self._table:
            return event
        before = event.model_dump()
        after = self._value(before)
        return event if after == before else type(event).model_validate(after)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {name: self._value(one) for name, one in value.items()}
        return [self._value(one) for one in value] if isinstance(value, list) else value
