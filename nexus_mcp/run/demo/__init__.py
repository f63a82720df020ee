"""The demo of `nexus-mcp run`: a small repository, three tasks, and a scripted agent that edits files for real."""
