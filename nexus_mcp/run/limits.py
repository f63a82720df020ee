"""Warn before a run reaches its limit of cost, log reached limits, and raise them if a person lets the run continue."""

from __future__ import annotations

from typing import Literal

from nexus_mcp.run import events as ev
from nexus_mcp.run.decide import Limits
from nexus_mcp.run.setup import Run

_FIELDS = {"cost": "max_cost_usd", "minutes": "max_minutes", "attempts": "max_attempts"}


def warn(run: Run) -> None:
    """Log a warning once, when the share `run.cost_warning` of the cost limit is spent."""
    limit, spent = run.config.max_cost_usd, run.state.cost_usd
    if limit is not None and not run.state.is_cost_warned and spent >= limit * run.config.cost_warning:
        run.emit(ev.CostWarning(spent_usd=spent, limit_usd=limit))


def emit(run: Run, spent: Limits) -> None:
    """Log the reached limit: the first of cost, minutes and attempts. If a session reported no cost, the limit of
    cost counts as reached.
    """
    config = run.config
    if config.max_cost_usd is not None and (spent.cost_usd >= config.max_cost_usd or not spent.is_cost_reported):
        run.emit(ev.LimitReached(name="cost", value=spent.cost_usd))
    elif config.max_minutes is not None and spent.minutes >= config.max_minutes:
        run.emit(ev.LimitReached(name="minutes", value=spent.minutes))
    else:
        run.emit(ev.LimitReached(name="attempts", value=spent.attempts))


def _raise_reached(run: Run, spent: Limits) -> None:
    """Set each reached limit to the used amount plus the limit. Drop the cost limit if a session reported no cost."""
    config = run.config
    if config.max_cost_usd is not None and not spent.is_cost_reported:
        _raise(run, "cost", config.max_cost_usd, None)
    elif config.max_cost_usd is not None and spent.cost_usd >= config.max_cost_usd:
        _raise(run, "cost", config.max_cost_usd, spent.cost_usd + config.max_cost_usd)
    if config.max_minutes is not None and spent.minutes >= config.max_minutes:
        _raise(run, "minutes", config.max_minutes, round(spent.minutes) + config.max_minutes)
    if config.max_attempts is not None and spent.attempts >= config.max_attempts:
        _raise(run, "attempts", config.max_attempts, spent.attempts + config.max_attempts)


def raise_answered(run: Run, spent: Limits) -> None:
    """Raise the reached limits if a person answered `continue` and they are not raised yet."""
    if run.state.limit_answer:
        _raise_reached(run, spent)


def restore(run: Run, spent: Limits) -> None:
    """Set the limits to the values to which a person raised them under an earlier executor, unless the configuration
    has another limit since then.

    Leave out the minutes: each executor counts its own. If the earlier executor died after the answer and before it
    raised the limits, raise them now.
    """
    for name, field in _FIELDS.items():
        before, after = getattr(run.config, field), None
        last: ev.LimitRaised | None = None
        for one in run.state.raised if name != "minutes" else ():
            if one.name != name:
                continue
            if last is None or one.before != last.after:  # this raise began at a newly configured limit
                after = one if one.before == before else None
            elif after is not None:
                after = one
            last = one
        if after is not None:
            _set(run, after)
    raise_answered(run, spent)


def _raise(run: Run, name: Literal["cost", "minutes", "attempts"], before: float, after: float | None) -> None:
    event = ev.LimitRaised(name=name, before=before, after=after)
    run.emit(event)
    _set(run, event)


def _set(run: Run, raised: ev.LimitRaised) -> None:
    field = _FIELDS[raised.name]
    after = raised.after if raised.after is None or field == "max_cost_usd" else int(raised.after)
    run.config = run.config.model_copy(update={field: after})
