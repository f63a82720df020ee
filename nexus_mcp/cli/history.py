"""`nexus-mcp history`: repair history.json, and merge two versions of it as a merge driver of git (docs/merging.md).

The commands that show closed cycles are in history_views.py, which git's merge driver does not import.
"""

from __future__ import annotations

import sys

from nexus_mcp.cli import exits
from nexus_mcp.cli.exits import defer_interrupt
from nexus_mcp.cli.options import Argument, Command, Group, Option, count_noun
from nexus_mcp.cli.workspace_options import PROJECT, workspace_from
from nexus_mcp.errors import UsageError
from nexus_mcp.log import printable
from nexus_mcp.wording import list_first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.cli.options import Values
    from nexus_mcp.merging.diagnosis import Conflict, DamagedFile, Diagnosis, Lacking
    from nexus_mcp.merging.repair import Repair
    from nexus_mcp.merging.scanner import Rest
    from nexus_mcp.merging.threeway import Origin

DRY_RUN = Option("--dry-run", "", "show what would be done, and change nothing")
YES = Option("--yes", "", "give up the unreadable parts of a damaged file")
FROM = Option("--from", "COMMIT", "restore the cycles of a git commit, e.g. HEAD")

FILE = ".nexus/history.json"
_ONLY_THE_FILE = (
    "git records no conflict for this file, so the repair uses only the cycles in it. If a branch changed old cycles, "
    "compare the result with that branch."
)
_MIXED = "Check each cycle that is in neither side: it was changed by hand, or git made it from lines of both sides."
_BROUGHT_BACK = {
    "REVERT_HEAD": "A revert is in progress: the result still has the cycles that the revert removes.",
    "CHERRY_PICK_HEAD": "A cherry-pick is in progress: their side has the picked commit's older cycles, too.",
}
_UNMERGED = f"git still has a conflict for this file: run git add {FILE}, then continue the merge or rebase."
_ADDED = f"If you added the file to git with the markers, run git add {FILE} again."
_MOST = 10  # the maximum number of unreadable parts, and of missing or extra commas, in a list
_MOST_ORIGINS = 40
_LONGEST_TIME = 35
_NOTHING = "Nothing was changed"


def describe_diagnosis(diagnosis: Diagnosis) -> list[str]:
    """Return the lines that describe the state of the file."""
    from nexus_mcp.merging.diagnosis import Conflict, DamagedFile, Healthy, Lacking

    if isinstance(diagnosis, Healthy):
        if diagnosis.absent:
            return [f"There is no {FILE}: no cycle was closed here yet."]
        whole = f"{FILE} is whole, with {_cycles(diagnosis.cycles)}: nothing to repair."
        return [whole, *([_UNMERGED] if diagnosis.is_unmerged else ())]
    if isinstance(diagnosis, Conflict):
        return _conflict(diagnosis)
    if isinstance(diagnosis, DamagedFile):
        return _describe_damage(diagnosis)
    if isinstance(diagnosis, Lacking):
        return _lacking(diagnosis)
    return [f"{diagnosis.fault}.", f"It cannot be repaired: {diagnosis.reason}."]


def _conflict(diagnosis: Conflict) -> list[str]:
    sides = f"{_cycles(diagnosis.ours)} on our side, {_cycles(diagnosis.theirs)} on theirs"
    if diagnosis.others:
        sides += f", {_cycles(diagnosis.others)} in neither"
    what = f"{FILE} has git conflict markers"
    if diagnosis.readable is not None:
        what = f"{FILE} can be read, with {_cycles(diagnosis.readable)}, but git has a conflict for it"
    return [
        f"{what}: {sides}, {_cycles(diagnosis.cycles)} in all.",
        *([_ONLY_THE_FILE] if diagnosis.others is None else [_MIXED] if diagnosis.others else ()),
    ]


def _describe_damage(diagnosis: DamagedFile) -> list[str]:
    salvaged = diagnosis.salvaged
    lines = [f"{diagnosis.fault}.", f"{_cycles(salvaged.cycles)} can be read."]
    lines += [f"  {slip}" for slip in list_first(salvaged.slips, _MOST)]
    lines += _unreadable(salvaged.rests)
    if salvaged.is_cut and not salvaged.rests:
        lines.append("All complete cycles are readable; the end of the file is missing.")
    if diagnosis.unsure:
        lines.append(f"It is unknown whether HEAD has cycles that cannot be read here: {diagnosis.unsure}.")
    elif diagnosis.lacking is not None:
        missing = _cycles(diagnosis.lacking) if diagnosis.lacking else "no cycle"
        lines.append(f"The copy in HEAD has {missing} that cannot be read here.")
    return lines


