"""The command line options of the pytest plug-in, and the target that they describe.

The table is in a module of its own, because every pytest run loads it. The functions import the suite only when they
are called.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from nexus_mcp.conformance.fixture import Fixture
    from nexus_mcp.conformance.target import Target

OPTIONS = (
    ("--nexus-server", "CMD", "run the conformance suite against this command, an MCP server on stdio"),
    ("--nexus-tool-prefix", "PREFIX", "the prefix of the target's tool names"),
    ("--nexus-tool-map", "FILE", "YAML: tool of the suite -> the target's name for it"),
    ("--nexus-env", "KEY=VALUE…", "a variable for the target; may be repeated"),
    ("--nexus-project-env", "NAME", "the variable that holds the path of the project"),
    ("--nexus-harness-id", "ID", "the harness id whose state folder the target uses"),
    ("--nexus-event-command", "CMD", "a command that handles lifecycle events; {type} is the event's type"),
    ("--nexus-run-command", "CMD", "a command that works through the task list; {status} is its status file"),
    ("--nexus-run-timeout", "SECONDS", "the time limit of one run of that command"),
    ("--nexus-timeout", "SECONDS", "the time limit of one call"),
    ("--nexus-start-timeout", "SECONDS", "the time limit of a start of the target"),
    ("--nexus-level", "LEVEL", "basic, full or robust; default: robust, all fixtures"),
    ("--nexus-require-all-tools", "", "fail fixtures of tools that the target lacks, in place of skipping them"),
    ("--nexus-fixtures", "PATH…", "fixtures in place of the packaged ones; may be repeated"),
    ("--nexus-expected-failures", "FILE", "YAML: test_id -> the reason why it fails"),
)
"""Option, metavar ("" for a switch; ending in "…" when the option may be repeated), help."""


def rename_options(text: str) -> str:
    """Return the text with the command's options renamed to the plug-in's: --timeout to --nexus-timeout."""
    known = "|".join(name.removeprefix("--nexus-") for name, _, _ in OPTIONS)
    return re.sub(rf"(?<!\S)--({known})(?![\w-])", r"--nexus-\1", text)


def make_target(config: pytest.Config, suite: Sequence[Fixture]) -> Target:
    """Return the target that the options describe. Raise HarnessFault for the first option that is wrong."""
    from nexus_mcp.conformance.settings import parse_command, read_target_options
    from nexus_mcp.conformance.target import stdio

    words = parse_command(config.getoption("--nexus-server"), "--nexus-server")
    options = read_target_options(config.getoption, config.getoption("--nexus-env"), suite, "--nexus-")
    return stdio(words, replace(options, require_all_tools=config.getoption("--nexus-require-all-tools")))


def chosen_level(config: pytest.Config) -> str:
    """Return the level of the run. Raise UsageError for an unknown one."""
    from nexus_mcp.conformance.fixture import LEVELS, ROBUST
    from nexus_mcp.errors import UsageError

    level: str = config.getoption("--nexus-level") or ROBUST
    if level not in LEVELS:
        raise UsageError(f"--nexus-level is one of {', '.join(LEVELS)}, not {level!r}.")
    return level
