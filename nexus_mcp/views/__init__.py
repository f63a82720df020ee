"""Build views as data: status, tasks, history, decisions, graph. The terminal, the board and the export render them.

Each view is a JSON value with a `version` and a schema in `schemas/views/`. A view never writes to the project, except
that reading completes an interrupted change, as every call does. Texts in a view are stored text, unescaped: each
renderer escapes them for its own medium.
"""

VERSION = 1
"""The version of all views. It grows when a field is removed or changes its meaning; a new field does not change it."""
