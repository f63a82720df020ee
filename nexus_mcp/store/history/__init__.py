"""Read and extend a history.json of any length: an index locates its cycles, and the kernel copies the old file.

`archive` reads the history, and `append` writes it. They use the other modules: `parse` reads the file window by
window, `index` records where each cycle lies, `cache` stores the index on disk, `texts` searches the cycles
(docs/decisions/0050).
"""

NAME = "history.json"
SHOWN = f".nexus/{NAME}"
LIMIT = 512 << 20
"""Largest history that is read or written, in bytes."""
EMPTY = '{\n  "cycles": []\n}\n'
"""The content that nexus-mcp assumes for an absent file."""
