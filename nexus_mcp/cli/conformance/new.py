"""`nexus-mcp conformance new`: write a minimal server with two tools, and the CI job that judges it."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Argument, Command, Option
from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

# The keys of EXAMPLES. An import of conformance.authoring.examples would take too long while a command line is parsed.
LANGUAGES = ("typescript", "python", "go")

FOLDER = Argument("DIR", "the folder of the new server")
LANGUAGE = Option("--lang", "LANG", "typescript, python or go", LANGUAGES)
PACKAGE = Option("--package", "SOURCE", "what CI installs nexus-mcp from: URL, wheel")


def run(values: Values) -> int:
    """Write the server and print the next steps. Raise UsageError, HarnessFault."""
    import os

    from nexus_mcp.conformance.authoring.examples import EXAMPLES, WORKFLOW, project_name, rename, write_example
    from nexus_mcp.conformance.authoring.source import check_source, recorded_source
    from nexus_mcp.log import printable
    from nexus_mcp.packaged import data_path
    from nexus_mcp.program import command, shell_line

    if LANGUAGE.name not in values:
        raise UsageError(f"conformance new needs {LANGUAGE.name}: one of {', '.join(LANGUAGES)}.")
    folder = values[FOLDER.name]
    if not folder or "\0" in folder:
        raise UsageError("DIR names no folder.")
    source = check_source(values[PACKAGE.name]) if PACKAGE.name in values else recorded_source()
    installed = write_example(values[LANGUAGE.name], folder, source)

    example, name = EXAMPLES[values[LANGUAGE.name]], project_name(folder)
    judge = command(f'conformance run --server "{rename(example.server, name)}" --level basic')
    lines = [
        f"Written to {folder}: a server in {example.language} with task_add and task_list.",
        "",
        f"Next, with {example.needs}:",
        *(f"  {line}" for line in (shell_line(["cd", folder]), *(rename(one, name) for one in example.build), judge)),
        "",
    ]
    if source:
        lines.append(f"The CI job is {WORKFLOW}. It installs nexus-mcp from {installed}.")
    else:
        lines += [
            f"The CI job is {WORKFLOW}. Before you push, replace the value of NEXUS_MCP in it by",
            "the URL of a repository from which pip can install nexus-mcp, or by the path of a wheel in your",
            "repository.",
        ]
    lines.append(f"The contract: {os.path.abspath(data_path('docs', 'contract.md'))}")
    for line in lines:
        print(printable(line))
    return exits.OK


COMMAND = Command(
    "new",
    "write a minimal server with two tools, and its CI job",
    "Writes a server that passes the level basic with task_add and task_list, a\n"
    "workflow for GitHub Actions that judges it, and a README. The workflow\n"
    "installs nexus-mcp from the place from which you installed it; --package\n"
    "names another place. No existing file is replaced.",
    (LANGUAGE, PACKAGE),
    run,
    argument=FOLDER,
    examples=(("nexus-mcp conformance new my-server --lang typescript", "begin a server in TypeScript"),),
)
