"""Views as documents: Markdown, HTML, Mermaid, DOT and SVG. The commands print them, and pages may embed them.

Stored text is data in each of them: it is escaped where it enters a document, and nothing in it becomes a heading, a
tag, a script, a link that runs a script, or an image from elsewhere.
"""
