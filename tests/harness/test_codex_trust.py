"""The hooks that Codex trusts are found by the hashes of our hooks in its configuration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.harness.codex_trust import untrusted_hooks

LINE = "nexus-mcp hook --native codex --gate auto --skills"
SEEN = {
    "PreToolUse": (10, "781d6b2ad5c991298a507a5209754a5981a8486bf8e2d80a16f0dbf5a801e929"),
    "SessionEnd": (3, "e80ec9f57ba30c8dfc6bc709dd48a4308ae387fd31b3e8ac913b6452ff2802fa"),
    "Stop": (10, "af825caf03d0f1676940486fb6320a90063c10985c7b2811776fdade4fd2553c"),
}
"""Event → timeout of the hook, and the hash that Codex 0.169.0 wrote for it."""
SNAKE = {"PreToolUse": "pre_tool_use", "SessionEnd": "session_end", "Stop": "stop"}


def hooks(line: str = LINE) -> dict[str, Any]:
    rows = {event: [{"hooks": [command(line, timeout)]}] for event, (timeout, _) in SEEN.items()}
    return {"hooks": rows}


def command(line: str, timeout: int) -> dict[str, Any]:
    return {"type": "command", "command": line, "timeout": timeout}


def settings(path: str, *events: str, place: int = 0) -> dict[str, Any]:
    state = {f"{path}:{SNAKE[event]}:{place}:0": {"trusted_hash": f"sha256:{SEEN[event][1]}"} for event in events}
    return {"hooks": {"state": state}}


@pytest.fixture
def path(tmp_path: Path) -> str:
    return os.path.realpath(tmp_path / "hooks.json")


def test_hashes_are_those_of_codex(path: str) -> None:
    """Hooks that Codex trusts unchanged give no line."""
    assert untrusted_hooks(settings(path, *SEEN), path, hooks(), "codex") == []


def test_hooks_without_trust_are_counted(path: str) -> None:
    """The hashes of another file do not count."""
    kept = settings(path, "Stop")
    kept["hooks"]["state"] |= settings(f"{path}.other", *SEEN)["hooks"]["state"]
    (line,) = untrusted_hooks(kept, path, hooks(), "codex")
    assert line.startswith("Codex trusts 1 of 3 hooks and skips the others")


def test_hooks_that_changed_are_counted(path: str) -> None:
    """Another command has another hash, and Codex skips it."""
    (line,) = untrusted_hooks(settings(path, *SEEN), path, hooks(LINE.replace("auto", "warn")), "codex")
    assert line.startswith("3 of 3 hooks changed after you trusted them")


def test_hook_of_the_user_does_not_count_as_ours(path: str) -> None:
    """Our hook is behind the user's, and only the position of ours counts."""
    found = hooks()
    found["hooks"]["Stop"].insert(0, {"hooks": [command("true", 5)]})
    found["hooks"]["PostToolUse"] = [{"hooks": [command("true", 5)]}]
    kept = settings(path, "PreToolUse", "SessionEnd")
    kept["hooks"]["state"] |= {f"{path}:stop:0:0": {"trusted_hash": "sha256:1"}}
    assert "trusts 2 of 3 hooks" in untrusted_hooks(kept, path, found, "codex")[0]
    kept["hooks"]["state"] |= settings(path, "Stop", place=1)["hooks"]["state"]
    assert untrusted_hooks(kept, path, found, "codex") == []


@pytest.mark.parametrize("broken", [{}, {"hooks": []}, {"hooks": {"state": [1]}}, {"hooks": {"state": {"a": 1}}}])
def test_settings_of_another_shape_trust_nothing(path: str, broken: dict[str, Any]) -> None:
    """Malformed settings trust no hook, and hooks of another shape are not ours."""
    assert "trusts 0 of 3 hooks" in untrusted_hooks(broken, path, hooks(), "codex")[0]
    assert untrusted_hooks(broken, path, {"hooks": {"Stop": "x", "PreToolUse": [1]}}, "codex") == []
