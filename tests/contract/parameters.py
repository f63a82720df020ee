"""The parameters of all tools, from the contract's headings, sorted by what they take."""

from __future__ import annotations

# name → (required, optional) parameters, from the contract's headings
PARAMETERS: dict[str, tuple[list[str], list[str]]] = {
    "plan_start": (["topic", "issues", "research_summary"], []),
    "plan_status": ([], []),
    "plan_update": (["action"], ["issue_id", "title"]),
    "plan_decide": (["issue_id", "decision"], ["how_agents", "how_summary", "how_agent_ids"]),
    "task_add": (
        ["title", "context"],
        ["deps", "approach", "acceptance", "risk", "plan_issue", "goal", "decisions", "owner", "owner_agent_id",
        "owner_reuse_policy"],
    ),
    "task_list": ([], []),
    "task_update": (["id", "status"], []),
    "task_close": ([], []),
    "history_search": ([], ["query", "last_n"]),
    "context": ([], []),
    "artifact_write": (["filename", "content"], []),
}  # fmt: skip


def names_of(tool: str) -> list[str]:
    required, optional = PARAMETERS[tool]
    return required + optional


OPTIONAL = [(tool, name) for tool, (_, optional) in PARAMETERS.items() for name in optional]


REQUIRED = [(tool, name) for tool, (required, _) in PARAMETERS.items() for name in required]


EVERY = sorted(REQUIRED + OPTIONAL)


TEXTS = [
    ("plan_start", "topic"), ("plan_start", "research_summary"), ("plan_update", "action"), ("plan_update", "title"),
    ("plan_decide", "decision"),
    *(("task_add", name) for name in ("title", "context", "approach", "acceptance", "risk", "goal", "owner",
    "owner_agent_id", "owner_reuse_policy")),
    ("task_update", "status"), ("history_search", "query"), ("artifact_write", "filename"),
    ("artifact_write", "content"),
]  # fmt: skip


NUMBERS = [
    ("plan_update", "issue_id"), ("plan_decide", "issue_id"), ("task_add", "plan_issue"), ("task_update", "id"),
    ("history_search", "last_n"),
]  # fmt: skip


LISTS = [("plan_start", "issues"), ("plan_decide", "how_agents"), ("task_add", "deps"), ("task_add", "decisions")]


OBJECTS = [("plan_decide", "how_summary"), ("plan_decide", "how_agent_ids")]


NOT_BLANK = [
    ("plan_start", "topic"), ("task_add", "title"), ("task_add", "context"), ("task_update", "status"),
    ("artifact_write", "filename"),
]  # fmt: skip
