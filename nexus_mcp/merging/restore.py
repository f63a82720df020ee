"""Put the cycles of a damaged history together with those of a commit of git."""

from __future__ import annotations

from collections import Counter

from nexus_mcp.merging.assemble import assembled
from nexus_mcp.merging.origins import origins
from nexus_mcp.merging.side import Side

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.merging.join import Item
    from nexus_mcp.merging.origins import Origin

THE_FILE = "the file"


class Restored:
    """`data`: a history of `cycles` cycles. `origins`: where they come from. `lacking`: how many the file lacked."""

    __slots__ = ("cycles", "data", "lacking", "origins")

    def __init__(self, data: bytes, cycles: int, lacking: int, origins: list[Origin]) -> None:
        self.data = data
        self.cycles = cycles
        self.lacking = lacking
        self.origins = origins


def restored(file: bytes | None, commit: bytes, revision: str) -> Restored:
    """Return all cycles that the `commit` has, in its order, then those that only the `file` has, in the file's order.

    `file` is what can be read of it, None for nothing; `revision` is the name of the commit. A cycle that is there
    twice in one of them stays so. Raises Undecided when the commit has no history, or one that may not be written.
    """
    base = Side.read(commit, f"the copy in {revision}")
    own = None if file is None else Side.read(file, THE_FILE)
    have = Counter(base.key(index) for index in range(len(base)))
    added: list[Item] = []
    common = 0
    for index in range(0 if own is None else len(own)):
        assert own is not None
        key = own.key(index)
        if have[key] > 0:
            have[key] -= 1
            common += 1
        else:
            added.append((own, index))
    data = commit
    if own is not None and added:
        data = assembled([*((base, index) for index in range(len(base))), *added], base, own, base)
    made = Side.read(data, "the result")
    sources = [(THE_FILE, own)] if own is not None else []
    told = origins(made, [*sources, (revision, base)])
    return Restored(data, len(made), len(base) - common, told)
