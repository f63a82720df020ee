"""Read the content of a project's files that a state of the model prescribes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nexus_mcp.store.atomic import PREFIX
from tests.reliability.suites.model.possible_state import ARTIFACTS, Change, Line, Possible
from tests.support import Project

_LOG_ASIDE = "state/conflict-oplog."
_REPLACED = re.compile(rf"state/{re.escape(PREFIX)}[0-9a-f]{{8}}-[0-9a-f]+\.[wes]\.")

Names = list[tuple[str, ...] | str | None]


@dataclass(frozen=True)
class Seen:
    """`files` by their paths below .nexus, `conflicts` (the contents of the conflict copies), `replaced` (the contents
    of the replaced files in `state` that still have a temporary name), and the operation log.

    `logs_aside` is the number of operation logs that were set aside; `conflicts` leaves them out. `log` has an item for
    each change that was not taken back: the files, the time of a cycle, or None for a line that names neither.
    """

    files: dict[str, bytes]
    conflicts: list[bytes]
    replaced: list[bytes]
    log: Names
    logs_aside: int

    def agrees(self, state: Possible, *, is_unswept: bool) -> bool:
        """Return whether the files are those of the state.

        `is_unswept`: no change has been made since a disk error, so a save may still have a temporary name; the next
        change makes it a copy.
        """
        late = Counter(self.replaced if is_unswept else ())
        found, expected = Counter(self.conflicts), Counter(state.conflicts)
        return state.files() == self.files and found <= expected and expected - found <= late

    def differences(self, state: Possible) -> str:
        expected = state.files()
        told = [
            f"{path} is {self.files.get(path)!r:.600}, not {expected.get(path)!r:.600}"
            for path in {**expected, **self.files}
            if expected.get(path) != self.files.get(path)
        ]
        if sorted(state.conflicts) != self.conflicts:
            told.append(f"{self.conflicts} was set aside, not {state.conflicts}")
        return "; ".join(told)


def look(project: Project) -> Seen:
    """Read the files of a project while no call runs in it."""
    found = {
        path.removeprefix(".nexus/"): data
        for path, data in project.snapshot().items()
        if path.startswith(".nexus/") and isinstance(data, bytes)
    }
    assert found.get(".gitignore", b"state/\n") == b"state/\n"
    return Seen(
        {path: data for path, data in found.items() if _is_told(path)},
        sorted(data for path, data in found.items() if "conflict-" in path and not path.startswith(_LOG_ASIDE)),
        [data for path, data in found.items() if _REPLACED.match(path)],
        _logged(found.get("state/oplog.jsonl", b"")),
        sum(path.startswith(_LOG_ASIDE) for path in found),
    )


def names(log: Iterable[Line]) -> Names:
    """Return the operation log in the form of `Seen.log`."""
    return [tuple(line.files) if isinstance(line, Change) else line for line in log]


def leftovers(project: Project) -> list[str]:
    """Return the temporary files in the folders that every change has to sweep."""
    return [
        path.name
        for folder in (project.nexus, project.state)
        for path in folder.glob("*")
        if path.name.startswith(PREFIX)
    ]


def _is_told(path: str) -> bool:
    if path.startswith(f"state/{ARTIFACTS}"):
        return not path.rpartition("/")[2].startswith((PREFIX, "conflict-"))
    return path in ("history.json", "state/plan.json", "state/tasks.json")


def _logged(data: bytes) -> Names:
    lines = [_entry(line) for line in data.splitlines() if line.strip()]
    undone = {id_ for entry in lines if entry is not None for id_ in entry.get("undoes", ())}
    return [_tells(entry) for entry in lines if entry is None or ("undoes" not in entry and entry["id"] not in undone)]


def _tells(entry: Any) -> tuple[str, ...] | str | None:
    if entry is None:
        return None
    if "cycle" in entry:
        return str(entry["cycle"])  # its line may be the only difference between two states
    kept = all("before" in file for file in entry["files"])
    return tuple(file["name"] for file in entry["files"]) if kept else None


def _entry(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
