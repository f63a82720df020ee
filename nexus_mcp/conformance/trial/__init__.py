"""Run one fixture against one target: its project, its steps, and the judgement of both."""
