"""Draw the pictures of the documentation from real runs of the server: `make docs`.

runs.py and sessions.py work in a temporary project and note what happened; the others draw it. The same code gives the
same bytes, so a test compares the files in docs/pictures/ with a new run.
"""
