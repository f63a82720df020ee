"""Write a status file at a path that the user chose. A fault is an error before the run starts, and later a warning."""

from __future__ import annotations

import os
from contextlib import suppress

from nexus_mcp.errors import UsageError


class StatusPath:
    """The file at `path`, relative to the working directory. `problem` is the last fault of writing, "" for none."""

    def __init__(self, path: str) -> None:
        """Check that the file can be written. Raise UsageError."""
        self.path = os.path.abspath(path)
        self.problem = ""
        if os.path.isdir(self.path):
            raise UsageError(f"--status-file: {path!r} is a folder.")
        self.write(b"{}\n" if not os.path.exists(self.path) else None)
        if self.problem:
            raise UsageError(f"--status-file: {path!r} cannot be written: {self.problem}.")

    def write(self, data: bytes | None) -> None:
        """Replace the file, so that a reader never sees half of it. For None, only test that its folder is writable."""
        temporary = f"{self.path}.tmp"
        try:
            with open(temporary, "wb") as file:
                file.write(data or b"")
            if data is not None:
                os.replace(temporary, self.path)
            else:
                os.unlink(temporary)
            self.problem = ""
        except OSError as error:
            self.problem = error.strerror or type(error).__name__
            with suppress(OSError):
                os.unlink(temporary)
