"""Match regular expressions and check values against JSON schemas in a helper process, because such work may never end.

`worker.py patterns` and `worker.py schemas` read one JSON request per line from stdin, and write one JSON response per
line. The module runs as a script, so it imports nothing of this package.
"""

from __future__ import annotations

import json
import re
import signal
import sys
import warnings
from contextlib import suppress
from functools import lru_cache
from typing import Any

MEMORY = 1 << 30
"""The limit of the address space in bytes, because a match can store data for each character of a text."""
_SHOWN = 400
"""The maximum number of characters of a schema fault in a response."""


def match_pattern(request: dict[str, Any]) -> dict[str, Any]:
    """Return `fault`, the fault of the pattern or "".

    Without a fault, also return `found`: whether the pattern matches anywhere in the text.
    """
    try:
        compiled = re.compile(request["pattern"])
        return {"fault": "", "found": compiled.search(request.get("text", "")) is not None}
    except RecursionError:
        return {"fault": "it is nested too deeply"}
    except MemoryError:
        return {"fault": f"it takes more than {MEMORY >> 20} MiB of memory"}
    except Exception as error:  # noqa: BLE001 - re.error most often, but any error is caused by the pattern
        return {"fault": str(error)}


def check_value(request: dict[str, Any]) -> dict[str, Any]:
    """Return `fault`: the place at which the value breaks the schema, or the reason why the schema cannot be used; ""
    if the value is valid.
    """
    from jsonschema import SchemaError
    from jsonschema.exceptions import best_match

    try:
        worst = best_match(_validator(request["schema"]).iter_errors(request["value"]))
        fault = "" if worst is None else f"{worst.json_path}: {worst.message}"
    except SchemaError as error:
        fault = f"the schema is not valid: {error.json_path}: {error.message}"
    except MemoryError:
        fault = f"the schema takes more than {MEMORY >> 20} MiB of memory"
    except Exception as error:  # noqa: BLE001 - any error is caused by the schema
        fault = f"the schema cannot be used: {type(error).__name__}: {error}"
    return {"fault": fault[:_SHOWN]}


@lru_cache(maxsize=64)
def _validator(schema: str) -> Any:
    from jsonschema.validators import validator_for
    from referencing import Registry

    document = json.loads(schema)
    kind = validator_for(document)
    kind.check_schema(document)
    # No reference is fetched: references stay within the schema.
    return kind(document, registry=Registry())


def bound_memory(most: int) -> None:
    """Limit the address space of this process, in bytes, where the system supports it."""
    import resource

    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main(kind: str) -> None:
    """Print an empty line when ready, then answer each request until stdin ends.

    A request has `seconds`, the CPU time after which the system ends this process. `took` in the response is the CPU
    time used, in seconds.
    """
    answer = {"patterns": match_pattern, "schemas": check_value}[kind]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C also reaches the runner, which ends this process
    warnings.simplefilter("ignore")
    bound_memory(MEMORY)
    # Import the needed modules before the time limit starts.
    answer({"pattern": "", "schema": "{}", "value": None})
    print(flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, request["seconds"])  # by default this signal kills the process
        response = answer(request)
        left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps({**response, "took": request["seconds"] - left}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
