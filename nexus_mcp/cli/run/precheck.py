"""`nexus-mcp run precheck`: print a row for each item of the precheck: ok, a warning, or a blocker."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.run.options import PROJECT_ONLY
from nexus_mcp.cli.workspace_options import JSON, print_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values
    from nexus_mcp.cli.run.typed_run import TypedRun
    from nexus_mcp.run.checks import CheckResult

STRICT = Option("--strict", "", "exit code 1 for a warning, too")
CHECKS = Option("--checks", "", "run the project's checks on HEAD, too")
_CODES = {"ok": exits.OK, "warning": exits.FAILED, "blocker": exits.BLOCKED}


def run(values: Values) -> int:
    """Print the items. Return 5 for a blocker, 1 for a warning with --strict, else 0.

    Raise NexusError if --checks needs commands that are not trusted yet.
    """
    import asyncio

    from nexus_mcp.cli.run.command_line import read
    from nexus_mcp.quoting import inert
    from nexus_mcp.run import precheck

    typed = read(values)
    items = asyncio.run(precheck.examine(typed.subject()))
    if CHECKS.name in values:
        _need_trust(typed)
        items += precheck.of_checks(asyncio.run(_checks(typed)), typed.config)
    if JSON.name in values:
        print_json({"items": [item.row() for item in items]})
    else:
        for item in items:
            mark = "ok" if item.passed else item.tier
            print(f"{mark:8} {item.name}: {inert(item.message)}")
    return _CODES[precheck.exit_code_of(items, strict=STRICT.name in values)]


def _need_trust(typed: TypedRun) -> None:
    from nexus_mcp.errors import NexusError
    from nexus_mcp.run import trust
    from nexus_mcp.run.settings import SECTION

    if not trust.is_trusted(typed.workspace.root, trust.digest(typed.settings.get(SECTION) or {})):
        raise NexusError(
            "You have not trusted the commands of the configuration yet.",
            next_step="nexus-mcp run shows them and asks you.",
        )


async def _checks(typed: TypedRun) -> dict[str, CheckResult]:
    """Run the setup commands, then the checks, in a temporary worktree of HEAD.

    Return the results of the checks by their names. Raise GitFailed.
    """
    import tempfile

    from nexus_mcp.run import sandbox
    from nexus_mcp.run.checks import environment, run_check
    from nexus_mcp.run.git import Git
    from nexus_mcp.run.worktrees import Repository

    git, config = Git(typed.workspace.root), typed.config
    with tempfile.TemporaryDirectory(prefix="nexus-precheck-") as folder:
        path = f"{folder}/base"
        await git.run("worktree", "add", "--quiet", "--detach", path, "HEAD")
        try:
            environ = environment(tuple(config.strip_env))
            wrap = await sandbox.around(Repository(typed.workspace.root, "", folder), config, path)
            for command in config.setup:
                await run_check("setup", command, path, environ, config.setup_timeout_s, wrap)
            return {
                name: await run_check(name, command, path, environ, config.check_timeout_s, wrap)
                for name, command in config.active_checks().items()
            }
        finally:
            await git.run("worktree", "remove", "--force", path, check=False)


COMMAND = Command(
    "precheck",
    "check what would stop a run",
    "Checks repository, tasks, harness, git user, disk and more; starts no agent.\n"
    "Exit code 5: something stops a run; 1: a warning, with --strict.",
    (STRICT, CHECKS, JSON, *PROJECT_ONLY),
    run,
    examples=(("nexus-mcp run precheck", "check the repository, the tasks and the harness"),),
)
