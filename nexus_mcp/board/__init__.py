"""Show projects on a web page: live, on loopback and read-only; or export the page as static files.

It renders `nexus_mcp/views/` with the templates in `templates/`, and never writes to a project. `assets/vendor/` has
the libraries of the pages; VENDORED.md there names their versions and licences.
"""
