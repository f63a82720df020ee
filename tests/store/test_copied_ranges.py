"""Bytes are copied between files by the kernel, or by us where the kernel cannot."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from unittest.mock import patch

import pytest

from nexus_mcp.store import atomic


@pytest.mark.parametrize("told", [[errno.EXDEV], [0], [-400, errno.ENOSYS], [-300, 0], [-1000]], ids=repr)
def test_a_copy_needs_no_help_of_the_kernel(fast_path: Path, told: list[int]) -> None:
    """Where it cannot copy by itself, or only a part, the rest is read and written."""
    left = told.copy()

    def some(source: int, target: int, _: int, offset_src: int) -> int:
        answer = left.pop(0)
        if answer > 0:
            raise OSError(answer, "no")
        os.write(target, os.pread(source, -answer, offset_src))
        return -answer

    data = os.urandom(1000)
    (fast_path / "a").write_bytes(data)
    with (
        (fast_path / "a").open("rb") as source,
        (fast_path / "b").open("wb", 0) as target,
        patch.object(os, "copy_file_range", some, create=True),
    ):
        atomic.copy_range(source.fileno(), target.fileno(), 1000)
    assert (fast_path / "b").read_bytes() == data


def test_failed_copy_is_not_tried_in_another_way(fast_path: Path) -> None:
    """A full disk is one for every way."""
    (fast_path / "a").write_bytes(b"abc")
    with (
        (fast_path / "a").open("rb") as source,
        (fast_path / "b").open("wb", 0) as target,
        patch.object(os, "copy_file_range", side_effect=OSError(errno.ENOSPC, "full"), create=True),
        pytest.raises(OSError, match="full"),
    ):
        atomic.copy_range(source.fileno(), target.fileno(), 3)
    assert (fast_path / "b").read_bytes() == b""
