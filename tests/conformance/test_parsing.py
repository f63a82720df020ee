"""The options that describe a target: commands, variables, limits, names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance import settings
from nexus_mcp.conformance.fixture import Action, Asserts, Fixture, Step
from nexus_mcp.errors import HarnessFault


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (settings.parse_command, "a 'b c' --d=e", ("a", "b c", "--d=e")),
        (settings.parse_event_command, 'hook "{type}" x', ("hook", "{type}", "x")),
        (settings.parse_seconds, "0.5", 0.5),
        (settings.parse_seconds, "86400", 86_400.0),
        (settings.parse_harness_id, "claude-code", "claude-code"),
        (settings.parse_variable, "MY_ROOT", "MY_ROOT"),
        (settings.parse_environment, ("A=1", "B=", "A=x=y"), {"A": "x=y", "B": ""}),
    ],
)
def test_option_values_are_parsed(read: Callable[[Any, str], Any], text: Any, value: Any) -> None:
    """The text of a valid option becomes its value."""
    assert read(text, "--it") == value


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (settings.parse_command, "", "--it needs a command, not ''"),
        (settings.parse_command, "''", "--it needs a command, not \"''\""),
        (settings.parse_command, "a 'b", '--it "a \'b" is not a command: no closing quotation'),
        (
            settings.parse_event_command,
            "hook type",
            '--it needs {type} where the event\'s type belongs. Example: --it "nexus-mcp hook {type}"',
        ),
        *(
            (settings.parse_seconds, text, f"--it '{text}' is not a number of seconds above 0")
            for text in ("0", "-1", "nan", "inf", "x")
        ),
        *(
            (settings.parse_seconds, text, f"--it '{text}' is more than a day: at most 86400 seconds")
            for text in ("86401", "1e10", "1e308")
        ),
        *(
            (settings.parse_harness_id, text, f"--it '{text}' is not a harness id: a-z first, then a-z, 0-9 and -")
            for text in ("", "A", "../x")
        ),
        *((settings.parse_variable, text, f"--it '{text}' is not a variable name") for text in ("", "A=B")),
        *((settings.parse_environment, [text], "--it needs KEY=VALUE") for text in ("", "secret", "=secret", "A=\0")),
    ],
)
def test_invalid_option_value_names_the_option(read: Callable[[Any, str], Any], text: Any, message: str) -> None:
    """An invalid text is refused with the option's name; the value of a variable, which may be a secret, is not
    printed.
    """
    with pytest.raises(HarnessFault) as caught:
        read(text, "--it")
    assert str(caught.value) == message


def test_file_names_in_a_command_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that names a file of the present folder becomes absolute; commands on PATH and all other words stay."""
    (tmp_path / "dist").mkdir()
    for name in ("dist/server.js", "run", "serve", "a.py"):
        (tmp_path / name).write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    here = str(tmp_path)
    assert settings.parse_command("run serve a.py dist dist/server.js ./none.js", "--it") == (
        *("run", "serve", f"{here}/a.py", "dist", f"{here}/dist/server.js", "./none.js"),
    )
    assert settings.parse_event_command("./run {type}", "--it") == (f"{here}/run", "{type}")


def asking(tool: str) -> Fixture:
    return Fixture(tool, "A call.", (Step(Action(tool)),), single=True, postcondition=Asserts())


def test_tool_names_are_read_from_a_mapping(tmp_path: Path) -> None:
    """A mapping sets the names of tools; unknown tools and repeated names are reported with their lines."""
    path = tmp_path / "map.yml"
    suite = [asking("plan_start"), asking("task_add")]
    path.write_text("plan_start: begin\ntask_add: add\n")
    assert settings.load_tool_names(str(path), suite) == {"plan_start": "begin", "task_add": "add"}
    path.write_text("plan_strat: begin\nplan_start: add\ntask_add: add\n")
    with pytest.raises(HarnessFault) as caught:
        settings.load_tool_names(str(path), suite)
    assert caught.value.faults == [
        f"{path}:1: no fixture calls a tool plan_strat; did you mean plan_start?",
        f"{path}:3: add is the name of plan_start already",
    ]
