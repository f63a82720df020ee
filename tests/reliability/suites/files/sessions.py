"""Cases of plan.json, tasks.json and history.json: the effect of each tool beside a malformed file."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.reliability.suites.files import answers, changes, reference_reader
from tests.reliability.suites.files.changes import CALLS, NEEDS, Wanted, wanted
from tests.reliability.suites.files.project import ADVICE, Done, Files, Ground
from tests.reliability.suites.files.projects import HISTORY, PLAN, TASKS
from tests.reliability.suites.files.reference_reader import Broken, same

Json = Any

PATHS = {"plan": PLAN, "tasks": TASKS, "history": HISTORY}
_STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
_INDEPENDENT = {"plan": "task_add", "tasks": "plan_update", "history": "task_update"}


def attempt(ground: Ground, rng: random.Random, kind: str, files: Files) -> Iterator[str]:
    """Return the failures in a project with these files, of which the one of `kind` may be corrupt."""
    ground.lay(files)
    state = State(files)
    current = None if "tasks" in state.broken else state["tasks"]
    search: dict[str, Json] = {"query": _query(rng, state), "last_n": rng.choice((1, 2, 10))}
    yield from _read(ground, state, ("plan_status", {}), "plan", lambda: answers.plan_status(state["plan"]))
    yield from _read(ground, state, ("task_list", {}), "tasks", lambda: answers.task_list(state["tasks"]))
    yield from _read(
        ground,
        state,
        ("history_search", search),
        "history",
        lambda: answers.history_search(state["history"], state.spelled, **search),
    )
    yield from _read(ground, state, ("context", {}), "", lambda: answers.context(current))
    own = [call for call in CALLS if kind in NEEDS[call[0]]]
    other = [call for call in CALLS if call[0] == _INDEPENDENT[kind]]
    yield from _write(ground, state, *rng.choice(own))
    yield from _write(ground, State(ground.files()), *rng.choice(other))


class State:
    """The values of the three files, or the reasons why they are broken."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.broken: dict[str, str] = {}
        self._values: dict[str, Json] = {}
        for kind, path in PATHS.items():
            try:
                self._values[kind] = reference_reader.read(kind, files[path]) if path in files else None
            except Broken as error:
                self.broken[kind] = str(error)

    def __getitem__(self, kind: str) -> Json:
        return self._values[kind]

    @property
    def values(self) -> dict[str, Json]:
        return self._values

    @property
    def spelled(self) -> Json:
        """The history with the text of its numbers; None when it is absent or broken."""
        if "history" in self.broken or HISTORY not in self.files:
            return None
        return reference_reader.parsed(self.files[HISTORY], numbers=False, deepest=128, spelled=True)


def _query(rng: random.Random, state: State) -> str:
    cycles = (state.spelled or {"cycles": []})["cycles"]
    if not cycles or rng.random() < 0.3:
        return rng.choice(("", " ", "decided", '"status":"completed"', "é"))
    text = answers.compact(rng.choice(cycles))
    start = rng.randrange(len(text))
    part = text[start : start + rng.randrange(1, 20)]
    return "".join(char for char in part if char != "\0" and not "\ud800" <= char <= "\udfff").swapcase()


def _read(
    ground: Ground, state: State, called: tuple[str, dict[str, Json]], kind: str, answer: Callable[[], Json]
) -> Iterator[str]:
    """Check a reading tool. It needs the file of `kind`, "" for none; `answer()` is the expected answer."""
    tool, arguments = called
    done = ground.call(tool, **arguments)
    if done.changed:
        yield f"{tool} changed {sorted(done.changed)}"
    if kind in state.broken:
        yield from _refusal(done, tool, kind, state.broken[kind])
    elif done.error:
        yield f"{tool} {arguments} is refused, although its file is readable: {done.error[:300]}"
    else:
        right = answers.sendable(answer())
        if not same(done.answer, right):
            yield f"{tool} {arguments} answers {str(done.answer)[:600]}, where {str(right)[:600]} is right"
        yield from (f"{tool} answers {path} as a float" for path in _floating(done.answer))


def _floating(answer: Json) -> Iterator[str]:
    items = {"plan": answer, **{f"{n}/{i}": v for n in ("issues", "tasks") for i, v in enumerate(answer.get(n, ()))}}
    for path, item in items.items():
        if any(isinstance(item.get(name), float) for name in ("id", "plan_id")):
            yield path


