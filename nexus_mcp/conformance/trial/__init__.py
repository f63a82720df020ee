"""Run one fixture against one target: create its project, carry out its steps, and judge the result."""
