"""Checks of a release: server.json, the tag check, and a workflow whose commands exist. No release is made here."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from nexus_mcp import __version__
from nexus_mcp.cli import COMMANDS
from nexus_mcp.cli.help_texts import ENVIRONMENT
from nexus_mcp.cli.options import Command, parse

CHECKOUT = Path(__file__).resolve().parents[2]
SCHEMA = Path(__file__).with_name("mcp-registry") / "server.schema.json"
SERVER: dict[str, Any] = json.loads((CHECKOUT / "server.json").read_text())
WORKFLOW: dict[Any, Any] = yaml.safe_load((CHECKOUT / ".github/workflows/release.yml").read_text())
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
STEPS = [step for job in JOBS.values() for step in job["steps"]]
LINES = [line.strip() for step in STEPS for line in step.get("run", "").splitlines()]
REPLACED = {"$GITHUB_REF_NAME": f"v{__version__}", "$GITHUB_REPOSITORY_OWNER": "nexus-mcp"}


def test_server_json_fits_the_schema_of_the_registry() -> None:
    """It names the schema that is kept here, and has no fault by it."""
    schema = json.loads(SCHEMA.read_text())
    assert SERVER["$schema"] == schema["$id"]
    assert [error.message for error in Draft7Validator(schema).iter_errors(SERVER)] == []
    assert [error.message for error in Draft7Validator(schema).iter_errors({**SERVER, "name": "no namespace"})] != []


def test_server_json_agrees_with_the_project() -> None:
    """Version, description, package, variables and command are those of the package."""
    (package,) = SERVER["packages"]
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    assert SERVER["version"] == package["version"] == __version__
    assert SERVER["description"] == project["description"]
    assert package["identifier"] == project["name"]
    assert {row["name"] for row in package["environmentVariables"]} <= {name for name, _, _ in ENVIRONMENT}
    name, *arguments = [row["value"] for row in package["packageArguments"]]
    command = COMMANDS[name]()
    assert isinstance(command, Command)
    parse(arguments, command.options, name, command.argument)


def test_readme_claims_the_package_for_the_registry() -> None:
    """The registry looks for this line in the description on PyPI, which is the README."""
    assert re.findall(r"mcp-name: (\S+)", (CHECKOUT / "README.md").read_text()) == [SERVER["name"]]


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A copy of the files that a release is checked by, with a section for the version in the changelog."""
    (tmp_path / "nexus_mcp").mkdir()
    (tmp_path / ".ci").mkdir()
    for name in ("nexus_mcp/__init__.py", "server.json", ".ci/check-release"):
        shutil.copy2(CHECKOUT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## {__version__} - 2030-01-01\n")
    return tmp_path


def check(release: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run([release / ".ci/check-release", *words], capture_output=True, text=True, check=False)
    assert len(f"{done.stdout}{done.stderr}".splitlines()) == 1
    return done.returncode, f"{done.stdout}{done.stderr}"


def test_a_right_tag_can_be_released(release: Path) -> None:
    """Also once the files in dist/ are built."""
    wanted = (0, f"v{__version__} can be released.\n")
    assert check(release, f"v{__version__}", "Nexus-MCP") == wanted
    (release / "dist").mkdir()
    for end in ("-py3-none-any.whl", ".tar.gz"):
        (release / "dist" / f"nexus_mcp-{__version__}{end}").touch()
    assert check(release, f"v{__version__}") == wanted


@pytest.mark.parametrize(
    ("break_it", "words", "problem"),
    [
        (lambda root: None, ("v9.9.9",), "The tag is v9.9.9"),
        (lambda root: (root / "server.json").write_text("{}"), (), "server.json does not have"),
        (lambda root: (root / "CHANGELOG.md").write_text("## Unreleased\n"), (), "CHANGELOG.md has no section"),
        (lambda root: (root / "dist").mkdir(), (), "is missing: run make wheel."),
        (lambda root: None, (f"v{__version__}", "other"), "is not io.github.other/nexus-mcp"),
    ],
    ids=["tag", "server", "changelog", "dist", "owner"],
)
def test_a_wrong_release_is_stopped(release: Path, break_it: Any, words: tuple[str, ...], problem: str) -> None:
    """The check prints one line with the value to correct."""
    break_it(release)
    code, text = check(release, *(words or (f"v{__version__}",)))
    assert (code, problem in text) == (1, True), text


def test_workflow_runs_for_tags_alone() -> None:
    """Neither a branch nor a pull request starts the workflow; YAML 1.1 reads the key `on` as true."""
    assert WORKFLOW[True] == {"push": {"tags": ["v*"]}}


def test_workflow_publishes_the_tested_files() -> None:
    """Each job needs the one before it, and only the published files are passed on."""
    assert {name: job.get("needs") for name, job in JOBS.items()} == {
        "build": None,
        "pypi": "build",
        "registry": "pypi",
    }
    made = {step["with"]["name"] for step in STEPS if step.get("uses", "").startswith("actions/upload-artifact@")}
    taken = {step["with"]["name"] for step in STEPS if step.get("uses", "").startswith("actions/download-artifact@")}
    assert taken == {"dist"} <= made
    assert JOBS["pypi"]["environment"] == "pypi"
    assert not any("run" in step for step in JOBS["pypi"]["steps"])


def test_workflow_has_no_secret_and_few_rights() -> None:
    """Trusted publishing and OIDC need a token of the run alone."""
    text = (CHECKOUT / ".github/workflows/release.yml").read_text()
    assert "secrets." not in text
    assert "${{" not in text, "an expression in a command would be run as a part of it"
    assert WORKFLOW["permissions"] == {"contents": "read"}
    rights = {
        name: {right for right, kind in job["permissions"].items() if kind == "write"} for name, job in JOBS.items()
    }
    assert rights == {"build": {"id-token", "attestations"}, "pypi": {"id-token"}, "registry": {"id-token"}}


def test_workflow_names_versions_of_actions() -> None:
    """Actions have fixed versions; only the one for PyPI uses the branch that its authors recommend."""
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert [name for name in used if not re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v1)", name)] == []
    assert all("run" in step or "uses" in step for step in STEPS)


@pytest.mark.parametrize("step", [step for step in STEPS if "run" in step], ids=lambda step: step["name"])
def test_commands_of_the_workflow_are_shell(step: dict[str, Any]) -> None:
    """bash reads each step without an error."""
    done = subprocess.run(["bash", "-n"], input=step["run"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_commands_of_the_workflow_exist() -> None:
    """Make targets, scripts of .ci/ and commands of nexus-mcp, with their options."""
    targets = re.findall(r"^([a-z-]+):", (CHECKOUT / "Makefile").read_text(), re.MULTILINE)
    seen = set()
    for line in LINES:
        words = [REPLACED.get(word, word) for word in shlex.split(line)]
        if words[0] == "make":
            assert set(words[1:]) <= set(targets), line
        elif words[0].startswith(".ci/"):
            assert os.access(CHECKOUT / words[0], os.X_OK), line
        elif words[0] == ".venv/bin/nexus-mcp":
            command = COMMANDS[words[1]]()
            assert isinstance(command, Command)
            parse(words[2:], command.options, line, command.argument)
        else:
            continue
        seen.add(words[0])
    assert seen >= {"make", ".ci/check-release", ".ci/check-wheel", ".venv/bin/nexus-mcp"}