def _refusal(done: Done, tool: str, kind: str, why: str) -> Iterator[str]:
    """Check that a call that needs a broken file fails, names the file and changes nothing."""
    if not done.error:
        yield f"{tool} answers {str(done.answer)[:300]} though {PATHS[kind]} is broken ({why})"
    elif f".nexus/{PATHS[kind]}" not in done.error:
        yield f"{tool} does not name {PATHS[kind]}, which is broken ({why}): {done.error[:300]}"
    if done.changed:
        yield f"{tool} changed {sorted(done.changed)} though {PATHS[kind]} is broken ({why})"


def _write(ground: Ground, state: State, tool: str, given: Json) -> Iterator[str]:
    done = ground.call(tool, **given)
    broken = [kind for kind in NEEDS[tool] if kind in state.broken]
    if broken:
        yield from _refusal(done, tool, broken[0], state.broken[broken[0]])
        return
    right = wanted(tool, given, state.values, ground.clock.stamp())
    newer = _newer(tool, state, right)
    if done.error:
        if done.changed:
            yield f"{tool} {given} is refused and changed {sorted(done.changed)}: {done.error[:300]}"
        named = any(f".nexus/{path}" in done.error for path in newer)
        huge = "more digits than can be read back" in done.error and any(map(_has_huge, right.files.values()))
        if done.error != right.error and not named and not huge:
            yield f"{tool} {given} is refused: {done.error[:400]}"
    elif right.error:
        yield f"{tool} {given} succeeds, where {right.error!r} is right"
    elif newer:
        yield f"{tool} {given} wrote {newer}, which may only be read"
    else:
        yield from (f"{tool} {given}: {told}" for told in _differences(done, right, state))


def _newer(tool: str, state: State, right: Wanted) -> list[str]:
    """Return the files to be written that have a newer or malformed version: they are only read."""
    written = [k for k in NEEDS[tool] if PATHS[k] in right.files or (k == "history" and right.cycle)]
    return [PATHS[k] for k in written if state[k] is not None and not reference_reader.is_written_by_us(state[k])]


def _has_huge(value: Json) -> bool:
    if isinstance(value, dict):
        return any(map(_has_huge, value.values()))
    if isinstance(value, list):
        return any(map(_has_huge, value))
    return isinstance(value, int) and abs(value) >= 10**4300


def _differences(done: Done, right: Wanted, state: State) -> Iterator[str]:
    answer = {name: value for name, value in done.answer.items() if name != "cycle"}
    expected = answers.sendable(right.answer)
    for name in changes.FREE & answer.keys():
        expected[name] = answer[name]
    if not same(answer, expected):
        yield f"answers {str(answer)[:500]}, where {str(expected)[:500]} is right"
    allowed = {*right.files, ADVICE, *({HISTORY} if right.cycle else ())}
    if done.changed - allowed:
        yield f"changed {sorted(done.changed - allowed)}"
    for path, value in right.files.items():
        if value is None:
            if path in done.after:
                yield f"left {path}"
            continue
        try:
            written = reference_reader.read("plan" if path == PLAN else "tasks", done.after.get(path, b""))
        except Broken as error:
            yield f"wrote a {path} that cannot be read: {error}"
            continue
        if not same(written, value):
            yield f"wrote {str(written)[:600]} to {path}, where {str(value)[:600]} is right"
    if right.cycle:
        yield from _archived(done, right, state)


def _archived(done: Done, right: Wanted, state: State) -> Iterator[str]:
    old, new = done.before.get(HISTORY), done.after.get(HISTORY, b"")
    try:
        now = reference_reader.read("history", new)
    except Broken as error:
        yield f"wrote a history that cannot be read: {error}"
        return
    *kept, added = now["cycles"]
    at = added.pop("completed_at", None)
    if not same(added, right.cycle):
        yield f"archived {str(added)[:500]}, where {str(right.cycle)[:500]} is right"
    if not isinstance(at, str) or not _STAMP.fullmatch(at) or done.answer.get("cycle", at) != at:
        yield f"archived at {at!r}, and answers {done.answer.get('cycle')!r}"
    earlier = [cycle.get("completed_at") for cycle in kept]
    if at in earlier:
        yield f"archived at {at}, which is the time of another cycle"
    if old is not None:
        before = state["history"]
        if not same({**now, "cycles": kept}, before):
            yield "changed old values of the history"
        if before["cycles"] and not _is_spliced(old, new):
            yield "changed bytes of old cycles"


def _is_spliced(old: bytes, new: bytes) -> bool:
    """Return whether all bytes of `old` are in `new`, the first ones before the added bytes and the others
    after them.
    """
    head = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(old))
    rest = old[head:]
    return new.endswith(rest) or new.removesuffix(b"\n").endswith(rest)
