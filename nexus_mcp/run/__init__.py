"""Work through the task list with real agents (docs/run.md).

The lower modules are pure rules, such as configuration, events, verdicts, projection, readiness and `decide`. The upper
modules have effects, such as the event log, worktrees, processes, drivers and the engine. The state of a run is
computed from its event log alone, so a run that is killed at any point can continue.
"""
