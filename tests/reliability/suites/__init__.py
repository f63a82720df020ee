"""The table SUITES, in the order of docs/reliability.md."""

from __future__ import annotations

from tests.reliability.suite import Suite
from tests.reliability.suites import (
    editors,
    errnos,
    files,
    frames,
    hostile,
    http,
    kills,
    linearizable,
    model,
    powercut,
    races,
    runs,
    sessions,
    syscalls,
)

_ALL: tuple[Suite, ...] = (
    syscalls.SUITE,
    errnos.SUITE,
    kills.SUITE,
    powercut.SUITE,
    linearizable.SUITE,
    model.SUITE,
    files.SUITE,
    frames.SUITE,
    races.SUITE,
    editors.SUITE,
    hostile.SUITE,
    sessions.SUITE,
    runs.SUITE,
    http.SUITE,
)
SUITES: dict[str, Suite] = {suite.name: suite for suite in _ALL}
