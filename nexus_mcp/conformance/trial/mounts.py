"""Tell one mounted file system from another, so that no look and no deletion ever leaves the one it began in.

Device numbers do not tell: a bind mount of a folder of the same disk has the same one.
"""

from __future__ import annotations

import os

Mount = tuple[str, int]


def mount_of(fd: int) -> Mount:
    """Return what is the same for two open files exactly when no mount point lies between them."""
    try:
        with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as file:
            for line in file:
                if line.startswith("mnt_id:"):
                    return "mount", int(line.split()[1])
    except (OSError, ValueError, IndexError):  # not Linux, or no /proc
        pass
    return "device", os.fstat(fd).st_dev
