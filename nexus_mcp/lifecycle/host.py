"""Describe how a harness calls the events: its edit gate, how much context it takes, whether it has our skills.

A neutral `nexus-mcp hook EVENT` has the defaults. The options of an installed hook's command describe its harness.
"""

from __future__ import annotations

BLOCK, AUTO, WARN, OFF = GATES = ("block", "auto", "warn", "off")
"""Edit gates for an edit without a task list. block: block it. auto: block it while a plan is open. warn: only warn."""


class Host:
    """`gate` is the edit gate for projects that set none. `limit` is the maximum of characters of a context, or 0.

    `has_skills` says that the harness can start our skills by their names. `is_deaf`: the harness drops the answer to
    subagent_complete, so a later event delivers its warnings. `hides_resumes`: the harness sends no event when an agent
    continues, so the agent's next use of a tool counts as one.
    """

    def __init__(
        self,
        gate: str = BLOCK,
        limit: int = 0,
        *,
        has_skills: bool = False,
        is_deaf: bool = False,
        hides_resumes: bool = False,
    ) -> None:
        self.gate = gate
        self.limit = limit
        self.has_skills = has_skills
        self.is_deaf = is_deaf
        self.hides_resumes = hides_resumes


NEUTRAL = Host()
