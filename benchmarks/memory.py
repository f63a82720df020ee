"""Memory of another process, in megabytes of 10^6 bytes: resident now, and at its peak."""

from __future__ import annotations

import re
from pathlib import Path

import psutil


def resident(pid: int) -> float:
    return _status(pid, "VmRSS") or psutil.Process(pid).memory_info().rss / 1e6


def peak(pid: int) -> float:
    """Return the peak. Without /proc it is that of the system, or the resident size if the system has none."""
    if found := _status(pid, "VmHWM"):
        return found
    info = psutil.Process(pid).memory_info()
    return float(getattr(info, "peak_wset", info.rss)) / 1e6


def _status(pid: int, field: str) -> float | None:
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    found = re.search(rf"^{field}:\s+(\d+) kB$", text, re.MULTILINE)
    return int(found[1]) * 1024 / 1e6 if found else None
