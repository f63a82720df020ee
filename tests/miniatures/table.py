"""All miniatures, in one table."""

from __future__ import annotations

from tests.miniatures import (
    arguments,
    artifacts,
    context,
    crashes,
    executor,
    files,
    history_search,
    hooks,
    listing,
    plan_decide,
    plan_update,
    plans,
    processes,
    task_add,
    task_close,
    tasks,
)
from tests.miniatures.base import Miniature

ROOMS = (
    plans,
    plan_update,
    plan_decide,
    task_add,
    tasks,
    task_close,
    history_search,
    context,
    artifacts,
    arguments,
    files,
    listing,
    crashes,
    processes,
    hooks,
    executor,
)
MINIATURES: dict[str, Miniature] = {miniature.name: miniature for room in ROOMS for miniature in room.MINIATURES}
