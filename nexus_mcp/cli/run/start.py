"""`nexus-mcp run [TASK…]`: begin a run, or continue the unfinished one."""

from __future__ import annotations

from nexus_mcp.cli.options import Command
from nexus_mcp.cli.run.command_line import DEMO, DRY_RUN, OPTIONS, TASKS, read
from nexus_mcp.cli.run.options import refuse_in_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values


def run(values: Values) -> int:
    """Begin or continue a run, and return its exit code. Raise UsageError, CatalogError, and errors of the store and of
    git.
    """
    refuse_in_session()
    if DEMO.name in values:
        from nexus_mcp.cli.run.demo import show

        return show()
    typed = read(values)
    if DRY_RUN.name in values:
        from nexus_mcp.cli.run.dry_run import show as preview

        return preview(typed)
    from nexus_mcp.cli.run.work import begin

    return begin(typed)


COMMAND = Command(
    "run",
    "begin a run, or continue the unfinished one",
    "Works through the task list.",
    OPTIONS,
    run,
    argument=TASKS,
    examples=(
        ("nexus-mcp run --dry-run", "show what a run would do"),
        ("nexus-mcp run --jobs 2", "let two agents at a time do the tasks"),
        ("nexus-mcp run --demo", "see a run without any account"),
    ),
)
