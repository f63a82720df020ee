"""Go on with a run, and kill this process at an event: `python -m tests.run.killed_run FOLDER RUN SEQ`.

SIGKILL comes right after the event with this number is on disk. Exit code 0: the run ended before.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from nexus_mcp.run import events as ev
from nexus_mcp.run.setup import Run
from tests.run.runs import Ground


def main(folder: str, run_id: str, at: int) -> int:
    def listen(run: Run) -> None:
        run.listeners.insert(0, lambda event: _kill_at(event, at))

    Ground.at(Path(folder), run_id).run(before=listen, jobs=2, review={"do": ["tester"]})
    return 0


def _kill_at(event: ev.AnyEvent, at: int) -> None:
    if event.seq >= at:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
