"""history.json, however long: read through an index that is derived from it, grown by a copy that the kernel makes.

`archive` is what the rest of the store sees. Below it: `building` reads the file window by window, `index` knows where
each cycle lies, `cache` keeps that on disk, `searching` looks through the texts (docs/decisions/0050).
"""

NAME = "history.json"
SHOWN = f".nexus/{NAME}"
LIMIT = 512 << 20
"""Bytes. A longer file is not read, and none is made longer than that."""
EMPTY = '{\n  "cycles": []\n}\n'
"""What an absent file counts as."""
