"""Write the failures of a run as a list of expected failures, by cause, each with a reason that says what fails."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from nexus_mcp.conformance import settings
from nexus_mcp.conformance.report import files
from nexus_mcp.conformance.report.causes import causes
from nexus_mcp.conformance.report.texts import count_noun
from nexus_mcp.errors import HarnessFault, UsageError

if TYPE_CHECKING:
    from nexus_mcp.conformance.report.causes import Cause
    from nexus_mcp.conformance.result import RunResult

HEAD = f"""\
# Fixtures that fail, by cause. Each may fail. When one passes, remove its entry, or the run fails.
# Replace "{settings.NOT_LOOKED_AT} ..." by the reason when you know it.
"""


def check(option: str, path: str, known: str | None) -> None:
    """Raise UsageError, naming `option`, when the list cannot be written at `path`.

    `known` is the path of the list that the present run uses, or None. If there is a file at `path`, it must be this
    list: new entries are added to it.
    """
    if os.path.lexists(path) and (known is None or not os.path.exists(known) or not os.path.samefile(path, known)):
        raise UsageError(
            f"{option} {path}: the file exists.",
            next_step=f"Add --expected-failures {path} to add the new failures to it, or choose another name.",
        )
    files.check_place(option, path)


def write(option: str, path: str, run: RunResult) -> str:
    """Add the unexpected failures of a run to the list at `path`, and return a line about it.

    Existing entries and comments stay. Without unexpected failures, write nothing. Raise HarnessFault when the file
    cannot be read or written, or when no entries can be added at its end.
    """
    found = causes(run.unexpected_failures)
    if not found:
        return f"{path}: no new entry, because no fixture failed unexpectedly"
    present = _text(option, path)
    text = (f"{present.rstrip()}\n" if present.strip() else HEAD) + _entries(found)
    ids = {result.test_id for result in run.unexpected_failures}
    if present.strip() and not ids <= settings.parse_mapping(path, text, "test_id", "reason").keys():
        raise HarnessFault([f"{option} {path}: entries cannot be added at its end."])
    files.write(option, path, text)
    return (
        f"written: {path} ({count_noun(len(ids), 'fixture')}, {count_noun(len(found), 'cause')}); "
        f"the next run takes it with --expected-failures {path}"
    )


def _text(option: str, path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise HarnessFault([f"{option} {path}: could not be read."]) from error


def _entries(found: list[Cause]) -> str:
    lines = []
    for cause in found:
        lines += ["", f"# {count_noun(len(cause.results), 'fixture')}: {cause.title}"]
        reason = json.dumps(f"{settings.NOT_LOOKED_AT} {cause.title}", ensure_ascii=False)
        lines += [f"{test_id}: {reason}" for test_id in sorted(result.test_id for result in cause.results)]
    return "\n".join([*lines, ""])
