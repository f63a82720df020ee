"""Name the reason of a refusal, for a label with few values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

OTHER = "other"
REASONS = {
    400: "malformed",
    401: "token",
    403: "origin",
    404: "place",
    405: "method",
    408: "slow",
    413: "too_large",
    421: "host",
    429: "rate",
    503: "busy",
}
"""Reasons by status. A 403 that names a missing right has the reason `right`."""
RIGHT = "right"


def reason_of(status: int, headers: Mapping[str, str]) -> str:
    """Return the reason of a refusal with this status and these headers."""
    if status == 403 and any(name.lower() == "www-authenticate" for name in headers):
        return RIGHT
    return REASONS.get(status, OTHER)
