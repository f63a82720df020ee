"""`nexus-mcp install`: write server, hooks, agents and skills into the configuration of a harness."""

from __future__ import annotations

import os
import sys
from functools import partial

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Argument, Command, Option
from nexus_mcp.cli.remote_options import ALLOW_HTTP, TOKEN_ENV
from nexus_mcp.cli.workspace_options import (
    HARNESS_ID,
    JSON,
    PROJECT,
    TOOL_PREFIX,
    check_prefix,
    print_json,
    workspace_from,
)
from nexus_mcp.errors import EditedByHand, InstallRefused, UsageError
from nexus_mcp.log import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.cli.options import Values
    from nexus_mcp.harness.definition import Harness, Request, Site
    from nexus_mcp.harness.plan import Plan, State
    from nexus_mcp.harness.record import Record

NAMES = {"claude-code": "Claude Code", "codex": "Codex", "opencode": "OpenCode"}
HARNESS = Argument("[HARNESS]", "the harness; without it, each harness found", NAMES, least=0)
SCOPE = Option("--scope", "SCOPE", "project or user (default: project)", ("project", "user"))
WITH = Option("--with", "PARTS", "some of server,hooks,agents,skills,status-line")
GATE = Option("--gate", "GATE", "edits without a task: block, auto, warn or off", ("block", "auto", "warn", "off"))
FAST_HOOKS = Option("--fast-hooks", "", "have hooks call the running server, if possible")
COMMAND_WORD = Option("--command", "COMMAND", "name or path of the nexus-mcp to start")
URL = Option("--url", "URL", "mount this server over HTTP")
LOCAL = Option("--local", "", "mount the server of this machine again")
LIST = Option("--list", "", "only print the installed parts")
CHECK = Option("--check", "", "change nothing; exit code 1 for a difference")
DRY_RUN = Option("--dry-run", "", "print the changes, and make none")
FORCE = Option("--force", "", "replace files that a user edited or wrote")
YES = Option("--yes", "", "do not ask")
FIRST = "[plan] and what you want to do; [run] carries out the tasks."
_APART: dict[Option, tuple[Option, ...]] = {
    LIST: (CHECK, DRY_RUN, FORCE, SCOPE, WITH, GATE, FAST_HOOKS, TOOL_PREFIX, COMMAND_WORD, URL, LOCAL),
    CHECK: (DRY_RUN, FORCE),
    LOCAL: (URL, TOKEN_ENV, ALLOW_HTTP),
    URL: (FAST_HOOKS,),
}
"""Option → the options that exclude it, because one of the two would have no effect."""
_PARTS = {GATE: ("hooks",), FAST_HOOKS: ("server", "hooks")}
"""Option → the parts that it changes; --tool-prefix and --command change all installed parts."""
_ANSWERS = {True: "; the server answers", False: "; the server does not answer", None: ""}
_DONE = {"absent": "added", "same": "unchanged", "outdated": "updated", "edited": "replaced", "foreign": "replaced"}
_DONE |= {"obsolete": "removed", "others": "replaced"}
_MISSING = {"absent": "missing", "outdated": "outdated", "edited": "edited by hand", "foreign": "not ours"}
_MISSING |= {"obsolete": "no longer needed", "others": "not installed"}


def run(values: Values) -> int:
    """Install, check or list, and return the highest exit code. Raise UsageError, InstallRefused, CatalogError."""
    check_prefix(values.get(TOOL_PREFIX.name, ""))
    _check_together(values)
    if LIST.name in values:
        return _list(values)
    names = choose(values, "install")
    return max([report_edits(partial(_install, values, name)) for name in names], default=exits.OK)


def _check_together(values: Values) -> None:
    """Raise UsageError if one of two options would have no effect beside the other, or --json without --list."""
    for option, others in _APART.items():
        for other in others if option.name in values else ():
            if other.name in values:
                problem = f"{option.name} and {other.name} do not go together."
                raise UsageError(problem, next_step="Leave one of them out.")
    if JSON.name in values and LIST.name not in values:
        raise UsageError(f"{JSON.name} needs {LIST.name}.", next_step=f"Add {LIST.name}, or leave {JSON.name} out.")


