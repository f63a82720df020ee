"""The hands of each client in the tests of `nexus-mcp run`: the client with its turns that work on files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e import claude_code, codex, opencode
from tests.e2e.cycle import tool
from tests.e2e.model.script import Turn
from tests.e2e.model.server import Model
from tests.e2e.plan_run import Client, Hands
from tests.e2e.scratch import Scratch


def make(harness: str, program: Path, scratch: Scratch, model: Model) -> tuple[Client, Hands, dict[str, str]]:
    """Return a client, its hands, and the models of its tiers."""
    if harness == claude_code.ID:
        models = dict.fromkeys(("standard", "high"), "claude-sonnet-4-5")
        return claude_code.ClaudeCode(program, scratch, model), CLAUDE_CODE, models
    if harness == codex.ID:
        return (
            codex.Codex(program, scratch, model, codex.BUNDLED),
            CODEX,
            dict.fromkeys(("standard", "high"), codex.BUNDLED),
        )
    return opencode.OpenCode(program, scratch, model), OPENCODE, {}


def _claude_write(path: Path, text: str) -> Turn:
    return tool("Write", file_path=str(path), content=text)


def _claude_read(path: Path, lines: int = 100) -> Turn:
    return tool("Read", file_path=str(path), limit=lines)


CLAUDE_CODE = Hands(
    write=_claude_write,
    replace=lambda path, text: (_claude_read(path), _claude_write(path, text)),
    shell=lambda line: tool("Bash", command=line),
    verdict=lambda value: {"tool": "StructuredOutput", "input": value},
    read=_claude_read,
    files={".claude/settings.json": json.dumps({"permissions": {"allow": ["Bash(sh wait.sh:*)"]}})},
)


def _patch(path: Path, text: str) -> Turn:
    lines = "\n".join(f"+{line}" for line in text.splitlines())
    return {"custom": "apply_patch", "input": f"*** Begin Patch\n*** Add File: {path}\n{lines}\n*** End Patch"}


def _codex_verdict(value: dict[str, Any]) -> Turn:
    return {"text": json.dumps(value)}


CODEX = Hands(
    write=_patch,
    replace=lambda path, text: (_patch(path, text),),
    shell=lambda line: tool("exec_command", cmd=line, yield_time_ms=300_000),
    verdict=_codex_verdict,
    find=(
        {"tool_search": {"query": "task_add task_update task_close plan_start plan_update plan_decide", "limit": 20}},
    ),
    read=lambda path, lines: tool("exec_command", cmd=f"head -n {lines} '{path}'"),
)


def _write(path: Path, text: str) -> Turn:
    return tool("write", filePath=str(path), content=text)


def _read(path: Path, lines: int = 100) -> Turn:
    return tool("read", filePath=str(path), limit=lines)


OPENCODE = Hands(
    write=_write,
    replace=lambda path, text: (_read(path), _write(path, text)),
    shell=lambda line: tool("bash", command=line, description="Run a command"),
    verdict=_codex_verdict,
    read=_read,
)
