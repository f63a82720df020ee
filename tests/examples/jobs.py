"""Run the `run:` steps of a workflow or of a composite action as GitHub does: with bash, in the folder of the project.

Steps that use other actions (checkout, setup-…, upload-artifact) are not run.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.conftest import CHECKOUT

PAGE = CHECKOUT / "docs" / "conformance.md"
ACTION = CHECKOUT / "action.yml"
# What `shell: bash` means, and what a workflow uses without it.
BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]
_EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")
_BOUND_S = 900  # a step takes seconds on an idle machine


class Step(NamedTuple):
    """A step that was run: its name, the exit code, and stdout with stderr."""

    name: str
    code: int
    output: str


def block(begins: str) -> str:
    """Return the only YAML block of docs/conformance.md that begins with this text."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (found,) = (text for text in blocks if text.startswith(begins))
    return str(found)


def workflow_steps(text: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the steps of the only job of a workflow, and its variables."""
    workflow = yaml.safe_load(text)
    (job,) = workflow["jobs"].values()
    return job["steps"], workflow.get("env", {})


def action_steps(given: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the steps of our action with its inputs: those in `given`, else the defaults. Raise for unknown inputs."""
    action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    assert set(given) <= set(action["inputs"])
    inputs = {name: row.get("default", "") for name, row in action["inputs"].items()} | dict(given)
    steps: list[dict[str, Any]] = filled(action["runs"]["steps"], lambda text: inputs[text.removeprefix("inputs.")])
    return steps


def filled(value: Any, evaluate: Callable[[str], str]) -> Any:
    """Return the value with each `${{ expression }}` in its texts replaced."""
    if isinstance(value, dict):
        return {name: filled(one, evaluate) for name, one in value.items()}
    if isinstance(value, list):
        return [filled(one, evaluate) for one in value]
    return _EXPRESSION.sub(lambda found: evaluate(found[1]), value) if isinstance(value, str) else value


def run_steps(steps: list[dict[str, Any]], folder: Path, variables: Mapping[str, str]) -> list[Step]:
    """Run the steps with a script, until one fails."""
    done = []
    for step in steps:
        if "run" not in step:
            continue
        env = {**os.environ, **variables, **step.get("env", {})}
        try:
            ran = subprocess.run(
                [*BASH, "-c", step["run"]],
                cwd=folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
                timeout=_BOUND_S,
            )
        except subprocess.TimeoutExpired:
            done.append(Step(step.get("name", ""), 124, f"The step took more than {_BOUND_S} s."))
            break
        done.append(Step(step.get("name", ""), ran.returncode, ran.stdout))
        if ran.returncode:
            break
    return done
