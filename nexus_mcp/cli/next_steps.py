"""Print the three steps after `nexus-mcp init`: install, plan, carry out."""

from __future__ import annotations

from contextlib import suppress

from nexus_mcp.cli.install import NAMES, on_path, site_of
from nexus_mcp.cli.workspace_options import HARNESS_ID, PROJECT, TOOL_PREFIX
from nexus_mcp.errors import InstallRefused
from nexus_mcp.program import command, shell_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values


def print_steps(values: Values) -> None:
    """Print the next steps in the project that the command line names."""
    from nexus_mcp.cli.text_output import wrap

    steps = (
        _first_step(values),
        ["In your client, type [plan] and what you want to do in the project."],
        ["Type [run] to carry out the tasks. To see how far they are:", command("status")],
    )
    print("\nThe next steps:")
    for number, (text, *commands) in enumerate(steps, 1):
        print("\n".join(wrap(text, f"  {number}. ", "     ")))
        for line in commands:  # not wrapped, so that you can copy it
            print(f"       {line}")


def _first_step(values: Values) -> list[str]:
    """Return a text that explains how to connect the client, then the commands to choose from, if there are any."""
    from nexus_mcp.harness import HARNESSES

    wanted = values.get(HARNESS_ID.name, "")
    if wanted and wanted not in HARNESSES:
        return ["Mount the server in your client, with the lines above."]
    installed = [NAMES[name] for name in _find_installed(values)]
    if installed:
        titles = " and ".join(installed)
        return [f"nexus-mcp is installed for {titles}. To see the parts:", command("install --list")]
    names = [wanted] if wanted else on_path() or list(HARNESSES)
    text = "Install everything for your client, instead of pasting the lines above:"
    options = shell_line([word for name in (PROJECT.name, TOOL_PREFIX.name) for word in _given_option(name, values)])
    return [text, *(f"{command('install')} {name} {options}".rstrip() for name in names)]


def _given_option(name: str, values: Values) -> list[str]:
    return [name, values[name]] if name in values else []


def _find_installed(values: Values) -> list[str]:
    """Return the harnesses with installed parts in the project; none if the record cannot be read."""
    from nexus_mcp.harness import HARNESSES
    from nexus_mcp.harness.installing import read_record

    with suppress(InstallRefused):
        record = read_record(site_of(values))
        return [name for name in HARNESSES if record.parts(name)]
    return []
