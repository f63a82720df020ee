"""SUITES is the table of the suites, in the order of docs/reliability.md."""

from __future__ import annotations

from tests.reliability.suite import Suite

_ALL: tuple[Suite, ...] = ()
SUITES: dict[str, Suite] = {suite.name: suite for suite in _ALL}
