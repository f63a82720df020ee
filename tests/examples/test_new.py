"""`nexus-mcp conformance new` writes an example under the name of the project, and replaces nothing."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from nexus_mcp.cli.conformance.new import LANGUAGES
from nexus_mcp.conformance.authoring import source
from nexus_mcp.conformance.authoring.examples import EXAMPLES, NAME, SOURCE, WORKFLOW, project_name, write_example
from nexus_mcp.conformance.loading import load
from nexus_mcp.errors import HarnessFault, UsageError
from tests.cli.support import nexus
from tests.conftest import CHECKOUT
from tests.examples.jobs import PAGE, block, workflow_steps

FOLDER = CHECKOUT / "conformance" / "examples"
URL = "git+https://git.example.org/nexus-mcp@v1"


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def sources(language: str) -> set[str]:
    """The files of an example, without what a build left there."""
    ignored = (FOLDER / language / ".gitignore").read_text(encoding="utf-8").split()
    tops = {line.strip("/") for line in ignored} | {"package-lock.json"}
    return {name for name in files_below(FOLDER / language) if not tops & set(name.split("/"))}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_file_of_an_example_is_copied(language: str, tmp_path: Path) -> None:
    """A new server has exactly the files of the example, which differ from it in the name and the place alone."""
    folder = tmp_path / "My Server"
    assert write_example(language, str(folder), URL) == URL
    assert files_below(folder) == set(EXAMPLES[language].files)
    for name in EXAMPLES[language].files:
        text = (FOLDER / language / name).read_text(encoding="utf-8")
        assert (folder / name).read_text(encoding="utf-8") == text.replace(NAME, "my-server").replace(SOURCE, URL)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_table_has_every_file(language: str) -> None:
    """The table names every file of the example."""
    assert sources(language) == set(EXAMPLES[language].files)


def test_the_option_has_every_example() -> None:
    """--lang takes the languages of the table."""
    assert tuple(EXAMPLES) == LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_readme_and_workflow_have_the_commands_of_the_table(language: str) -> None:
    """README and workflow build and judge a server by the lines that the command prints."""
    example = EXAMPLES[language]
    build = "\n".join(example.build)
    judge = f'conformance run --server "{example.server}" --level basic'
    readme = (FOLDER / language / "README.md").read_text(encoding="utf-8")
    assert f"```sh\n{build}\nnexus-mcp {judge}\n```" in readme
    assert example.needs in readme
    steps, variables = workflow_steps((FOLDER / language / WORKFLOW).read_text(encoding="utf-8"))
    lines = {step["name"]: step["run"] for step in steps if "run" in step}
    assert lines["Build the server"] == f"{build}\n"
    assert judge in lines["Run the suite"]
    assert variables == {"NEXUS_MCP": SOURCE}


@pytest.mark.parametrize("language", LANGUAGES)
def test_readme_names_existing_fixtures_and_files(language: str) -> None:
    """The README names files of the example and fixtures of the suite; 15 of level basic need no other tool."""
    readme = (FOLDER / language / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\S+)` \|", readme, re.MULTILINE)
    assert rows
    assert set(rows) <= set(EXAMPLES[language].files)
    suite = load()
    assert set(re.findall(r"conformance explain (\w+)", readme)) <= {fixture.test_id for fixture in suite}
    basic = [one for one in suite if one.level == "basic" and {*one.tools} <= {"task_add", "task_list"}]
    assert f"{len(basic)} fixtures passed" in readme
    assert f"\n{len(basic)} passed, 0 failed" in PAGE.read_text(encoding="utf-8")


def test_workflows_differ_in_the_language_alone() -> None:
    """The three workflows have the same steps besides the setup, the build, and the command of the server."""

    def common(language: str) -> list[dict[str, Any]]:
        steps, _ = workflow_steps((FOLDER / language / WORKFLOW).read_text(encoding="utf-8"))
        text = json.dumps(
            [step for step in steps if "/setup-" not in step.get("uses", "") and step.get("name") != "Build the server"]
        )
        return list(json.loads(text.replace(json.dumps(EXAMPLES[language].server)[1:-1], "SERVER")))

    assert common("typescript") == common("python") == common("go")


def test_the_page_has_the_workflow_of_typescript() -> None:
    """The job of docs/conformance.md is the workflow of the TypeScript example."""
    assert block("# Judges the server") == (FOLDER / "typescript" / WORKFLOW).read_text(encoding="utf-8")


def test_the_page_has_the_lines_of_the_command(tmp_path: Path) -> None:
    """The page shows what the command prints for TypeScript, up to the lines about the job."""
    ran = nexus("conformance", "new", "my-server", "--lang", "typescript", cwd=tmp_path)
    shown = ran.out.partition("\n\nThe CI job")[0]
    shown = re.sub(r"^  .* conformance run", "  nexus-mcp conformance run", shown, flags=re.MULTILINE)
    assert f"```text\n{shown}\n```" in PAGE.read_text(encoding="utf-8")


def test_examples_are_no_fixtures() -> None:
    """The packaged suite does not read JSON files of the examples; a folder that is named is read as a whole."""
    assert not [fixture for fixture in load() if fixture.source.startswith("examples")]
    with pytest.raises(HarnessFault, match=r"package\.json"):
        load([str(FOLDER / "typescript")])


def test_an_existing_file_stops_the_whole_command(tmp_path: Path) -> None:
    """A file or link that is there already is named, it stays, and nothing else is written."""
    (tmp_path / "server.py").symlink_to("nowhere")
    (tmp_path / "mine.txt").write_text("mine")
    ran = nexus("conformance", "new", ".", "--lang", "python", cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "server.py is already there." in ran.err
    assert files_below(tmp_path) == {"mine.txt"}
    assert (tmp_path / "server.py").is_symlink()


def test_a_folder_with_other_files_is_accepted(tmp_path: Path) -> None:
    """Files of other names stay beside the new ones."""
    (tmp_path / "LICENSE").write_text("mine")
    write_example("go", str(tmp_path), "")
    assert files_below(tmp_path) == {"LICENSE", *EXAMPLES["go"].files}


def test_the_command_prints_the_steps(tmp_path: Path) -> None:
    """The output has the lines to type, in order, with the name of the project, and where the job installs from."""
    ran = nexus("conformance", "new", "Acme", "--lang", "go", "--package", URL, cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[:5] == [
        "Written to Acme: a server in Go with task_add and task_list.",
        "",
        "Next, with Go 1.19 or newer:",
        "  cd Acme",
        "  go build -o acme .",
    ]
    assert lines[5].endswith('conformance run --server "./acme" --level basic')
    assert lines[7] == f"The CI job is {WORKFLOW}. It installs nexus-mcp from {URL}."
    contract = lines[8].removeprefix("The contract: ")
    assert Path(contract).read_bytes() == (CHECKOUT / "docs" / "contract.md").read_bytes()


def test_a_wheel_is_copied_into_the_project(tmp_path: Path) -> None:
    """A wheel lies in vendor/ of the project, and the workflow names it there."""
    wheel = tmp_path / "nexus_mcp-9-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    assert write_example("go", str(tmp_path / "s"), str(wheel)) == f"./vendor/{wheel.name}"
    assert (tmp_path / "s" / "vendor" / wheel.name).read_bytes() == b"wheel"
    _, variables = workflow_steps((tmp_path / "s" / WORKFLOW).read_text())
    assert variables == {"NEXUS_MCP": f"./vendor/{wheel.name}"}


def test_an_unreadable_wheel_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written, and the fault says why."""
    wheel = tmp_path / "nexus_mcp-9-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    opened = open

    def refuses(path: Any, *words: Any, **more: Any) -> Any:
        if str(path) == str(wheel):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *words, **more)

    monkeypatch.setattr("builtins.open", refuses)
    with pytest.raises(HarnessFault, match="cannot be read: Permission denied"):
        write_example("go", str(tmp_path / "s"), str(wheel))
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("place", ['nexus-mcp @ git+https://x/y "z"', "a: b # c", "${{ x }}", "*", "-", "1e3"])
def test_any_place_is_the_value_in_the_workflow(place: str, tmp_path: Path) -> None:
    """The workflow has the place as one text, whatever characters it has."""
    write_example("go", str(tmp_path), place)
    assert yaml.safe_load((tmp_path / WORKFLOW).read_text())["env"] == {"NEXUS_MCP": place}


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("my-server", "my-server"),
        ("My_Server 2", "my-server-2"),
        ("Ölpumpe", "lpumpe"),
        ("2fast", "nexus-2fast"),
        ("地図", "nexus-server"),
    ],
)
def test_names_of_projects(folder: str, name: str, tmp_path: Path) -> None:
    """A name has lowercase ASCII letters, digits and hyphens, a letter first."""
    assert project_name(str(tmp_path / folder)) == name


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["s"], "conformance new needs --lang: one of typescript, python, go."),
        (["s", "--lang", "rust"], "--lang is one of typescript, python, go, not 'rust'."),
        (["", "--lang", "go"], "DIR names no folder."),
        (["s", "--lang", "go", "--package", ""], "--package names nothing that pip can install."),
        (
            ["s", "--lang", "go", "--package", "gone.whl"],
            "--package: there is no wheel 'gone.whl'.",
        ),
        (["s", "--lang", "go", "--package", "."], "--package: '.' is no wheel, and a CI job does not have it."),
    ],
)
def test_wrong_words_are_refused(words: list[str], message: str, tmp_path: Path) -> None:
    """A wrong command line ends with exit code 2 and its message, and writes nothing."""
    ran = nexus("conformance", "new", *words, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert not (tmp_path / "s").exists()


COMMIT = "0123456789012345678901234567890123456789"


@pytest.mark.parametrize(
    ("recorded", "found"),
    [
        ({"url": "https://x/y", "vcs_info": {"vcs": "git", "commit_id": COMMIT}}, f"git+https://x/y@{COMMIT}"),
        ({"url": "ssh://x/y", "vcs_info": {"vcs": "git", "commit_id": COMMIT}}, ""),
        ({"url": "https://me:secret@x/y", "vcs_info": {"vcs": "git", "commit_id": COMMIT}}, ""),
        (
            {"url": "https://x/nexus_mcp-1-py3-none-any.whl", "archive_info": {}},
            "https://x/nexus_mcp-1-py3-none-any.whl",
        ),
        ({"url": "http://x/nexus_mcp-1-py3-none-any.whl", "archive_info": {}}, ""),
        ({"url": "file:///gone/nexus_mcp-1-py3-none-any.whl", "archive_info": {}}, ""),
        ({"url": "file:///gone", "dir_info": {}}, ""),
        ({}, ""),
    ],
)
def test_recorded_places(recorded: dict[str, Any], found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What pip recorded is used if a CI job can reach it, and never with a password."""
    record(recorded, monkeypatch)
    assert source.recorded_source() == found


def record(recorded: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    class Distribution:
        def read_text(self, name: str) -> str:
            assert name == "direct_url.json"
            return json.dumps(recorded)

    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Distribution())


def test_recorded_wheel_and_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel that is still there is used, and of a checkout the https origin with its commit."""
    wheel = tmp_path / "nexus mcp.whl"
    wheel.write_bytes(b"")
    record({"url": wheel.as_uri(), "archive_info": {}}, monkeypatch)
    assert source.recorded_source() == str(wheel)

    def git(*words: str) -> str:
        who = ("-c", "user.name=T", "-c", "user.email=t@example.org")
        return subprocess.run(
            ["git", "-C", str(tmp_path), *who, *words], capture_output=True, check=True, text=True
        ).stdout.strip()

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "One")
    git("remote", "add", "origin", "https://git.example.org/nexus-mcp")
    record({"url": tmp_path.as_uri(), "dir_info": {}}, monkeypatch)
    assert source.recorded_source() == f"git+https://git.example.org/nexus-mcp@{git('rev-parse', 'HEAD')}"
    git("remote", "set-url", "origin", "/srv/nexus-mcp")
    assert source.recorded_source() == ""


def test_an_existing_wheel_is_an_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--package takes a relative path of a wheel."""
    (tmp_path / "n.whl").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    assert source.check_source("n.whl") == str(tmp_path / "n.whl")
    with pytest.raises(UsageError):
        source.check_source("line\nbreak")
