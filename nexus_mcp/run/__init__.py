"""Work through the task list with real agents (docs/run.md).

Pure rules below: configuration, events, verdicts, projection, readiness and `decide`. Effects above: the event log,
worktrees, processes, drivers and the engine. The event log is the only truth, so a killed run goes on from any point.
"""
