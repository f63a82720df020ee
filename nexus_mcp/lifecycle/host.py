"""Describe how a harness calls the events, such as its edit gate and how much context it takes.

A neutral `nexus-mcp hook EVENT` has the defaults. The options of an installed hook's command describe its harness.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.lifecycle.client_paths import ClientPaths

BLOCK, AUTO, WARN, OFF = GATES = ("block", "auto", "warn", "off")
"""Edit gates for an edit without a task list. block: block it. auto: block it while a plan is open. warn: only warn.
off: do nothing.
"""


class Host:
    """`gate` is the edit gate for projects that set none. `limit` is the maximum number of characters of a context, 0
    for none.

    `has_skills`: the harness can start our skills by their names. `is_deaf`: the harness drops the answer to
    subagent_complete, so a later event delivers its warnings. `hides_resumes`: the harness sends no event when an agent
    continues, so the next use of a tool by a completed agent counts as a resume. `client` has the folders of a client
    over HTTP, None for a local hook. `actor` is the name of the client's token.
    """

    def __init__(
        self,
        gate: str = BLOCK,
        limit: int = 0,
        *,
        has_skills: bool = False,
        is_deaf: bool = False,
        hides_resumes: bool = False,
        client: ClientPaths | None = None,
        actor: str = "",
    ) -> None:
        self.gate = gate
        self.limit = limit
        self.has_skills = has_skills
        self.is_deaf = is_deaf
        self.hides_resumes = hides_resumes
        self.client = client
        self.actor = actor

    @property
    def is_elsewhere(self) -> bool:
        """Return whether the client has another checkout than the server."""
        return self.client is not None and not self.client.is_here


NEUTRAL = Host()
