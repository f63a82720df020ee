"""`nexus-mcp package`: write a plugin for Claude Code or Codex, or an MCP bundle, into a folder."""

from __future__ import annotations

import os
import sys

from nexus_mcp.cli import exits
from nexus_mcp.cli.install import COMMAND_WORD, GATE, report_edits
from nexus_mcp.cli.options import Argument, Command, Option
from nexus_mcp.cli.workspace_options import TOOL_PREFIX, check_prefix
from nexus_mcp.errors import UsageError
from nexus_mcp.log import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values
    from nexus_mcp.harness.packages.definition import Order, Package

KIND = Argument(
    "PACKAGE",
    "the kind of package",
    {
        "claude": "a plugin for Claude Code, with a marketplace that offers it",
        "codex": "a plugin for Codex, with a marketplace that offers it",
        "mcpb": "an MCP bundle: one file with the server",
    },
)
OUT = Option("--out", "DIR", "the folder to make; its parent must exist")


def run(values: Values) -> int:
    """Write a package. Raise UsageError, CatalogError."""
    from nexus_mcp.harness.packages import load

    check_prefix(values.get(TOOL_PREFIX.name, ""))
    package = load(values[KIND.name])
    if package.has_program and (unused := [one.name for one in (GATE, COMMAND_WORD) if one.name in values]):
        raise UsageError(f"{unused[0]} means nothing for {package.id}: it has no hooks, and holds nexus-mcp itself.")
    if not values.get(OUT.name):
        raise UsageError(f"nexus-mcp package needs {OUT.name} {OUT.metavar}, the folder to make.")
    if "\0" in values[OUT.name]:
        raise UsageError(f"{OUT.name} names no folder.")
    return report_edits(lambda: _write(package, values))


def _write(package: Package, values: Values) -> int:
    import shutil

    from nexus_mcp.harness.packages.writing import write

    order = _order(values, package)
    files = package.files(order)
    folder = os.path.abspath(values[OUT.name])
    done = write(folder, package.id, files)
    size = sum(map(len, files.values()))
    count = "1 file" if len(files) == 1 else f"{len(files)} files"
    print(f"{package.title}: {done}\n  {printable(folder)} ({count}, {size:,} bytes)\n\nNext:")
    for step in package.next_steps(folder):
        print(f"- {printable(step)}")
    first = order.request.command[0]
    if not package.has_program and shutil.which(first) is None and sys.stderr is not None:
        print(
            f"nexus-mcp: {printable(first)} is not found here. Install it where you use the package.", file=sys.stderr
        )
    return exits.OK


def _order(values: Values, package: Package) -> Order:
    """Return the Order that the options describe. Raise UsageError, CatalogError."""
    from nexus_mcp.catalog.load import load
    from nexus_mcp.harness.definition import DEFAULT_GATE, PARTS, Request
    from nexus_mcp.harness.models import Models, read_models
    from nexus_mcp.harness.packages.definition import Order
    from nexus_mcp.tools import TOOLS

    request = Request(
        parts=PARTS,
        command=[_command(values.get(COMMAND_WORD.name, ""))],
        gate=values.get(GATE.name, DEFAULT_GATE),
        prefix=values.get(TOOL_PREFIX.name, ""),
        fast_hooks=False,
        catalog=load(None),  # a package is for all projects
        models=read_models(package.harness, {}) if package.harness else Models("", {}, {}),
    )
    return Order(request, {tool.name: _first_sentence(tool.description) for tool in TOOLS})


def _command(word: str) -> str:
    """Return the word that starts nexus-mcp in a package: a name on the PATH, or an absolute path. Raise UsageError."""
    from nexus_mcp.program import NAME

    if word and (not word.isprintable() or (os.sep in word and not os.path.isabs(word))):
        raise UsageError(f"{COMMAND_WORD.name} is a name on the PATH or an absolute path, not {word!r}.")
    return word or NAME


def _first_sentence(text: str) -> str:
    return f"{text.partition('. ')[0].rstrip('.')}."


COMMAND = Command(
    "package",
    "write a plugin or bundle with nexus-mcp into a folder",
    "Makes the folder DIR, or replaces a folder that it made before, unless a user\n"
    "edited the files in it. The folder is written as a whole or not at all, and the\n"
    "same call gives the same bytes. Exit code 1: refused. 3: files in DIR were\n"
    "edited, and nothing was changed.",
    (OUT, GATE, TOOL_PREFIX, COMMAND_WORD),
    run,
    argument=KIND,
    examples=(
        ("nexus-mcp package claude --out nexus-plugin", "make a plugin for Claude Code"),
        ("nexus-mcp package mcpb --out bundle", "make an MCP bundle"),
    ),
)
