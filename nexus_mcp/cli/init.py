"""`nexus-mcp init`: create .nexus/ and print how to mount the server. Safe to repeat."""

from __future__ import annotations

from contextlib import suppress

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.workspace_options import HARNESS_ID, PROJECT, TOOL_PREFIX, check_prefix, workspace_from
from nexus_mcp.errors import NexusError, UsageError
from nexus_mcp.log import printable
from nexus_mcp.workspace import find_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values
    from nexus_mcp.merging.driver import Registration
    from nexus_mcp.merging.repository import Repository
    from nexus_mcp.workspace import Workspace

HARNESS = Option(HARNESS_ID.name, HARNESS_ID.metavar, "the id of your harness (default: that of each client)")
GIT_MERGE = Option("--git-merge", "", "instead, have git merge history.json with nexus-mcp")
REMOVE = Option("--remove", "", "with --git-merge: remove the merge driver")
IGNORE = ".nexus/.gitignore"
NOTES = {
    ".nexus/": "the history; commit it",
    ".nexus/state/": "the open plan and tasks; stays on this machine",
    IGNORE: "keeps state/ out of git",
}
_OTHERS = "Each user of the repository runs nexus-mcp init --git-merge once: git takes no command from a repository."
_LIMIT = 1 << 20


def run(values: Values) -> int:
    """Create the missing files and folders, print how to mount the server, then offer an installation or print the next
    steps. With --git-merge, only register or remove the merge driver.

    Raise UsageError, PathRefused, StorageError, and other NexusErrors with --git-merge.
    """
    check_prefix(values.get(TOOL_PREFIX.name, ""))
    if GIT_MERGE.name in values:
        _check_alone(values)
        return (_unregister if REMOVE.name in values else _register)(workspace_from(values))
    if REMOVE.name in values:
        problem = "--remove needs --git-merge: it removes only the merge driver, and no command removes .nexus/."
        raise UsageError(problem, next_step="You can delete .nexus/ yourself once no client runs the server.")
    from nexus_mcp.cli.mount import snippets
    from nexus_mcp.store.store import Store

    workspace = workspace_from(values)
    created = Store(workspace).initialise()
    print(printable(workspace.root))
    notes = NOTES if IGNORE in created else {**NOTES, IGNORE: _ignore_note(workspace)}
    for path, note in notes.items():
        print(f"  {'created' if path in created else 'kept':7}  {path:17}  {note}")
    around = find_root(None, {}, workspace.root)
    options = [PROJECT.name, workspace.root] if around != workspace.root else []
    if options:
        because = "They name the project: without --project\na server that starts there serves the repository around it"
        serves = f"{because}: {printable(around)}"
    else:
        serves = "It serves the repository in which the client starts."
    if TOOL_PREFIX.name in values:
        options += [TOOL_PREFIX.name, values[TOOL_PREFIX.name]]
    print(f"\nTo mount the server, paste one of these. {serves}")
    for place, text in snippets(options, values.get(HARNESS_ID.name, "")):
        print(f"\n{place}\n{text}")
    if HARNESS_ID.name in values:
        _print_unmapped(workspace)
    from nexus_mcp.cli.install import offer

    code = offer(values)
    if code is not None:  # the user accepted: the installation has printed its next steps or its error
        return code
    from nexus_mcp.cli.next_steps import print_steps

    print_steps(values)
    return exits.OK


def _check_alone(values: Values) -> None:
    """Raise UsageError for an option that has no effect together with --git-merge."""
    for option in (HARNESS_ID, TOOL_PREFIX):
        if option.name in values:
            problem = f"{option.name} means nothing with {GIT_MERGE.name}, which mounts no server."
            step = f"Run nexus-mcp init {GIT_MERGE.name} without it. To see how to mount, run nexus-mcp init with it."
            raise UsageError(problem, next_step=step)


def _ignore_note(workspace: Workspace) -> str:
    """Return a note on whether the existing .gitignore keeps state/ out of git."""
    from nexus_mcp.doctor.checks.git import leaves_out_state
    from nexus_mcp.store.store import Store

    verdict = None
    with suppress(NexusError), Store(workspace).nexus() as nexus:  # nexus-mcp doctor reports these faults
        data = None if nexus is None else nexus.read(".gitignore", _LIMIT)
        verdict = leaves_out_state((data or b"").decode("utf-8", "replace"))
    if verdict is None:
        return "may keep state/ out of git: nexus-mcp doctor asks git"
    return NOTES[IGNORE] if verdict else "does not keep state/ out of git: add the line state/"


def _print_unmapped(workspace: Workspace) -> None:
    from nexus_mcp.catalog.capabilities import missing_map_warning
    from nexus_mcp.catalog.load import load

    with suppress(NexusError):  # commands that need the map report its faults
        warning = missing_map_warning(load(workspace.root), workspace.harness_id)
        if warning:
            print(f"\n{warning}")


def _register(workspace: Workspace) -> int:
    """Register the merge driver; return 1 when another git attribute overrides it. Raise NexusError."""
    import shlex

    from nexus_mcp.merging.driver import FILE, register
    from nexus_mcp.merging.repository import Repository
    from nexus_mcp.program import own_command

    repository = Repository.around(workspace.root)
    done = register(repository, own_command())
    _print_result(repository, done, ("added", "set", "kept"))
    if not done.in_force:
        print(
            f"\ngit will not use the merge driver: another attribute of the file, in {FILE} or elsewhere, overrides it."
        )
        path = shlex.quote(printable(f"{repository.prefix}.nexus/history.json"))
        print(f"git check-attr --all {path}, run at the root of the repository, shows which one.")
        return exits.FAILED
    print(f"\nCommit {FILE}. {_OTHERS}\nTo take it back: nexus-mcp init --git-merge --remove")
    return exits.OK


def _unregister(workspace: Workspace) -> int:
    """Undo the registration and return 0. Raise NexusError."""
    from nexus_mcp.merging.driver import unregister
    from nexus_mcp.merging.repository import Repository

    repository = Repository.around(workspace.root)
    done = unregister(repository)
    _print_result(repository, done, ("removed", "removed", "kept: in use" if done.shared else "not there"))
    return exits.OK


def _print_result(repository: Repository, done: Registration, words: tuple[str, str, str]) -> None:
    from nexus_mcp.merging.driver import DRIVER, FILE

    attribute, config, neither = words
    print(printable(repository.top))
    print(f"  {attribute if done.attribute else neither:13}  {FILE:14}  {printable(done.line)}")
    print(f"  {config if done.config else neither:13}  {'configuration':14}  merge.{DRIVER}")


COMMAND = Command(
    "init",
    "create .nexus/ and print how to mount the server",
    "Creates .nexus/ with its .gitignore in the project, keeps existing files, and\n"
    "prints the lines that mount the server in each client. With --git-merge it only\n"
    "registers the merge driver of history.json in the git repository.",
    (PROJECT, HARNESS, TOOL_PREFIX, GIT_MERGE, REMOVE),
    run,
    examples=(
        ("nexus-mcp init", "create .nexus/ in the repository around you"),
        ("nexus-mcp init --git-merge", "have git merge history.json with nexus-mcp"),
    ),
)
