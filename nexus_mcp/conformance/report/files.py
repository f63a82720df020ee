"""Write reports as files. The file name selects the kind, and each path is checked before the run."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from nexus_mcp.conformance.report.html import to_html
from nexus_mcp.conformance.report.json_report import to_badge, to_json
from nexus_mcp.conformance.report.junit import to_junit
from nexus_mcp.conformance.stopping import handle_signals
from nexus_mcp.errors import HarnessFault, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nexus_mcp.conformance.result import RunResult

BADGE = "badge"
"""A .json file whose name begins with this is a badge; any other is the result."""


KINDS: dict[str, Callable[[RunResult], str]] = {".xml": to_junit, ".html": to_html, ".json": to_json}


def kind(path: str) -> Callable[[RunResult], str]:
    """Return the renderer for a report of this name. Raise UsageError for an unknown name."""
    name = os.path.basename(path).lower()
    suffix = os.path.splitext(name)[1]
    if suffix == ".json" and name.startswith(BADGE):
        return to_badge
    if suffix not in KINDS:
        raise UsageError(
            f"--report {path}: the name does not show which report to write.",
            next_step="Use a name that ends in .xml (JUnit), .html or .json; badge.json is a badge.",
        )
    return KINDS[suffix]


def check(option: str, paths: Sequence[str]) -> None:
    """Raise UsageError for the first report that cannot be written, or whose path appears twice.

    This is called before the run.
    """
    for number, path in enumerate(paths):
        kind(path)
        check_place(option, path)
        if os.path.abspath(path) in map(os.path.abspath, paths[:number]):
            raise UsageError(f"{option} {path} appears twice.")


def check_place(option: str, path: str) -> None:
    """Raise UsageError, naming `option`, when no file can be created at `path`."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise UsageError(
            f"{option} {path}: the folder {folder} does not exist.", next_step="Create it, then start again."
        )
    if os.path.isdir(path):
        raise UsageError(f"{option} {path}: it is a folder.")
    part = _part(path)
    try:
        with suppress(FileNotFoundError):
            os.lstat(path)  # the name itself may be too long
        # Create a file: permissions show neither a full disk nor a folder that takes no files.
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC))
        os.unlink(part)
    except OSError as error:
        raise UsageError(f"{option} {path}: no file can be created there: {error.strerror}.") from error


def write(option: str, path: str, text: str) -> None:
    """Write the whole text to `path`, or leave the old file. Raise HarnessFault, naming `option`."""
    part = _part(path)
    try:
        try:
            with handle_signals(), open(part, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            os.replace(part, path)
        except BaseException:
            if os.path.lexists(part):
                os.unlink(part)
            raise
    except OSError as error:
        raise HarnessFault([f"{option} {path}: could not be written: {error.strerror}"]) from error


def _part(path: str) -> str:
    """Return a temporary path beside the report, of fixed length: a report's name may have the maximal length."""
    return os.path.join(os.path.dirname(path), f".nexus-mcp.{os.getpid()}.part")
