"""The parameters of all tools by their type: the contract's by hand, those of later tools by schema."""

from __future__ import annotations

from nexus_mcp.tools import TOOLS

# name → (required, optional) parameters, from the contract's headings
CONTRACT: dict[str, tuple[list[str], list[str]]] = {
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


_LATER = [tool for tool in TOOLS if tool.name not in CONTRACT]

PARAMETERS = {
    **CONTRACT,
    **{
        tool.name: ([*tool.required], [name for name in tool.parameters if name not in tool.required])
        for tool in _LATER
    },
}


def _of_type(*types: str) -> list[tuple[str, str]]:
    """Return (tool, parameter) for each parameter of a later tool that has one of these types."""
    return [(tool.name, name) for tool in _LATER for name, shape in tool.parameters.items() if shape["type"] in types]


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
    ("artifact_write", "content"), *_of_type("string"),
]  # fmt: skip


NUMBERS = [
    ("plan_update", "issue_id"), ("plan_decide", "issue_id"), ("task_add", "plan_issue"), ("task_update", "id"),
    ("history_search", "last_n"), *_of_type("integer", "number"),
]  # fmt: skip


LISTS = [
    ("plan_start", "issues"), ("plan_decide", "how_agents"), ("task_add", "deps"), ("task_add", "decisions"),
    *_of_type("array"),
]  # fmt: skip


OBJECTS = [("plan_decide", "how_summary"), ("plan_decide", "how_agent_ids"), *_of_type("object")]


NOT_BLANK = [
    ("plan_start", "topic"), ("task_add", "title"), ("task_add", "context"), ("task_update", "status"),
    ("artifact_write", "filename"),
]  # fmt: skip