def site_of(values: Values) -> Site:
    """Return the Site of the installation that the command line names. Raise UsageError."""
    from nexus_mcp.harness.definition import Site

    return Site(values.get(SCOPE.name, "project"), workspace_from(values).root, os.environ)


def choose(values: Values, verb: str) -> list[str]:
    """Return the harnesses that the command line names, else those found on the PATH, if --yes or the user confirms
    them; [] if the user does not.

    Raise UsageError.
    """
    if values.lists[HARNESS.name]:
        return values.lists[HARNESS.name]
    found = on_path()
    words = ", ".join(NAMES)
    if not found:
        raise UsageError("No harness is found on the PATH.", next_step=f"Name one of {words}.")
    if YES.name in values:
        return found
    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError(f"nexus-mcp {verb} needs a harness, one of {words}, or --yes.")
    titles = " and ".join(NAMES[name] for name in found)
    print(f"{verb.capitalize()} for {titles}? [y/N] ", end="", flush=True)
    return found if sys.stdin.readline().strip().lower() in ("y", "yes") else []


def offer(values: Values) -> int | None:
    """On a terminal, offer to install for the harnesses that are found. Return the exit code, None if nothing was done.

    With --harness-id it offers only the harness with that id, or none if the id is unknown.
    """
    wanted = values.get(HARNESS_ID.name, "")
    if wanted and wanted not in NAMES:
        return None
    found = [wanted] if wanted else on_path()
    if not (found and os.isatty(0) and os.isatty(1)):
        return None
    titles = " and ".join(NAMES[name] for name in found)
    print(f"\nInstall server, hooks, agents and skills for {titles}? [y/N] ", end="", flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        return None
    return max(report_edits(partial(_install, values, name)) for name in found)


def on_path() -> list[str]:
    """Return the harnesses whose programs are on the PATH."""
    import shutil

    from nexus_mcp.harness import HARNESSES, load

    return [name for name in HARNESSES if shutil.which(load(name).program)]


def report_edits(action: Callable[[], int]) -> int:
    """Return the exit code of `action`; if files were edited by hand, print a line for each and return EDITED. If the
    action is refused, print the reasons and return FAILED.
    """
    try:
        return action()
    except EditedByHand as error:
        for fault in [*error.faults, "Nothing was changed.", error.next_step]:
            print(f"nexus-mcp: {printable(fault)}", file=sys.stderr)
        return exits.EDITED
    except InstallRefused as error:
        for fault in [*error.faults, *(("Nothing was changed.",) if error.is_unchanged else ())]:
            print(f"nexus-mcp: {printable(fault)}", file=sys.stderr)
        for path, lines in error.lines.items():
            print(f"\nThe lines for {path}:\n\n{lines}\n", file=sys.stderr)
        return exits.FAILED


def _install(values: Values, name: str) -> int:
    import shutil

    from nexus_mcp.cli import recorded_options
    from nexus_mcp.harness import load
    from nexus_mcp.harness.installing import install, plan_for, read_record
    from nexus_mcp.harness.status import missing_commands

    site, harness = site_of(values), load(name)
    known = read_record(site).options(name)
    kept = (GATE, FAST_HOOKS, TOOL_PREFIX, COMMAND_WORD, URL, TOKEN_ENV, ALLOW_HTTP)
    named = {one.name: values[one.name] for one in kept if one.name in values}
    if FAST_HOOKS.name in named and harness.no_fast_hooks:
        _refuse_fast_hooks(values, harness)
        del named[FAST_HOOKS.name]
    options = {**known, **named}
    recorded_options.settle(values, options, site)
    recorded_options.drop_missing_command(values, options)
    if CHECK.name not in values and COMMAND_WORD.name not in named and site.scope == "project":
        recorded_options.check_command(options.get(COMMAND_WORD.name, ""), site.root)
    request = _request(values, site, harness, options)
    print(f"{harness.title}, {'in this project' if site.scope == 'project' else 'for all your projects'}")
    if CHECK.name in values or DRY_RUN.name in values:
        is_check = CHECK.name in values
        plan = plan_for(site, harness, request, force=is_check or FORCE.name in values, is_report=is_check)
        if is_check:
            return _print_check(site, plan, missing_commands(site, read_record(site), name))
        _print_states(site, plan)
        print_diff(site, plan)
        return exits.OK
    outcome = install(site, harness, request, options, force=FORCE.name in values)
    _print_states(site, outcome.plan)
    _print_adopted(site, outcome.plan)
    for copy in outcome.copies:
        print(f"  {'copied':10} {printable(copy)}: a file as it was, with the edits by hand")
    for copy in outcome.leftovers:
        print(f"  {'moved':10} {printable(copy)}: a temporary file of an installation that was killed")
    if shutil.which(harness.program) is None:
        print(f"\nThe program {harness.program} is not on the PATH: install {harness.title} to use this.")
    if "agents" in request.parts and (note := request.models.warning(request.catalog.agents)):
        print(f"\n{note}")
    if site.scope == "project":
        from nexus_mcp.cli.shared_files import warnings

        for warning in warnings(site, outcome.plan.states, request.command[0], _place):
            print(f"\n{warning}")
    _print_steps([*recorded_options.next_steps(request), *harness.next_steps(site, request)], request.parts)
    return exits.OK


def _request(values: Values, site: Site, harness: Harness, options: dict[str, str]) -> Request:
    from nexus_mcp.catalog.load import usable
    from nexus_mcp.cli import recorded_options
    from nexus_mcp.harness.definition import ALL_PARTS, DEFAULT_GATE, Request
    from nexus_mcp.harness.installing import read_record
    from nexus_mcp.harness.models import read_models
    from nexus_mcp.harness.remote_mount import mount_of
    from nexus_mcp.workspace import find_root

    record = read_record(site)
    parts = _parts(values, record, harness)
    if unknown := [part for part in parts if part not in ALL_PARTS]:
        raise UsageError(f"--with takes some of {', '.join(ALL_PARTS)}, not {unknown[0]!r}.")
    if FAST_HOOKS.name in options and not {"server", "hooks"} <= {*parts, *record.parts(harness.id)}:
        step = "Leave out --with, or name server and hooks in it."
        raise UsageError("--fast-hooks needs the server and the hooks.", next_step=step)
    _check_parts(values, parts, record, harness.id)
    recorded_options.check_parts(values, parts, record.parts(harness.id), options)
    is_project = site.scope == "project"
    around = find_root(None, {}, site.root)
    own = ["--project", site.root] if is_project and around != site.root else []
    return Request(
        parts=parts,
        command=_command(options.get(COMMAND_WORD.name, ""), is_forced=bool({FORCE.name, CHECK.name} & values.keys())),
        gate=options.get(GATE.name, DEFAULT_GATE),
        prefix=options.get(TOOL_PREFIX.name, ""),
        fast_hooks=FAST_HOOKS.name in options,
        catalog=usable(site.root) if is_project else _load_shipped(),
        models=read_models(harness.id, _settings(site) if is_project else {}),
        server_options=own,
        remote=mount_of(options),
    )


def _check_parts(values: Values, parts: list[str], record: Record, harness: str) -> None:
    """Raise UsageError for a new value of an option that changes a part which --with leaves out."""
    known = record.options(harness)
    for option in (GATE, FAST_HOOKS, TOOL_PREFIX, COMMAND_WORD):
        if option.name in values and values[option.name] != known.get(option.name):
            needed = _PARTS.get(option) or record.parts(harness)
            if missing := [part for part in needed if part not in parts]:
                step = f"Leave out {WITH.name}, or name {' and '.join(needed)} in it."
                raise UsageError(
                    f"{option.name} changes the {' and the '.join(missing)}, which {WITH.name} leaves out.",
                    next_step=step,
                )


def _parts(values: Values, record: Record, harness: Harness) -> list[str]:
    """Return the parts that the command line names; else the default parts, and the status line if it is installed.

    If the harness has no status line, leave it out, or raise UsageError if the command line names the harness.
    """
    from nexus_mcp.harness.definition import PARTS, STATUS_LINE

    if WITH.name not in values:
        return [*PARTS, *([STATUS_LINE] if STATUS_LINE in record.parts(harness.id) else [])]
    parts = [part.strip() for part in values[WITH.name].split(",")]
    if STATUS_LINE in parts and harness.no_status_line:
        text = f"{STATUS_LINE} is not offered for {harness.title}. {harness.no_status_line}"
        if values.lists[HARNESS.name]:
            raise UsageError(text, next_step="Leave it out.")
        print(text)
        parts.remove(STATUS_LINE)
    return parts


def _refuse_fast_hooks(values: Values, harness: Harness) -> None:
    """Raise UsageError if the command line names the harness; if not, print why it has no fast hooks."""
    text = f"{FAST_HOOKS.name} is not offered for {harness.title}. {harness.no_fast_hooks}"
    if values.lists[HARNESS.name]:
        raise UsageError(text, next_step="Leave it out.")
    print(text)


def _load_shipped() -> Catalog:
    from nexus_mcp.catalog.load import load

    return load(None)


def _settings(site: Site) -> dict[str, object]:
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.tags import config

    with Folder.root(site.root) as root:
        nexus = root.child(".nexus")
        if nexus is None:
            return {}
        with nexus:
            return config.read(nexus)


def _command(word: str, *, is_forced: bool) -> list[str]:
    """Return the words of the command of nexus-mcp. Raise UsageError for a missing program, unless `is_forced`."""
    import shutil

    from nexus_mcp.program import own_command

    if not word:
        return own_command()
    path = os.path.abspath(word) if os.sep in word else word
    if shutil.which(path) is None and not is_forced:
        raise UsageError(f"--command: {word!r} is no program.", next_step="Name an existing program, or add --force.")
    return [path]


def _place(site: Site, row: State) -> str:
    """Return the path of a file for messages; for agents and skills, the path of their folder."""
    shown = site.format_path(row.path)
    if row.part == "skills":
        return f"{os.path.dirname(os.path.dirname(shown))}/"
    return f"{os.path.dirname(shown)}/" if row.part == "agents" else shown


def _rows(site: Site, plan: Plan, words: dict[str, str]) -> list[tuple[str, str, str]]:
    """Return a row (word, part, path) for each file. Equal rows become one row, whose part begins with the number of
    files, such as `9 agents`; the part `server` has no number.
    """
    counted: dict[tuple[str, str, str], int] = {}
    for row in plan.states:
        key = (words.get(row.state, row.state), row.part, _place(site, row))
        counted[key] = counted.get(key, 0) + 1
    return [
        (word, part if count == 1 or part == "server" else f"{count} {part}", shown)
        for (word, part, shown), count in counted.items()
    ]


def _print_states(site: Site, plan: Plan) -> None:
    for word, what, shown in _rows(site, plan, _DONE):
        print(f"  {word:10} {what:10} {shown}")


def _print_adopted(site: Site, plan: Plan) -> None:
    """Print what happens to entries that existed before: only the user knows who wrote them."""
    from nexus_mcp.harness.states import OTHERS

    if plan.adopted:
        places = list(dict.fromkeys(_place(site, row) for row in plan.states if site.key(row.path) in plan.adopted))
        print(
            "\nSome entries were already as nexus-mcp writes them, without a record of an installation. They count as "
            f"installed now, and nexus-mcp uninstall removes them: {', '.join(places)}"
        )
    if others := list(dict.fromkeys(site.format_path(row.path) for row in plan.states if row.state == OTHERS)):
        print(f"\n{', '.join(others)} had another entry that starts nexus-mcp. nexus-mcp uninstall brings it back.")


def _print_check(site: Site, plan: Plan, problems: list[str]) -> int:
    """Print the differences, and the `problems` of the installed parts; return 1 if there are any."""
    rows = [row for row in _rows(site, plan, _MISSING) if row[0] != "same"]
    for word, what, shown in rows:
        print(f"  {word:16} {what:10} {shown}")
    for problem in problems:
        print(f"  {problem}")
    if not (rows or problems):
        print("  Everything is installed as it should be.")
    return exits.FAILED if rows or problems else exits.OK


def _print_steps(steps: list[str], parts: Sequence[str]) -> None:
    from nexus_mcp.cli.text_output import wrap
    from nexus_mcp.harness.definition import STATUS_LINE

    last = f"Type {FIRST}"
    if list(parts) == [STATUS_LINE]:  # the client may not know the tags
        last = "The next session shows plan and tasks in its status line. nexus-mcp status --line prints it here."
    print("\nNext:")
    for step in [*steps, last]:
        print("\n".join(wrap(step, "- ", "  ")))


def print_diff(site: Site, plan: Plan) -> None:
    """Print the changes of a plan as unified diffs without context lines, because those may hold credentials."""
    import difflib

    for change in plan.changes:
        old = (change.found.data or b"").decode("utf-8", "replace").splitlines()
        new = (change.data or b"").decode("utf-8", "replace").splitlines()
        shown = site.format_path(change.found.path)
        for line in difflib.unified_diff(old, new, shown, shown, lineterm="", n=0):
            print(printable(line))


def _list(values: Values) -> int:
    """Print the installed parts of each harness, in both scopes."""
    from nexus_mcp.harness import HARNESSES, load
    from nexus_mcp.harness.status import status

    site = site_of(values)
    names = values.lists[HARNESS.name] or HARNESSES
    found = [status(load(name), site) for name in names]
    if JSON.name in values:
        print_json({"harnesses": found})
        return exits.OK
    for one in found:
        version = one["version"] or "not found"
        print(f"{one['title']}: {printable(version)}")
        for scope, where in one["scopes"].items():
            parts = ", ".join(where["parts"]) or "nothing"
            print(f"  {scope:8} {parts}{_ANSWERS[where['answers']]}")
            for notice in where["notices"]:
                print(f"           {printable(notice)}")
        for place, parts in one["plugins"].items():
            print(f"  {'plugin':8} {', '.join(parts)}: {printable(place)}")
        for double in one["doubles"]:
            print(f"  twice: {printable(double)}")
    return exits.OK


COMMAND = Command(
    "install",
    "write server, hooks, agents and skills into a harness",
    "Changes only the entries of nexus-mcp in the files of the harness, and keeps\n"
    "every other byte; nexus-mcp uninstall removes these entries again. Exit code 1:\n"
    "refused, or --check found a difference. 3: a user edited an installed file, and\n"
    "nothing was changed.",
    (
        *(PROJECT, SCOPE, WITH, GATE, FAST_HOOKS, TOOL_PREFIX, COMMAND_WORD, URL, TOKEN_ENV, ALLOW_HTTP, LOCAL),
        *(LIST, JSON, CHECK, DRY_RUN, FORCE, YES),
    ),
    run,
    argument=HARNESS,
    examples=(
        ("nexus-mcp install claude-code", "install everything for Claude Code in this project"),
        ("nexus-mcp install codex --scope user --dry-run", "show what an installation for all projects changes"),
        (
            "nexus-mcp install codex --url https://nexus.example.org/p/shop/mcp",
            "mount a server of another machine; its token comes from NEXUS_TOKEN",
        ),
        ("nexus-mcp install --list", "list the installed parts of every harness"),
    ),
)
