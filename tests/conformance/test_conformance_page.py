"""The files and the CI job in docs/conformance.md work; tests/pages runs or parses its command lines."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import yaml

from nexus_mcp.cli.conformance.run import COMMAND
from nexus_mcp.cli.options import parse
from nexus_mcp.conformance import settings
from nexus_mcp.conformance.pytest_plugin.options import OPTIONS
from nexus_mcp.conformance.report import files
from tests.conformance.suite import packaged
from tests.conftest import CHECKOUT

PAGE = (CHECKOUT / "docs" / "conformance.md").read_text(encoding="utf-8")
YAML: list[str] = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def block(begins: str) -> str:
    (found,) = (text for text in YAML if text.startswith(begins))
    return found


def test_files_of_the_page_can_be_loaded(tmp_path: Path) -> None:
    """The expected failures on the page name existing fixtures, the tool map names called tools."""
    suite = packaged()
    known = tmp_path / "known-failures.yml"
    known.write_text(block("# known-failures.yml"))
    assert len(settings.load_expected(str(known), [fixture.test_id for fixture in suite])) == 2
    names = tmp_path / "tools.yml"
    names.write_text(block("# tools.yml"))
    assert settings.load_tool_names(str(names), suite) == {"task_add": "createTask", "task_list": "listTasks"}


def test_ci_job_of_the_page_has_valid_options() -> None:
    """The job of the page is a workflow; its command line has only existing options, and stores every report."""
    job: Any = yaml.safe_load(block("# Judges the server"))["jobs"]["conformance"]
    (script,) = (step["run"] for step in job["steps"] if "conformance run" in step.get("run", ""))
    words = shlex.split(script.replace("\\\n", " "))
    values = parse(words[words.index("conformance") + 2 :], COMMAND.options, "run")
    assert values.lists["--report"] == ["reports/report.html", "reports/junit.xml", "reports/result.json"]
    assert [files.kind(path).__name__ for path in values.lists["--report"]] == ["to_html", "to_junit", "to_json"]
    assert job["steps"][-1]["with"]["path"] == "reports/"


def test_page_has_every_pytest_option() -> None:
    """The page has exactly the plug-in's options; their names are those of the command with a prefix."""
    names = {name for name, _, _ in OPTIONS}
    assert set(re.findall(r"--nexus-[a-z-]+[a-z]", PAGE)) == names
    assert {name.replace("--nexus-", "--") for name in names} <= {option.name for option in COMMAND.options}


def test_fixtures_named_on_the_page_exist() -> None:
    """Every fixture named on the page exists."""
    named = set(re.findall(r"nexus::([a-z_0-9]+)", PAGE))
    assert named
    assert named <= {fixture.test_id for fixture in packaged()}
