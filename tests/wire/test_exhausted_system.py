"""A server that gets no descriptor or no thread when the first call arrives."""

from __future__ import annotations

import errno
import os
import select
from typing import NoReturn

import pytest

from nexus_mcp.server import side_reader
from tests.wire.connection import Talk, call, error, initialize
from tests.wire.fake_tools import FakeApp


def no_thread(*_: object) -> NoReturn:
    raise RuntimeError("can't start new thread")


def no_descriptor(*_: object) -> NoReturn:
    raise OSError(errno.EMFILE, "Too many open files")


@pytest.mark.parametrize("lacking", ["descriptor", "descriptor to be woken by", "thread"])
def test_call_without_descriptors_is_refused_and_the_next_one_tried(
    monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    """A call for which the system has no descriptor or thread left is answered so; the next one tries again."""
    talk = Talk(FakeApp().as_app())
    talk.ask(initialize())
    before = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patch:
        if lacking == "descriptor":
            patch.setattr(os, "pipe", no_descriptor)
        elif lacking == "thread":
            patch.setattr(side_reader, "start_new_thread", no_thread)
        else:
            patch.setattr(select, "epoll", no_descriptor)
        assert talk.ask(call(1, "echo")) == error(1, -32603, "Internal server error")
    assert len(os.listdir("/proc/self/fd")) == before
    assert talk.ask(call(2, "echo"))["id"] == 2
    assert talk.end() == []
