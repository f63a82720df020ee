"""Find the files that come with the package: assets/, conformance/, schemas/, docs/contract.md and LICENSE.

In a wheel they lie in `_data` beside this module, in a checkout in the repository root. They are found by path,
because importlib.resources would cost every start 40 ms.
"""

from __future__ import annotations

import os

_HERE = os.path.dirname(os.path.abspath(__file__))


def data_path(*parts: str) -> str:
    """Return the absolute path of a packaged file, e.g. `data_path("schemas", "state", "plan.schema.json")`."""
    packed = os.path.join(_HERE, "_data")
    base = packed if os.path.isdir(packed) else os.path.dirname(_HERE)
    return os.path.join(base, *parts)
