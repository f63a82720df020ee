"""Read a projects file: one project a line, as `PATH` or `NAME=PATH`."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from nexus_mcp.errors import UsageError

_LIMIT = 1 << 20
_LONGEST_NAME = 40
_NAMED = re.compile(r"([a-z0-9][a-z0-9-]{0,39})=(.*)", re.DOTALL)


class Entry(NamedTuple):
    """A project: its name in addresses ("" if the line has no name), and its absolute path."""

    name: str
    path: str


def plain_name(path: str) -> str:
    """Return the name of a folder in the form for addresses: at most _LONGEST_NAME lower case letters, digits and
    hyphens; "project" if none is left.
    """
    return re.sub(r"[^a-z0-9]+", "-", os.path.basename(path).lower()).strip("-")[:_LONGEST_NAME] or "project"


def read(path: str) -> list[Entry]:
    """Return the projects in a file; empty lines and lines that begin with # are left out. A relative path counts from
    the folder of the file. Raise UsageError.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(_LIMIT + 1)
    except OSError as error:
        raise UsageError(
            f"--projects: {path!r} cannot be read: {error.strerror}.", next_step="Name a file with one path a line."
        ) from error
    if len(data) > _LIMIT:
        raise UsageError(f"--projects: {path!r} is larger than 1 MiB.", next_step="Name a file with one path a line.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"--projects: {path!r} is not UTF-8.", next_step="Save it as UTF-8.") from None
    lines = [line.strip() for line in text.splitlines()]
    found = [_entry(line, path, number) for number, line in enumerate(lines, 1) if line and not line.startswith("#")]
    if not found:
        raise UsageError(f"--projects: {path!r} names no project.", next_step="Write one path a line into it.")
    return found


def _entry(line: str, path: str, number: int) -> Entry:
    match = _NAMED.fullmatch(line)
    name, place = (match[1], match[2].strip()) if match else ("", line)
    if not place or "\0" in place:
        raise UsageError(
            f"--projects: line {number} of {path!r} names no folder.", next_step="Write PATH or NAME=PATH into it."
        )
    return Entry(name, os.path.join(os.path.dirname(os.path.abspath(path)), os.path.expanduser(place)))
