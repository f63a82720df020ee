"""The tools of the contract: one file each, and the table TOOLS. All lists of tool names derive from this table."""

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
