"""Plans, tasks, history, agents and operation log as plain values, and the changes of these values.

This package reads and writes no file of a project. It loads the shapes of the values from the schemas of nexus-mcp.
"""
