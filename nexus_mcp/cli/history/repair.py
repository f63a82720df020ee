"""`nexus-mcp history repair`: mends history.json, or tells what mending would come to."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.uninterrupted import uninterrupted
from nexus_mcp.cli.workspace_options import PROJECT, workspace_from
from nexus_mcp.log import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values
    from nexus_mcp.merging.diagnosis import Diagnosis
    from nexus_mcp.merging.repair import Repair
    from nexus_mcp.merging.salvage import Rest

DRY_RUN = Option("--dry-run", "", "tell what would be done, and touch nothing")
YES = Option("--yes", "", "give up what cannot be read of a damaged file")
_FILE = ".nexus/history.json"
_UNSURE = (
    "Only what is in the file can be kept, because git has no conflict of it (any more): compare it with the branches, "
    "if old cycles were changed there."
)
_MIXED = "What is in neither was changed by hand, or is made of lines of both by git: look at it."
_BROUGHT_BACK = {
    "REVERT_HEAD": "A revert is under way: what it was to take out is among them.",
    "CHERRY_PICK_HEAD": "Their side is the whole file of the commit that is picked, with what came before it there.",
}
_UNMERGED = f"git still has a conflict of it: git add {_FILE}, and go on with what it came from."
_ADDED = f"If it was added to git with the markers, git add {_FILE} again."
_MOST = 10  # unreadable parts that are shown


def run(values: Values) -> int:
    """Prints what is wrong and what was done; 1 when it stays wrong. Raises StateError, PathRefused, StorageError."""
    from nexus_mcp.merging.diagnosis import Healthy
    from nexus_mcp.merging.repair import examine, repair

    root = workspace_from(values).root
    dry = DRY_RUN.name in values
    done = examine(root) if dry else repair(root, damage=YES.name in values, carried=uninterrupted)
    good = bool(done.backup) or isinstance(done.diagnosis, Healthy)
    told = _mended(done) if done.backup else [] if good else _left(done, dry=dry)
    for line in (*_found(done.diagnosis), *_kept(root, done.diagnosis), *told):
        print(printable(line))
    return exits.OK if good else exits.FAILED


def _found(diagnosis: Diagnosis) -> list[str]:
    """What there is to see, in lines."""
    from nexus_mcp.merging.diagnosis import Conflict, Damaged, Healthy

    if isinstance(diagnosis, Healthy):
        if diagnosis.absent:
            return [f"There is no {_FILE}: nothing was closed here yet."]
        whole = f"{_FILE} is whole, with {_cycles(diagnosis.cycles)}: nothing to repair."
        return [whole, *([_UNMERGED] if diagnosis.is_unmerged else ())]
    if isinstance(diagnosis, Conflict):
        sides = f"{_cycles(diagnosis.ours)} on our side, {_cycles(diagnosis.theirs)} on theirs"
        if diagnosis.others:
            sides += f", {_cycles(diagnosis.others)} in neither"
        what = f"{_FILE} has git conflict markers"
        if diagnosis.readable is not None:
            what = f"{_FILE} can be read, with {_cycles(diagnosis.readable)}, but git has a conflict of it"
        return [
            f"{what}: {sides}, {_cycles(diagnosis.cycles)} in all.",
            *([_UNSURE] if diagnosis.others is None else [_MIXED] if diagnosis.others else ()),
        ]
    if isinstance(diagnosis, Damaged):
        return [f"{diagnosis.fault}.", f"{_cycles(diagnosis.cycles)} can be read.", *_unreadable(diagnosis.rests)]
    return [f"{diagnosis.fault}.", f"It cannot be repaired: {diagnosis.reason}."]


def _kept(root: str, diagnosis: Diagnosis) -> list[str]:
    """What the cycles of both sides have that may not be wanted."""
    from nexus_mcp.errors import UsageError
    from nexus_mcp.merging.diagnosis import Conflict
    from nexus_mcp.merging.stages import under_way

    if not isinstance(diagnosis, Conflict) or diagnosis.others is None:
        return []
    try:
        told = _BROUGHT_BACK.get(under_way(root), "")
    except UsageError:  # it has answered before, and this is but a hint
        return []
    return [told] if told else []


def _unreadable(rests: list[Rest]) -> list[str]:
    if not rests:
        return ["Nothing is there that cannot be read, but the end is missing, and what else stood there with it."]
    lines = [f"What cannot be read ({len(rests)} part{'s' * (len(rests) > 1)}):"]
    for rest in rests[:_MOST]:
        what = f", beginning with {rest.shown}" if rest.shown else " that are all NUL"
        lines.append(f"  line {rest.line}, column {rest.column}: {rest.size} bytes{what}")
    return [*lines, f"  and {len(rests) - _MOST} more"] if len(rests) > _MOST else lines


def _mended(done: Repair) -> list[str]:
    """What was done, and what is left to do."""
    from nexus_mcp.merging.diagnosis import Conflict

    lines = [
        f"Repaired. The file as it was is kept as {done.backup}, which git does not ignore: "
        "remove it when you need it no more.",
    ]
    if isinstance(done.diagnosis, Conflict):  # of a damaged file git has none
        lines.append(_UNMERGED if done.diagnosis.others is not None else _ADDED)
    if done.interrupted:
        lines.append("A change that was interrupted waits in .nexus/state/txn.json: the next call completes it.")
    return lines


def _left(done: Repair, *, dry: bool) -> list[str]:
    """Why nothing was done, and what may be."""
    from nexus_mcp.merging.diagnosis import Conflict, Damaged, Hopeless

    nothing = "Nothing was changed"
    if isinstance(done.diagnosis, Conflict) and dry:
        return [f"{nothing}. nexus-mcp history repair keeps the cycles of both sides, each once."]
    if isinstance(done.diagnosis, Damaged):
        return [
            f"{nothing}. A whole copy may be in git: git log -- {_FILE} tells.",
            "nexus-mcp history repair --yes keeps what can be read, and the file as it is beside it.",
        ]
    if isinstance(done.diagnosis, Hopeless) and done.diagnosis.next_step:
        return [f"{nothing}. {done.diagnosis.next_step}"]
    return [f"{nothing}. Mend {_FILE} by hand, or restore it from a copy: git log -- {_FILE} tells of those in git."]


def _cycles(number: int) -> str:
    return f"{number} cycle{'' if number == 1 else 's'}"


COMMAND = Command(
    "repair",
    "mend a history.json that cannot be read, or merged",
    "A conflict of git, with markers or without: keeps the cycles of both sides,\n"
    "each once, ordered by the time they were completed. A damaged file: shows what\n"
    "can be read and what cannot, and keeps the readable cycles with --yes. The file\n"
    "as it was is kept beside. Exit code 0: whole, or mended; 1: still not whole.",
    (PROJECT, DRY_RUN, YES),
    run,
)
