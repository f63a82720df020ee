"""Help authors: check and explain fixtures, find what they assert, and write the start of a server."""
