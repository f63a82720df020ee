"""`nexus-mcp report`: the decisions and the work of a period, as Markdown or as an HTML page."""

from __future__ import annotations

import sys
import time

from nexus_mcp.cli import exits
from nexus_mcp.cli.history_views import NONE_YET, print_json_view, since_from
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.workspace_options import JSON, PROJECT, workspace_from
from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

MARKDOWN, HTML = FORMATS = ("md", "html")
DEFAULT_PERIOD = "7d"
SINCE = Option("--since", "WHEN", f"where the period begins: 7d, 12h or a date (default: {DEFAULT_PERIOD})")
UNTIL = Option("--until", "WHEN", "where it ends, as --since (default: now)")
BRANCH = Option("--branch", "NAME", "only cycles closed on this git branch")
FORMAT = Option("--format", "FORMAT", f"{MARKDOWN}, or {HTML} for a page (default: {MARKDOWN})", FORMATS)


def run(values: Values) -> int:
    """Print the report. Raise UsageError, StateError, PathRefused, StorageError."""
    from nexus_mcp.state import times
    from nexus_mcp.store.store import Store
    from nexus_mcp.views.report import report
    from nexus_mcp.views.status import status

    form = values.get(FORMAT.name, MARKDOWN)
    if JSON.name in values and FORMAT.name in values:
        raise UsageError(f"{JSON.name} and {FORMAT.name} exclude each other.", next_step="Use one of them.")
    values.setdefault(SINCE.name, DEFAULT_PERIOD)
    since, until = since_from(values), since_from(values, UNTIL)
    if not until and since > times.stamp(time.time()):
        raise UsageError(
            f"{SINCE.name} is in the future, so the period is empty.",
            next_step=f"Name an earlier {SINCE.name}; without it the period begins {DEFAULT_PERIOD} ago.",
        )
    if until and until <= since:
        raise UsageError(
            f"{UNTIL.name} is not after {SINCE.name}, so the period is empty.",
            next_step=f"Name an earlier {SINCE.name}; without it the period begins {DEFAULT_PERIOD} ago.",
        )
    if form == HTML and sys.stdout.isatty():
        raise UsageError(
            "The page is for a browser, not for a terminal.", next_step="Add > report.html to the command."
        )
    workspace = workspace_from(values)
    store = Store(workspace)
    now = status(store, workspace)
    view = store.history(
        lambda archive: report(archive, now, since=since, until=until, branch=values.get(BRANCH.name, "")),
    )
    # Without --until the report also shows the open work, and names each of its files that cannot be read. Such a file
    # fails the command.
    code = exits.FAILED if now["faults"] and not until else exits.OK
    if JSON.name in values:
        print_json_view(view)
        return code
    if not view["cycles"]:
        print(f"nexus-mcp: {_nothing(values, now['cycles'])}", file=sys.stderr)
    today = times.stamp(time.time())
    if form == HTML:
        from nexus_mcp.rendering.report_html import report_html

        print(report_html(view, today), end="")
        return code
    from nexus_mcp.rendering.report_markdown import report_markdown

    print(report_markdown(view, today), end="")
    return code


def _nothing(values: Values, total: int) -> str:
    """Return why the report has no cycle, and the next step. It goes to stderr, so that no changelog contains it."""
    if not total:
        return NONE_YET
    branch = " on that branch" if BRANCH.name in values else ""
    verb = "is" if total == 1 else "are"
    return f"No cycle was closed in this period{branch}; there {verb} {total} in all. nexus-mcp history lists them."


COMMAND = Command(
    "report",
    "report the decisions and the work of a period",
    "Writes what was decided and done in the cycles closed in the period, the oldest\n"
    "first, and what is open now: for a changelog, a stand-up or a review. Markdown\n"
    "by default; --format html writes one self-contained page, also for printing.",
    (SINCE, UNTIL, BRANCH, FORMAT, JSON, PROJECT),
    run,
    examples=(
        ("nexus-mcp report --since 1d", "write what happened since yesterday"),
        ("nexus-mcp report --since 2026-11-01 --format html > report.html", "make a page for a review"),
    ),
)
