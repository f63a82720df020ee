"""The table KINDS: each kind of file, how its project is made, and the calls that follow a mutation."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

from tests.reliability.suites.files import agents, oplog, projects, sessions, unfinished
from tests.reliability.suites.files.project import ADVICE, Files, Ground
from tests.reliability.suites.files.projects import JOURNAL, TOOL_LOG, TRACKER

# (the valid files of a project, the path of the file to corrupt, a function that yields the failures afterwards)
Case = tuple[Files, str, Callable[[Files], Iterator[str]]]
Prepare = Callable[[Ground, random.Random], Case]


def _session(kind: str, ground: Ground, rng: random.Random) -> Case:
    return projects.valid(rng), sessions.PATHS[kind], partial(sessions.attempt, ground, rng, kind)


def _tracker(ground: Ground, rng: random.Random) -> Case:
    return projects.valid(rng), TRACKER, partial(agents.tracker, ground, rng)


def _tool_log(ground: Ground, rng: random.Random) -> Case:
    files = {**projects.valid(rng), TOOL_LOG: projects.tool_log(rng)}
    return files, TOOL_LOG, partial(agents.tool_log, ground, rng)


def _journal(ground: Ground, rng: random.Random) -> Case:
    files = unfinished.interrupted(ground, rng)
    return files, JOURNAL, partial(unfinished.journal, ground, rng, original=files[JOURNAL])


def _receipt(ground: Ground, rng: random.Random) -> Case:
    files = unfinished.unheard(ground, rng)
    path = unfinished.receipt_of(files)
    return files, path, partial(unfinished.receipt, ground, rng, original=files[path])


def _oplog(ground: Ground, rng: random.Random) -> Case:
    files, states = oplog.noted(ground, rng)
    return files, ADVICE, partial(oplog.oplog, ground, rng, states=states)


KINDS: dict[str, Prepare] = {
    **{kind: partial(_session, kind) for kind in sessions.PATHS},
    "tracker": _tracker,
    "tool-log": _tool_log,
    "journal": _journal,
    "receipt": _receipt,
    "oplog": _oplog,
}
