"""action.yml is a composite action that judges a server; its script runs here as on GitHub, without installing."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from nexus_mcp.cli.conformance.run import COMMAND
from tests.conftest import CHECKOUT
from tests.examples.jobs import ACTION, PAGE, Step, action_steps, block, filled, run_steps

TEXT = ACTION.read_text(encoding="utf-8")
DEFINITION: dict[str, Any] = yaml.safe_load(TEXT)
STEPS: list[dict[str, Any]] = DEFINITION["runs"]["steps"]
# What GitHub allows in the metadata of a composite action and in its steps.
KEYS = {"name", "description", "author", "inputs", "outputs", "runs", "branding"}
STEP_KEYS = {"name", "id", "if", "run", "shell", "env", "working-directory", "uses", "with", "continue-on-error"}


def test_its_form_is_that_of_a_composite_action() -> None:
    """It has the keys that GitHub knows; each script names its shell, each other step an action with a version."""
    assert set(DEFINITION) <= KEYS
    assert DEFINITION["runs"]["using"] == "composite"
    assert {key for row in DEFINITION["inputs"].values() for key in row} <= {"description", "required", "default"}
    assert all(isinstance(row.get("default", ""), str) for row in DEFINITION["inputs"].values())
    for step in STEPS:
        assert set(step) <= STEP_KEYS
        assert ("run" in step) != ("uses" in step)
        if "run" in step:
            assert step["shell"] == "bash"
        else:
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"])


def test_inputs_reach_scripts_as_variables_alone() -> None:
    """No script contains an expression: text of an input is never read as shell commands."""
    assert not [step for step in STEPS if "${{" in step.get("run", "")]


def test_every_input_is_used_and_on_the_page() -> None:
    """Every input is used in a step, every expression names an input, and the table of the page has all of them."""
    used: set[str] = set()

    def evaluate(text: str) -> str:
        used.add(text)
        return ""

    filled(STEPS, evaluate)
    assert used == {f"inputs.{name}" for name in DEFINITION["inputs"]}
    table = PAGE.read_text(encoding="utf-8").partition("| input | what it is |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE) == list(DEFINITION["inputs"])
    for name, row in DEFINITION["inputs"].items():
        if row.get("default"):
            (line,) = (line for line in table.splitlines() if line.startswith(f"| `{name}` |"))
            assert f"`{row['default']}`" in line


def test_the_page_uses_existing_inputs() -> None:
    """The step of the page sets inputs that exist, the required one among them."""
    (step,) = yaml.safe_load(block("      - uses: OWNER/nexus-mcp"))
    required = {name for name, row in DEFINITION["inputs"].items() if row.get("required")}
    assert required <= set(step["with"]) <= set(DEFINITION["inputs"])


def test_options_in_the_script_exist() -> None:
    """The script names options of conformance run alone."""
    script = next(step["run"] for step in STEPS if step.get("id") == "run")
    assert set(re.findall(r"--[a-z-]+[a-z]", script)) <= {option.name for option in COMMAND.options}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The Python example, beside an installed suite that is this checkout's."""
    program = tmp_path / "nexus-mcp" / "bin" / "nexus-mcp"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m nexus_mcp "$@"\n')
    program.chmod(0o755)
    folder = tmp_path / "project"
    shutil.copytree(CHECKOUT / "conformance" / "examples" / "python", folder)
    return folder


