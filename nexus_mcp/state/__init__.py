"""Plans, tasks and history as plain values, and the transitions between them.

This package reads and writes no file of a project. It loads the shapes of the values from the schemas of the package.
"""
