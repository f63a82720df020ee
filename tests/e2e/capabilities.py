"""The rows of docs/harnesses.md: each capability, its words, and the harnesses that do not offer it."""

from __future__ import annotations

ROWS = {
    "install": "Our command installs, and the client starts the server",
    "tools": "The model gets the tools, and the instructions",
    "cycle": "A whole cycle, from `plan_start` to `history_search`",
    "errors": "A refused call and a call with a wrong type say what to do next",
    "skill": "`[plan]` starts the skill; its whole text reaches the model",
    "prompts": "The prompts of the server are commands",
    "gate-warns": "An edit without a task gives a warning where the gate is `warn`",
    "gate-blocks": "An edit without a task is denied where the gate is `block`",
    "gate-auto": "The default gate is silent without a plan, and denies an edit while a plan has no tasks",
    "native-limits": "The file of an agent denies the agent tools",
    "hook-limits": "The hook denies an agent a tool",
    "tracker": "The tracker follows agents from spawn to completion",
    "report": "A tag in the report of an agent is text",
    "compaction": "After a compaction the model gets plan, tasks, skill and notes once",
    "turn-end": "The end of a turn asks for `task_close` once",
    "session-end": "The end of a session removes its agents",
    "worktree": "A worktree that the harness made has the state of the main worktree",
    "run": "`nexus-mcp run` does three tasks in parallel, through a crash, a rejected verdict and a conflict",
    "run-limits": "A session of a run has our server and hooks, and may not change plan or tasks",
    "run-guards": "A run ends a session without output; if a session only reads, it is resumed and reminded to edit",
    "run-login": "A run says that the harness is not logged in, and pauses",
    "remote": "Mounted over HTTP with a token: calls, hooks and artifacts; a wrong token fails clearly",
    "limit": "A context stays below the limit with 500 notes",
    "kill": "A kill of the client in the middle of a call loses nothing",
    "uninstall": "Uninstall restores every byte",
}
"""Capability -> its words in the table."""

INSPECTOR_ROWS = {
    "strict": "schemas without an error of `--strict`",
    "calls": "200 calls, ten at once",
    "errors": "a refused call is an error of the tool",
    "skills": "skills of the skills extension with `--verify` (in the modern era alone)",
}
"""The same for MCP Inspector, which has no hooks and no agents."""

_OWN_STATE = "OpenCode makes a worktree only by an experimental request, outside the project; its state is its own."
NOT_OFFERED: dict[str, dict[str, str]] = {
    "codex": {
        "native-limits": "The file of a Codex agent cannot deny the agent a tool: its `sandbox_mode` and "
        "`disabled_tools` had no effect. The hook denies the tool instead.",
        "prompts": "Codex never asks a server for its prompts.",
    },
    "opencode": {"worktree": _OWN_STATE},
}
"""Harness -> capability -> why the harness does not offer it."""

NOTES: dict[str, dict[str, str]] = {
    "codex": {
        "worktree": "Only with `worktrees: shared` in `.nexus/config.yml`: `codex exec --worktree` makes the worktree "
        "in the folder of Codex, outside of the project, where a worktree has a state of its own.",
    },
}
"""Harness -> capability -> under which condition it was seen."""
