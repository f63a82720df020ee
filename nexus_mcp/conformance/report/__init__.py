"""Shows a RunResult: on a terminal, as JSON, JUnit's XML, a page, a badge, and several runs side by side.

Pure functions from the result to a text, for which `html` reads its own style. Only `files` writes, and `terminal` and
`side_by_side` print, to the stream they are given. What a target said is untrusted, so everything goes through `texts`
on its way.
"""
