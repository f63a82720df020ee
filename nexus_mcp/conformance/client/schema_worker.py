"""A process of its own that holds values against JSON schemas: a line of JSON in, a line out.

A pattern of a schema may take longer than anybody lives, in a way that no thread can end. It is run as a script, so it
imports nothing of ours.
"""

from __future__ import annotations

import json
import signal
import sys
from functools import cache
from typing import Any


@cache
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
    except Exception as error:  # noqa: BLE001 - whatever it meets is the schema's doing
        return f"the schema cannot be used: {type(error).__name__}: {error}"
    return "" if worst is None else f"{worst.json_path}: {worst.message}"


def main() -> None:
    """Until stdin ends. Each line has `schema`, `value` and the `seconds` of computing that end this process."""
    print(json.dumps(fault("{}", None)), flush=True)  # all is imported before the clock runs
    for line in sys.stdin:
        asked = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, asked["seconds"])  # by default this kills, whatever runs
        said = fault(asked["schema"], asked["value"])
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
