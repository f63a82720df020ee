"""`nexus-mcp init --git-merge`: register or unregister the merge driver of history.json."""

from __future__ import annotations

import shlex

from nexus_mcp.cli import exits
from nexus_mcp.log import printable
from nexus_mcp.merging.registration import DRIVER, FILE, Registration
from nexus_mcp.merging.repository import Repository
from nexus_mcp.program import own_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.workspace import Workspace

_OTHERS = "Each user of the repository runs nexus-mcp init --git-merge once: git takes no command from a repository."


def register(workspace: Workspace) -> int:
    """Register the merge driver; return 1 when another git attribute overrides it. Raise NexusError."""
    from nexus_mcp.merging import registration

    repository = Repository.around(workspace.root)
    done = registration.register(repository, own_command())
    _print_result(repository, done, ("added", "set", "there already"))
    if not done.in_force:
        print(f"\ngit will not use it: another line, in {FILE} or beside it, says something else of this file.")
        path = shlex.quote(printable(f"{repository.prefix}.nexus/history.json"))
        print(f"git check-attr --all {path}, run at the root of the repository, tells what is in force.")
        return exits.FAILED
    print(f"\nCommit {FILE}. {_OTHERS}\nTo take it back: nexus-mcp init --git-merge --remove")
    return exits.OK


def unregister(workspace: Workspace) -> int:
    """Take the registration back and return 0. Raise NexusError."""
    from nexus_mcp.merging import registration

    repository = Repository.around(workspace.root)
    done = registration.unregister(repository)
    _print_result(repository, done, ("removed", "removed", "kept: in use" if done.shared else "not there"))
    return exits.OK


def _print_result(repository: Repository, done: Registration, words: tuple[str, str, str]) -> None:
    attribute, config, neither = words
    print(printable(repository.top))
    print(f"  {attribute if done.attribute else neither:13}  {FILE:14}  {printable(done.line)}")
    print(f"  {config if done.config else neither:13}  {'configuration':14}  merge.{DRIVER}")
