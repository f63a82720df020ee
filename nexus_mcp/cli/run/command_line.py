"""Read the options of `nexus-mcp run [TASK…]`, and combine them with the project's configuration."""

from __future__ import annotations

import os
import sys

from nexus_mcp.cli.options import Argument, Option, parse_count
from nexus_mcp.cli.workspace_options import PROJECT, load_catalog, workspace_from
from nexus_mcp.errors import CatalogError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.options import Values
    from nexus_mcp.cli.run.typed_run import TypedRun
    from nexus_mcp.run.setup import Options

TASKS = Argument("[TASK]", "ids of tasks; without them, all tasks", least=0, count=10**6, is_number=True)
HARNESS = Option("--harness", "ID", "claude-code, codex, opencode, or a driver of the config")
JOBS = Option("--jobs", "N", "attempts at once (default: 2)")
ISOLATION = Option("--isolation", "KIND", "worktree: each attempt has its own (default)", ("worktree",))
BASE = Option("--base", "REF", "the commit that the run begins from (default: HEAD)")
STRATEGIES = ("test-after", "tdd-lite", "three-session-tdd", "none")
STRATEGY = Option("--strategy", "S", f"{', '.join(STRATEGIES)}", STRATEGIES)
MAX_COST = Option("--max-cost", "USD", "start nothing more once this is spent")
MAX_MINUTES = Option("--max-minutes", "N", "start nothing more after this time")
MAX_ATTEMPTS = Option("--max-attempts", "N", "start at most N attempts")
MERGE = Option("--merge", "MODE", "at the end: ask (default), auto, or never", ("ask", "auto", "never"))
NO_CHECK = Option("--no-check", "", "no reviewers; the project's own checks still run")
TRUST = Option("--trust", "", "trust the commands in the section run of config.yml")
DEMO = Option("--demo", "", "show a run in a temporary repository, without an account")
STATUS_FILE = Option("--status-file", "PATH", "also write the status to PATH, for CI")
EVENTS = Option("--events", "PATH", "write each event as a line of JSON; - is stdout")
HEADLESS = Option("--headless", "", "ask nothing; without a terminal this is the default")
DRY_RUN = Option("--dry-run", "", "show order, agents, models and checks; start nothing")
NEW = Option("--new", "", "abandon the unfinished run and begin another one")
ENGINE = Option("--engine", "NAME", "local: child processes of this machine (default)", ("local",))
OPTIONS = (
    *(HARNESS, JOBS, ISOLATION, BASE, STRATEGY, MAX_COST, MAX_MINUTES, MAX_ATTEMPTS, MERGE, NO_CHECK, TRUST, DEMO),
    *(STATUS_FILE, EVENTS, HEADLESS, DRY_RUN, NEW, ENGINE, PROJECT),
)


def read(values: Values) -> TypedRun:
    """Return the workspace, configuration, options and catalog of the run, from the command line and the project's
    files. Raise UsageError, PathRefused, StorageError.
    """
    from nexus_mcp.cli.run.typed_run import TypedRun
    from nexus_mcp.run import settings
    from nexus_mcp.store.store import Store

    workspace = workspace_from(values)
    try:
        config, everything = settings.read(workspace.root)
    except CatalogError as error:  # exit code 2, as for a wrong command line
        raise UsageError("; ".join(error.faults), next_step=error.next_step) from error
    config = settings.with_options(config, _changes(values))
    catalog = load_catalog(workspace.root)
    return TypedRun(values, workspace, Store(workspace), config, everything, _options(values), catalog)


def _changes(values: Values) -> dict[str, Any]:
    """Return the settings that the command line changes."""
    found: dict[str, Any] = {}
    if HARNESS.name in values:
        found["harness"] = values[HARNESS.name]
    for option, name in ((JOBS, "jobs"), (MAX_MINUTES, "max_minutes"), (MAX_ATTEMPTS, "max_attempts")):
        if option.name in values:
            found[name] = parse_count(values[option.name], option.name)
    if MAX_COST.name in values:
        found["max_cost_usd"] = _usd(values[MAX_COST.name])
    return found


def _usd(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UsageError(f"{MAX_COST.name} needs an amount in USD above 0, such as 2.50, not {text[:40]!r}.")
    return value


def _options(values: Values) -> Options:
    from nexus_mcp.run.setup import Options

    words = values.lists.get(TASKS.name, [])
    as_typed = {name: value for name, value in values.items() if name.startswith("--") and name != PROJECT.name}
    return Options(
        tasks=tuple(dict.fromkeys(parse_count(word, "TASK") for word in words)) if words else None,
        base=values.get(BASE.name, ""),
        merge=values.get(MERGE.name, "ask"),  # type: ignore[arg-type]
        strategy=values.get(STRATEGY.name),  # type: ignore[arg-type]
        is_headless=is_headless(values),
        has_review=NO_CHECK.name not in values,
        as_typed=as_typed,
    )


def is_headless(values: Values) -> bool:
    """Return whether the run has no terminal for questions, or may not use it."""
    return HEADLESS.name in values or not (os.isatty(0) and sys.stdout is not None and sys.stdout.isatty())
