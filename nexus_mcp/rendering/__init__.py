"""Render views as documents: Markdown, HTML, Mermaid, DOT and SVG. Commands print them, and pages may embed them.

Stored text is data in each document: it may be formatted by its Markdown, but nothing in it becomes a heading, raw
HTML, a script, a link that runs a script, or an image from elsewhere.
"""
