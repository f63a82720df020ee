"""The results of checks with which later attempts are compared."""

from __future__ import annotations

import pytest

from nexus_mcp.run.checks import CheckResult
from nexus_mcp.run.merging import _ratchet


def result(failures: int | None, *, ok: bool = False) -> CheckResult:
    return CheckResult("test", ok=ok, code=0 if ok else 1, seconds=1.0, output="", failures=failures)


@pytest.mark.parametrize(
    ("before", "now", "is_replaced"),
    [
        (result(3), result(2), True),
        (result(3), result(None, ok=True), True),
        (result(3), result(3), False),
        (result(3), result(4), False),
        (result(3), result(None), False),
        (result(None), result(2), False),
        (result(None), result(None), False),
    ],
)
def test_only_a_better_result_replaces_the_baseline(before: CheckResult, now: CheckResult, is_replaced: bool) -> None:
    """An unknown number of failures, as after a timeout, is not a small one: it would excuse any later number."""
    baseline = {"test": before}
    _ratchet(baseline, [now])
    assert baseline["test"] is (now if is_replaced else before)