def run(project: Path, **given: str) -> tuple[Step, str, str]:
    """Run the step that judges. Return it, the summary of the job, and the outputs."""
    temp = project.parent
    files = {name: temp / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    inputs = {"server": f"{sys.executable} server.py", "level": "basic"} | {
        name.replace("_", "-"): text for name, text in given.items()
    }
    steps = [step for step in action_steps(inputs) if step.get("id") == "run"]
    variables = {
        "RUNNER_TEMP": str(temp),
        "PYTHONPATH": str(CHECKOUT),
        **{name: str(path) for name, path in files.items()},
    }
    (done,) = run_steps(steps, project, variables)
    summary, outputs = (
        path.read_text() if path.exists() else "" for path in (files["GITHUB_STEP_SUMMARY"], files["GITHUB_OUTPUT"])
    )
    return done, summary, outputs


def test_a_good_server_passes(project: Path) -> None:
    """The step passes, the summary has the verdict, the four reports are written; options are split as a shell does."""
    done, summary, output = run(project, options="--only 'task_list_shows_*'\n--tool \"task_list\"", reports="out/here")
    assert done.code == 0, done.output
    verdict = "2 passed, 0 failed; level basic (selection)"
    assert done.output.splitlines()[-1] == verdict
    assert summary.startswith("## Nexus conformance\n\n    ")
    assert summary.endswith(f"    {verdict}\n")
    assert output == "exit-code=0\n"
    names = {path.name for path in (project / "out" / "here").iterdir()}
    assert names == {"report.html", "junit.xml", "result.json", "badge.json"}
    assert json.loads((project / "out/here/result.json").read_text())["level"] == "basic"


def test_a_failure_fails_the_step_and_is_in_the_summary(project: Path) -> None:
    """A failed fixture ends the step with 1; every line of the summary is indented, so that Markdown in it is text."""
    path = project / "tools.py"
    path.write_text(path.read_text().replace('"goal": found["goal"]', '"goal": "```\\n# injected <b>"'))
    done, summary, output = run(project, options="--only task_list_shows_the_whole_list")
    assert done.code == 1
    assert output == "exit-code=1\n"
    assert "injected" in summary
    heading, empty, *lines = summary.splitlines()
    assert (heading, empty) == ("## Nexus conformance", "")
    assert all(line.startswith("    ") for line in lines)


def test_known_failures_pass(project: Path) -> None:
    """A fixture in the file of known failures may fail."""
    path = project / "tools.py"
    path.write_text(path.read_text().replace('"goal": found["goal"]', '"goal": "another"'))
    (project / "known.yml").write_text("task_list_shows_the_whole_list: issue 1\n")
    done, _, output = run(project, options="--only task_list_shows_the_whole_list", expected_failures="known.yml")
    assert (done.code, output) == (0, "exit-code=0\n"), done.output


@pytest.mark.parametrize("options", ["$(touch made)", "`touch made`", "; touch made", "--only 'open"])
def test_options_are_not_run_by_the_shell(project: Path, options: str) -> None:
    """Text of the input is split and never evaluated; an open quotation fails the step."""
    done, _, _ = run(project, options=options)
    assert done.code != 0
    assert not (project / "made").exists()


def test_too_old_pythons_are_refused(tmp_path: Path) -> None:
    """A Python that is too old, or is none, ends the first step with a message that names the input."""
    (tmp_path / "old").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "old").chmod(0o755)
    (done,) = run_steps(action_steps({"server": "x", "python": "./old"})[:1], tmp_path, {"RUNNER_TEMP": str(tmp_path)})
    assert done.code == 2
    assert done.output == "::error::The suite needs Python 3.11 or newer. Name one with the input python.\n"


def test_the_action_installs_its_own_checkout(tmp_path: Path) -> None:
    """Without the input package pip gets the folder of the action, with it what the input names."""
    log = tmp_path / "words"
    (tmp_path / "python").write_text(
        '#!/bin/sh\nif [ "$1" = -m ] && [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi\n'
        f'for word; do last=$word; done\nprintf "%s\\n" "$last" >>"{log}"\n'
    )
    (tmp_path / "python").chmod(0o755)
    variables = {"RUNNER_TEMP": str(tmp_path), "GITHUB_ACTION_PATH": "/actions/nexus-mcp"}
    for given in ({}, {"package": "./vendor/n.whl"}):
        steps = action_steps({"server": "x", "python": str(tmp_path / "python"), **given})[:1]
        (done,) = run_steps(steps, tmp_path, variables)
        assert done.code == 0, done.output
    assert log.read_text().splitlines()[2::3] == ["/actions/nexus-mcp", "./vendor/n.whl"]
