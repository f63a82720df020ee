"""Shows a RunResult: on a terminal, as JSON, JUnit's XML, a page, a badge, and several runs side by side.

Pure functions from the result to a text; only `files` and `terminal` write. What a target said is untrusted, so
everything goes through `texts` on its way.
"""
