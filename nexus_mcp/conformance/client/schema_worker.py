"""A helper process that checks values against JSON schemas: one JSON line in, one JSON line out.

A pattern in a schema may run for years, and no thread can be ended. The module runs as a script, so it imports nothing
of this package.
"""

from __future__ import annotations

import json
import signal
import sys
from contextlib import suppress
from functools import lru_cache
from typing import Any

MEMORY = 1 << 30
"""Bytes of address space: a schema can turn a small value into a large computation."""
_SHOWN = 400
"""Characters of a fault that are returned."""


@lru_cache(maxsize=64)
def _validator(schema: str) -> Any:
    from jsonschema.validators import validator_for
    from referencing import Registry

    document = json.loads(schema)
    kind = validator_for(document)
    kind.check_schema(document)
    # No reference is fetched: references stay within the schema.
    return kind(document, registry=Registry())


def fault(schema: str, value: Any) -> str:
    """Return where `value` breaks `schema`, a JSON text, or why the schema cannot be used; "" when it is valid."""
    from jsonschema import SchemaError
    from jsonschema.exceptions import best_match

    try:
        worst = best_match(_validator(schema).iter_errors(value))
    except SchemaError as error:
        return f"the schema is not valid: {error.json_path}: {error.message}"
    except MemoryError:
        return f"the schema takes more than {MEMORY >> 20} MiB of memory"
    except Exception as error:  # noqa: BLE001 - any error is caused by the schema
        return f"the schema cannot be used: {type(error).__name__}: {error}"
    return "" if worst is None else f"{worst.json_path}: {worst.message}"


def bound_memory(most: int) -> None:
    """Limit the address space of this process, in bytes, where the system supports it."""
    import resource

    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main() -> None:
    """Check values until stdin ends. Each line has `schema`, `value` and the `seconds` of computing time allowed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the runner, which ends this process
    bound_memory(MEMORY)
    print(json.dumps(fault("{}", None)), flush=True)  # all is imported before the clock runs
    for line in sys.stdin:
        request = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, request["seconds"])  # by default this kills, whatever runs
        message = fault(request["schema"], request["value"])
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(message[:_SHOWN]), flush=True)


if __name__ == "__main__":
    main()
