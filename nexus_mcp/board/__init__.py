"""Show projects on web pages: live, on loopback and read-only; or export the pages as static files.

This package renders the views of `nexus_mcp/views/` with the templates in `templates/`, and never writes to `.nexus/`.
`assets/vendor/` has the libraries of the pages; VENDORED.md there names their versions and licences.
"""
