"""All miniatures, in one table."""

from __future__ import annotations

from tests.miniatures import (
    adding,
    archive,
    arguments,
    artifacts,
    closing,
    crashing,
    deciding,
    files,
    hooks,
    looking,
    plans,
    processes,
    tasks,
    updating,
)
from tests.miniatures.base import Miniature

ROOMS = (
    plans,
    updating,
    deciding,
    adding,
    tasks,
    closing,
    archive,
    looking,
    artifacts,
    arguments,
    files,
    crashing,
    processes,
    hooks,
)
MINIATURES: dict[str, Miniature] = {miniature.name: miniature for room in ROOMS for miniature in room.MINIATURES}
