"""What people look at, as data: status, tasks, history, decisions, graph. Terminal, board and export render it.

Each view is a JSON value with a `version` and a schema in `schemas/views/`. A view never writes to the project, except
that reading completes an interrupted change, as every call does. Texts in it are stored text, unescaped: each renderer
escapes them for its own medium.
"""

VERSION = 1
"""The version of all views. It grows when a field changes its meaning or goes; a new field does not change it."""
