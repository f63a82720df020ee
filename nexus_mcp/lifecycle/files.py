"""Files as a harness names them, and where they are in the project."""

from __future__ import annotations

import os

LONGEST_PATH = 1 << 12
"""Characters of a path that is looked up: no system opens a longer one, and each name in it costs a call."""


def inside(root: str, told: str) -> str | None:
    """The file as a path from the project root, with `/`; None when it is not in the project, or too long for a path.

    With every link and `..` on the way resolved: what counts is where a tool would read or write. A relative path is
    taken from the root.
    """
    if len(told) > LONGEST_PATH:
        return None
    try:
        path = os.path.realpath(os.path.join(root, told))
    except (ValueError, OSError):  # a NUL, or links without end
        return None
    top = root.rstrip(os.sep) + os.sep
    return path[len(top) :].replace(os.sep, "/") if path.startswith(top) else None
