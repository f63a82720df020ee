"""A helper process that matches regular expressions. It runs as a script, so it imports nothing of this package.

A pattern may run for years and no thread can be ended, but fixtures mean Python's `re`.
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
"""Bytes of address space: a match can store something for each character of a text."""


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Return `fault`, what is wrong with the pattern or "", and `found`, whether it is in the text."""
    try:
        compiled = re.compile(request["pattern"])
        return {"fault": "", "found": compiled.search(request.get("text", "")) is not None}
    except RecursionError:
        return {"fault": "it is nested too deeply"}
    except MemoryError:
        return {"fault": f"it takes more than {MEMORY >> 20} MiB of memory"}
    except Exception as error:  # noqa: BLE001 - re.error most often, but any error is caused by the pattern
        return {"fault": str(error)}


def bound_memory(most: int) -> None:
    """Limit the address space of this process, in bytes, where the system supports it."""
    import resource

    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main() -> None:
    """Answer until stdin ends. Each line has the `seconds` of computing time after which the system ends this process.

    `took` in the response is the time used, in seconds.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the runner, which ends this process
    warnings.simplefilter("ignore")
    bound_memory(MEMORY)
    print(flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, request["seconds"])  # by default this kills, whatever runs
        response = answer(request)
        left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
        response["took"] = request["seconds"] - left
        print(json.dumps(response), flush=True)


if __name__ == "__main__":
    main()
