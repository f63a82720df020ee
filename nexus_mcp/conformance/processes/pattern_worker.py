"""A helper process that matches regular expressions. It is run as a script, so it imports nothing of ours.

A pattern may take longer than anybody lives, in a way that no thread can end, and Python's `re` is what fixtures mean.
"""

from __future__ import annotations

import json
import re
import signal
import sys
import warnings
from contextlib import suppress
from typing import Any

MEMORY = 1 << 30
"""Bytes of address space: a match can remember something for each character of a text."""


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Return `fault`, what is wrong with the pattern ("" when nothing is), and `found`, whether it is in the text."""
    try:
        compiled = re.compile(asked["pattern"])
        return {"fault": "", "found": compiled.search(asked.get("text", "")) is not None}
    except RecursionError:
        return {"fault": "it is nested too deeply"}
    except MemoryError:
        return {"fault": f"it takes more than {MEMORY >> 20} MiB of memory"}
    except Exception as error:  # noqa: BLE001 - re.error most often, but whatever it meets is the pattern's doing
        return {"fault": str(error)}


def bound_memory(most: int) -> None:
    """Let this process use at most so many bytes, where the system can tell."""
    import resource

    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main() -> None:
    """Answer until stdin ends. Each line has the `seconds` of computing after which the system ends this process.

    `took` in the answer are the seconds that were used.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the runner, which ends this process
    warnings.simplefilter("ignore")
    bound_memory(MEMORY)
    print(flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, asked["seconds"])  # by default this kills, whatever runs
        said = answer(asked)
        left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
        said["took"] = asked["seconds"] - left
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
