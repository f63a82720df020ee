"""The requests of subscriptions/listen that are open, each under an id of ours towards the SDK.

The SDK knows one request at a time by an id: after another request under the id of an open listen, which is served as
any is, a cancellation would find neither.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nexus_mcp.server.calls import correlation_key
from nexus_mcp.server.faults import id_in_use

if TYPE_CHECKING:
    from nexus_mcp.server.faults import Id


class Listens:
    """By our ids, the ids that the client gave."""

    def __init__(self) -> None:
        self._prefix = f"listen-{os.urandom(16).hex()}-"  # nothing that a client could mean
        self._count = 0
        self._given: dict[str, Id] = {}

    def __bool__(self) -> bool:
        return bool(self._given)

    def begin(self, id: Id) -> str:
        """Our id for a new one. Raises Fault for an id under which one is open."""
        if self._of(id) is not None:
            raise id_in_use(id)
        self._count += 1
        ours = f"{self._prefix}{self._count}"
        self._given[ours] = id
        return ours

    def is_ours(self, id: Id) -> bool:
        return isinstance(id, str) and id.startswith(self._prefix)

    def given(self, id: Id) -> Id:
        """The id that the client gave to what is open under `id`, which is that itself where it is none of ours."""
        return self._given.get(id, id) if isinstance(id, str) else id

    def end(self, ours: str) -> None:
        self._given.pop(ours, None)

    def cancel(self, id: Id) -> str | None:
        """End the one to which the client gave this id: our id of it; None when there is none."""
        ours = self._of(id)
        if ours is not None:
            self.end(ours)
        return ours

    def _of(self, id: Id) -> str | None:
        key = correlation_key(id)
        return next((ours for ours, given in self._given.items() if correlation_key(given) == key), None)
