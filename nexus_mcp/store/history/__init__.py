"""history.json, however long: read through an index, appended to by a copy that the kernel makes.

The rest of the store uses only `archive`. Below it: `parse` reads the file window by window, `index` records where
each cycle lies, `cache` keeps that on disk, `texts` searches the cycles (docs/decisions/0050).
"""

NAME = "history.json"
SHOWN = f".nexus/{NAME}"
LIMIT = 512 << 20
"""Largest history that is read or written, in bytes."""
EMPTY = '{\n  "cycles": []\n}\n'
"""The content that an absent file counts as."""