def _lacking(diagnosis: Lacking) -> list[str]:
    lines = [f"{diagnosis.fault}."] if diagnosis.fault else []
    lines.append(f"{diagnosis.revision} has {_cycles(diagnosis.lacking)} that the file lacks.")
    return lines


def describe_origins(diagnosis: Diagnosis) -> list[str]:
    """Return lines with the sources of the cycles of the result; neighbours with the same source share a line."""
    sources: list[Origin] = getattr(diagnosis, "origins", [])
    lines = ["Cycles of the result, with their sources:"] if sources else []
    for one in sources[:_MOST_ORIGINS]:
        first, last = map(_time, one.times)
        numbers = f"cycle {one.first}" if one.first == one.last else f"cycles {one.first} to {one.last}"
        times = first if one.first == one.last else f"{first} to {last}"
        lines.append(f"  {numbers}: {times}, {one.source}")
    if len(sources) > _MOST_ORIGINS:
        lines.append(f"  and {count_noun(sources[-1].last - sources[_MOST_ORIGINS - 1].last, 'more cycle')}")
    return lines


def _time(value: object) -> str:
    if not isinstance(value, str):
        return "no time"
    return value if len(value) <= _LONGEST_TIME else f"{value[:_LONGEST_TIME]}..."


def note_reverts(root: str, diagnosis: Diagnosis) -> list[str]:
    """Return a line that warns about unwanted cycles during a revert or a cherry-pick, or no line."""
    from nexus_mcp.errors import UsageError
    from nexus_mcp.merging.conflict import pending_operation
    from nexus_mcp.merging.diagnosis import Conflict

    if not isinstance(diagnosis, Conflict) or diagnosis.others is None:
        return []
    try:
        note = _BROUGHT_BACK.get(pending_operation(root), "")
    except UsageError:  # this is only a hint, so go on without it
        return []
    return [note] if note else []


def _unreadable(rests: list[Rest]) -> list[str]:
    if not rests:
        return []
    lines = [f"Unreadable ({count_noun(len(rests), 'part')}):"]
    return [*lines, *(f"  {line}" for line in list_first(rests, _MOST, _part))]


def _part(rest: Rest) -> str:
    what = f", beginning with {rest.shown}" if rest.shown else " that are all NUL"
    return f"line {rest.line}, column {rest.column}: {rest.size} bytes{what}"


def describe_repair(done: Repair) -> list[str]:
    """Return lines about a repair and the next steps."""
    from nexus_mcp.merging.diagnosis import Conflict

    lines = ["Repaired."]
    if done.backup:
        lines[0] += (
            f" The previous file is kept as {done.backup}, which git does not ignore: "
            "delete it when you no longer need it."
        )
    if isinstance(done.diagnosis, Conflict):  # git has no conflict for a file that is only damaged
        lines.append(_UNMERGED if done.diagnosis.others is not None else _ADDED)
    if done.interrupted:
        lines.append("An interrupted change is recorded in .nexus/state/txn.json: the next call completes it.")
    return lines


def describe_refusal(done: Repair, *, dry: bool) -> list[str]:
    """Return why nothing was changed, and the next step."""
    from nexus_mcp.merging.diagnosis import Conflict, DamagedFile, Hopeless, Lacking

    diagnosis = done.diagnosis
    if isinstance(diagnosis, Conflict) and dry:
        return [f"{_NOTHING}. nexus-mcp history repair keeps the cycles of both sides, each once."]
    if isinstance(diagnosis, Lacking):
        what = f"nexus-mcp history repair --from {diagnosis.revision} writes these cycles"
        return [f"{_NOTHING}. {what}, and keeps a copy of this file."]
    if isinstance(diagnosis, DamagedFile):
        return _damage_advice(diagnosis)
    if isinstance(diagnosis, Hopeless) and diagnosis.next_step:
        return [f"{_NOTHING}. {diagnosis.next_step}"]
    return [f"{_NOTHING}. Repair {FILE} by hand, or restore it from a copy: git log -- {FILE} lists the copies in git."]


def _damage_advice(diagnosis: DamagedFile) -> list[str]:
    if diagnosis.unsure:
        return [
            f"{_NOTHING}, also with --yes: the repair must not give up cycles that HEAD has.",
            "Find out why git cannot read HEAD, then run this command again; or name a readable commit with --from.",
        ]
    if diagnosis.lacking is None:
        return [
            f"{_NOTHING}. A whole copy may be in git: git log -- {FILE} lists the copies.",
            "nexus-mcp history repair --yes keeps what can be read, and a copy of this file.",
        ]
    return [
        f"{_NOTHING}. nexus-mcp history repair --yes keeps what can be read and what HEAD has, and a copy of this file."
    ]


def _cycles(number: int) -> str:
    return count_noun(number, "cycle")


