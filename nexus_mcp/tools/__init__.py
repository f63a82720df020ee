"""The tools of the contract: one file each, and this table. All lists of their names derive from it."""

from __future__ import annotations

from nexus_mcp.tools import (
    artifact_write,
    context,
    history_search,
    plan_decide,
    plan_start,
    plan_status,
    plan_update,
    task_add,
    task_close,
    task_list,
    task_update,
)

TOOLS = (
    plan_start.TOOL,
    plan_status.TOOL,
    plan_update.TOOL,
    plan_decide.TOOL,
    task_add.TOOL,
    task_list.TOOL,
    task_update.TOOL,
    task_close.TOOL,
    history_search.TOOL,
    context.TOOL,
    artifact_write.TOOL,
)
