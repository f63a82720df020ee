"""Render a RunResult: on a terminal, as JSON, JUnit XML, HTML, a badge or expected failures; or several side by side.

`html` reads its style sheet, and the reports that name rules read the contract. `files` and `expected` write files,
`terminal` and `compare` print to the stream they get. The other functions are pure. Text from a target is untrusted, so
all of it passes through `texts`.
"""