def _repair(values: Values) -> int:
    """Print the state of history.json and the repair; return 1 if the file stays damaged, conflicted or incomplete.

    Raise UsageError, StateError, PathRefused, StorageError.
    """
    from nexus_mcp.merging.diagnosis import Healthy
    from nexus_mcp.merging.repair import examine, repair

    root = workspace_from(values).state_root
    dry = DRY_RUN.name in values
    revision = values.get(FROM.name, "")
    if FROM.name in values and not revision:
        raise UsageError(f"{FROM.name} needs the name of a commit.", next_step=f"Example: {FROM.name} HEAD")
    if dry:
        done = examine(root, revision)
    else:
        done = repair(root, damage=YES.name in values, revision=revision, interrupt_guard=defer_interrupt)
    good = done.is_mended or isinstance(done.diagnosis, Healthy)
    result = describe_repair(done) if done.is_mended else [] if good else describe_refusal(done, dry=dry)
    seen = done.diagnosis
    for line in (*describe_diagnosis(seen), *note_reverts(root, seen), *describe_origins(seen), *result):
        print(printable(line))
    return exits.OK if good else exits.FAILED


REPAIR = Command(
    "repair",
    "repair a damaged or conflicted history.json",
    "In a conflict of git, with or without markers, it keeps the cycles of both\n"
    "sides, each once, ordered by the time at which they were closed. It shows the\n"
    "readable and the unreadable parts of a damaged file. With --yes it keeps the\n"
    "readable cycles and those of HEAD. With --from it restores the cycles of a\n"
    "commit, and keeps all other readable cycles. It prints the source of each\n"
    "cycle, and keeps a copy of the old file. Exit code 0: the history is complete,\n"
    "or was repaired; 1: it is damaged.",
    (PROJECT, DRY_RUN, YES, FROM),
    _repair,
    examples=(
        ("nexus-mcp history repair --dry-run", "show the damage and the possible repair"),
        ("nexus-mcp history repair --from HEAD~1", "bring back the cycles of the commit before the last"),
    ),
)


FILES = Argument("%O %A %B", "three files: the common ancestor, our side, their side", count=3)
_DIGITS = 3
_HINT = "; nexus-mcp history repair --dry-run shows the possible repair."
MARKER_SIZE = Option("--marker-size", "N", "length of conflict markers (default and minimum: 7)")


def _merge(values: Values) -> int:
    """Merge the histories into the file %A; return 1 when they conflict. Raise UsageError, StorageError."""
    from nexus_mcp.merging.driver import drive

    base, ours, theirs = values.lists[FILES.name]
    reason = drive(base, ours, theirs, _size(values.get(MARKER_SIZE.name, "7")))
    if not reason:
        return exits.OK
    if sys.stderr is not None:
        problem = f"The histories are not merged, because {reason}. The file has a conflict for you to resolve{_HINT}"
        print(f"nexus-mcp: {printable(problem)}", file=sys.stderr)
    return exits.FAILED


def _size(text: str) -> int:
    digits = text.lstrip("0")
    if not (digits.isascii() and digits.isdigit()):
        raise UsageError(f"{MARKER_SIZE.name} needs a number from 1, not {text!r}.")
    # The number comes from a git attribute: clamp a long one instead of refusing it.
    return int(digits) if len(digits) <= _DIGITS else 10**_DIGITS - 1


MERGE = Command(
    "merge",
    "merge two versions of history.json; git calls this",
    "Writes the cycles of both sides to the file %A, each once, ordered by the time\n"
    "at which they were closed. If it cannot decide, %A gets a conflict as git would\n"
    "leave it, and the exit code is 1. nexus-mcp init --git-merge makes git call\n"
    "this.",
    (MARKER_SIZE,),
    _merge,
    argument=FILES,
    examples=(("nexus-mcp history merge base.json ours.json theirs.json", "merge theirs.json into ours.json"),),
)


def _view(name: str) -> Callable[[], Command]:
    """Return a function that imports a command of history_views.py."""

    def load() -> Command:
        from nexus_mcp.cli import history_views

        command: Command = getattr(history_views, name)
        return command

    return load


COMMAND = Group(
    "history",
    "list, search, show and compare closed cycles; repair the file",
    "Lists the closed cycles, the newest first, a line each. Their numbers begin\n"
    "with 1, the oldest. The commands below search them, show one, compare two,\n"
    "repair history.json if git left a conflict in it or if it is damaged, and merge\n"
    "two versions of it when git calls the merge driver. No cycle is changed.",
    {
        "search": _view("SEARCH"),
        "show": _view("SHOW"),
        "diff": _view("DIFF"),
        "repair": lambda: REPAIR,
        "merge": lambda: MERGE,
    },
    default=_view("LIST"),
)
