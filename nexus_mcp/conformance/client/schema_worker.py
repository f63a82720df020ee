"""A process of its own that holds values against JSON schemas: a line of JSON in, a line out.

A pattern of a schema may take longer than anybody lives, in a way that no thread can end. It is run as a script, so it
imports nothing of ours.
"""

from __future__ import annotations

import json
import signal
import sys
from contextlib import suppress
from functools import lru_cache
from typing import Any

MEMORY = 1 << 30
"""Bytes of address space: a schema can make a small value into a large computation."""
_SHOWN = 400
"""Characters of what is said."""


@lru_cache(maxsize=64)
def _validator(schema: str) -> Any:
    from jsonschema.validators import validator_for
    from referencing import Registry

    document = json.loads(schema)
    kind = validator_for(document)
    kind.check_schema(document)
    # Nothing is fetched from anywhere: references stay within the schema.
    return kind(document, registry=Registry())


def fault(schema: str, value: Any) -> str:
    """Where `value` breaks `schema`, a JSON text, or why that cannot be used; "" when all is well."""
    from jsonschema import SchemaError
    from jsonschema.exceptions import best_match

    try:
        worst = best_match(_validator(schema).iter_errors(value))
    except SchemaError as error:
        return f"the schema is none: {error.json_path}: {error.message}"
    except MemoryError:
        return f"the schema takes more than {MEMORY >> 20} MiB of memory"
    except Exception as error:  # noqa: BLE001 - whatever it meets is the schema's doing
        return f"the schema cannot be used: {type(error).__name__}: {error}"
    return "" if worst is None else f"{worst.json_path}: {worst.message}"


def bound_memory(most: int) -> None:
    """Let this process use at most so many bytes, where the system can tell."""
    import resource

    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main() -> None:
    """Until stdin ends. Each line has `schema`, `value` and the `seconds` of computing that end this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the runner, which ends this process
    bound_memory(MEMORY)
    print(json.dumps(fault("{}", None)), flush=True)  # all is imported before the clock runs
    for line in sys.stdin:
        asked = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, asked["seconds"])  # by default this kills, whatever runs
        said = fault(asked["schema"], asked["value"])
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(said[:_SHOWN]), flush=True)


if __name__ == "__main__":
    main()
