"""Plans, tasks and history as plain values, and the transitions between them.

No file of a project is read or written here; what the values must look like is loaded from the package's own schemas.
"""
