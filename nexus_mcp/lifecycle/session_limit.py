"""Refuse edits that the path limit of a session of a run forbids (catalog/path_limits.py)."""

from __future__ import annotations

import os

from nexus_mcp.catalog.path_limits import REASONS, Limit
from nexus_mcp.lifecycle.nexus_files import inside
from nexus_mcp.quoting import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_PATH = 200
_END = "Leave the file alone; if it has to change, say so at the end of your session."


def refusal(root: str, limit: Limit, paths: Sequence[str], *, is_certain: bool) -> str:
    """Return why a call that writes `paths` is refused, "" if it is not.

    The limit must allow each path in two forms, as it is in the call and with its links resolved, because some tools
    replace a link, and others write the file to which it leads. A call without `paths` is refused, and one that may
    write other files than `paths` (`is_certain` is False). `root` is the root of the worktree.
    """
    head = f"{limit.capability}: {REASONS.get(limit.capability, 'write_denial')}. {limit.describe()}"
    if not is_certain or not paths:
        return f"{head} Which files this call would change is not certain: use a tool that names the file."
    for path in paths:
        plain = os.path.relpath(os.path.normpath(os.path.join(root, path)), root).replace(os.sep, "/")
        names = {plain, inside(root, path) or plain}
        if not all(limit.allows(name) for name in names):
            return f"{head} {quote(path, _PATH)} is not among the files that this session may change. {_END}"
    return ""
