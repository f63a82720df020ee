"""The limits of a run on cost, time and attempts: warn before, log that one is reached, and raise it."""

from __future__ import annotations

from nexus_mcp.run import events as ev
from nexus_mcp.run.decide import Limits
from nexus_mcp.run.setup import Run


def warn(run: Run) -> None:
    """Warn once when the configured share of the cost limit is spent."""
    limit, spent = run.config.max_cost_usd, run.state.cost_usd
    if limit is not None and not run.state.is_cost_warned and spent >= limit * run.config.cost_warning:
        run.emit(ev.CostWarning(spent_usd=spent, limit_usd=limit))


def emit(run: Run, spent: Limits) -> None:
    """Log which limit is reached."""
    config = run.config
    if config.max_cost_usd is not None and (spent.cost_usd >= config.max_cost_usd or not spent.is_cost_reported):
        run.emit(ev.LimitReached(name="cost", value=spent.cost_usd))
    elif config.max_minutes is not None and spent.minutes >= config.max_minutes:
        run.emit(ev.LimitReached(name="minutes", value=spent.minutes))
    else:
        run.emit(ev.LimitReached(name="attempts", value=spent.attempts))


def raise_reached(run: Run, spent: Limits) -> None:
    """Set each reached limit to the used amount plus the limit. Drop a limit of the cost if the cost is unknown."""
    config = run.config
    more: dict[str, float | None] = {}
    if config.max_cost_usd is not None and not spent.is_cost_reported:
        more["max_cost_usd"] = None
    elif config.max_cost_usd is not None and spent.cost_usd >= config.max_cost_usd:
        more["max_cost_usd"] = spent.cost_usd + config.max_cost_usd
    if config.max_minutes is not None and spent.minutes >= config.max_minutes:
        more["max_minutes"] = round(spent.minutes) + config.max_minutes
    if config.max_attempts is not None and spent.attempts >= config.max_attempts:
        more["max_attempts"] = spent.attempts + config.max_attempts
    run.config = config.model_copy(update=more)
