"""A server to which the system gives no descriptor or no thread when the first call comes."""

from __future__ import annotations

import errno
import os
import threading
from types import SimpleNamespace
from typing import NoReturn

import pytest

from nexus_mcp.server import aside
from tests.wire.fake import FakeApp
from tests.wire.talk import Talk, call, error, initialize


class Unstartable(threading.Thread):
    def start(self) -> None:
        raise RuntimeError("can't start new thread")


def no_descriptor(*_: object) -> NoReturn:
    raise OSError(errno.EMFILE, "Too many open files")


@pytest.mark.parametrize("lacking", ["descriptor", "thread", "thread to watch"])
def test_nothing_to_run_calls_with(monkeypatch: pytest.MonkeyPatch, lacking: str) -> None:
    """A call for which the system has no descriptor or thread left is answered so; the next one tries again."""
    unstartable = SimpleNamespace(Thread=Unstartable, Condition=threading.Condition)
    talk = Talk(FakeApp().as_app())
    talk.ask(initialize())
    with monkeypatch.context() as patch:
        if lacking == "descriptor":
            patch.setattr(os, "pipe", no_descriptor)
        elif lacking == "thread":
            patch.setattr(aside, "threading", unstartable)
        else:
            patch.setattr(threading, "Thread", Unstartable)
        assert talk.ask(call(1, "echo")) == error(1, -32603, "Internal server error")
    assert talk.ask(call(2, "echo"))["id"] == 2
    assert talk.end() == []
