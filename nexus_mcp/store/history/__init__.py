"""Read and extend a long history.json: an index locates its cycles, and the kernel copies the old file if it can.

`archive` reads the history, and `append` writes it. They use the other modules: `parse`, `frame` and `msgspec_cycles`
read the file window by window, `index` records where each cycle lies, `identity` detects a changed file, `memory` and
`cache` keep the index in the process and on disk, `texts` searches the cycles (docs/decisions/0050).
"""

NAME = "history.json"
SHOWN = f".nexus/{NAME}"
LIMIT = 512 << 20
"""Largest history that is read or written, in bytes."""
EMPTY = '{\n  "cycles": []\n}\n'
"""The content that nexus-mcp assumes for an absent file."""
