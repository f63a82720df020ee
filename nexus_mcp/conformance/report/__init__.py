"""Render a RunResult: on a terminal, as JSON, JUnit XML, an HTML page, a badge, or several runs side by side.

All functions are pure, except that `html` reads its style sheet, `files` and `expected` write files, and `terminal` and
`compare` print to the stream they get. Text from a target is untrusted, so all of it passes through `texts`.
"""
