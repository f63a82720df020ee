"""The documentation agrees with the program: tools, commands, options, exit codes, make targets, links.

tests/pages runs the command lines.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs import generate, man_page
from nexus_mcp.cli import exits
from nexus_mcp.cli.help_texts import ENVIRONMENT
from nexus_mcp.cli.options import Command, Group
from nexus_mcp.tools import TOOLS
from nexus_mcp.tools.definition import Tool
from tests.cli.support import every_command, name
from tests.e2e import capture, clients, results

ROOT = Path(__file__).resolve().parent.parent
# Terms that the code and the pages use often. docs/glossary.md has an entry for each.
CENTRAL_TERMS = """
cycle plan issue task ready tracker harness capability journal receipt run executor precheck attempt checkout
worktree driver strategy tier escalation check reviewer verdict trigger lease view board room token plugin
package mount bundle sandbox acceptance advice rule runner level
resource prompt prefix native
"""
PAGES = sorted(
    [*(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")), *(ROOT / "docs").rglob("*.md")]
)
READ = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
COMMANDS_PAGE = READ["docs/commands.md"]


def code_blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def shell_lines() -> list[tuple[str, str]]:
    """(page, command line) of every line in a shell block, comments left out."""
    return [
        (page, line.partition("#")[0].strip())
        for page, text in READ.items()
        for block in code_blocks(text, "sh")
        for line in block.splitlines()
        if line.strip()
    ]


def sections(text: str) -> dict[str, str]:
    """Title -> text of the sections of a page."""
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_tools_page_is_current() -> None:
    """docs/tools.md and the table in the README equal the output of the generator; `make docs` writes them."""
    assert READ["docs/tools.md"] == generate.page() + "\n", "docs/tools.md is not current: run make docs"
    assert READ["README.md"] == generate.readme(READ["README.md"]), "README.md is not current: run make docs"


def test_readme_fits_in_two_screens() -> None:
    """The README has at most 120 lines; more belongs on the pages that it links."""
    assert len(READ["README.md"].splitlines()) <= 120


def test_figures_of_the_readme_are_those_of_the_performance_page() -> None:
    """Each figure under "What it costs" is a figure of a table of docs/performance.md, in the same unit."""
    text = " ".join(sections(READ["README.md"])["What it costs"].split())
    figures = re.findall(r"([\d.]+) (ms|MB)\b", text)
    sizes = re.findall(r"(\d[\d ]*) closed cycles", text)
    rows = [line for line in READ["docs/performance.md"].splitlines() if line.startswith("| ")]
    missing = [pair for pair in figures if not any(f"({pair[1]}) |" in row and f"| {pair[0]} |" in row for row in rows)]
    assert missing == []
    assert [size for size in sizes if not any(f", {size} cycles" in row for row in rows)] == []
    assert (len(figures), len(sizes)) == (8, 1)
    assert sorted(re.findall(r"\d+(?: \d{3})*(?:\.\d+)?", text)) == sorted([*(figure for figure, _ in figures), *sizes])


def test_pages_of_commands_are_current() -> None:
    """docs/help.md and the first table of docs/commands.md equal the output of the generator."""
    assert READ["docs/help.md"] == generate.help_page(), "docs/help.md is not current: run make docs"
    assert generate.commands(COMMANDS_PAGE) == COMMANDS_PAGE, "docs/commands.md is not current: run make docs"


def test_man_page_is_current() -> None:
    """docs/man/nexus-mcp.1 equals the output of its generator; `make docs` writes it."""
    assert man_page.PAGE.read_text(encoding="ascii") == man_page.page(), "the man page is not current: run make docs"


def test_harnesses_page_is_current() -> None:
    """docs/harnesses.md matches results.json; `make e2e` writes the results, `make docs` the page."""
    assert READ["docs/harnesses.md"] == results.page(), "docs/harnesses.md is not current: run make docs"


@pytest.mark.parametrize("client", capture.HARNESSES)
def test_page_of_a_client_has_a_capture(client: str) -> None:
    """The page has one capture, of the commands that a user types in their order, with outcomes; `make captures`."""
    text = READ[f"docs/{client}.md"]
    block = text.partition(f"{capture.BEGIN}\n```text\n")[2].partition(f"\n```\n{capture.END}")[0]
    assert capture.with_capture(text, f"```text\n{block}\n```") == text
    row = capture.HARNESSES[client]
    typed = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
    assert typed == [
        f"nexus-mcp install {client}",
        capture.shown(row.plan),
        capture.shown(row.run),
        f"nexus-mcp uninstall {client}",
        "git status --short --untracked-files=all",
        "cat .nexus/history.json",
    ]
    assert "# The model called: plan_start, plan_decide, task_add\n" in block
    assert 'Start the skill nx-plan now, with: "Links must survive a restart".' in block
    assert "?? .nexus/.gitignore\n?? .nexus/history.json\n?? store.py\n" in block
    assert '"topic": "Links survive a restart"' in block


@pytest.mark.parametrize("client", capture.HARNESSES)
def test_capture_is_of_the_version_that_is_tested(client: str) -> None:
    """The first line names client and version as clients.json has them, and no path of a machine is left."""
    block = READ[f"docs/{client}.md"].partition(capture.BEGIN)[2].partition(capture.END)[0]
    listed = clients.listed()[client]
    assert block.startswith(f"\n```text\n# {listed.title} {listed.version}, with a scripted model\n")
    assert re.findall(r"(?:/root/|/home/|/tmp/|\.venv)\S*", block) == []


def test_pages_of_clients_are_linked() -> None:
    """README, install.md and harnesses.md lead to each of them."""
    for client in capture.HARNESSES:
        assert f"](docs/{client}.md)" in READ["README.md"]
        assert all(f"]({client}.md" in READ[f"docs/{page}.md"] for page in ("install", "harnesses"))


def test_architecture_page_names_modules_that_exist() -> None:
    """Each path to a module on the page leads to a file of the package."""
    named = re.findall(r"`([a-z_/]+\.py)`", READ["docs/architecture.md"])
    assert len(named) > 20
    assert [path for path in named if not (ROOT / "nexus_mcp" / path).exists() and not (ROOT / path).exists()] == []


def test_architecture_page_has_a_row_for_each_box() -> None:
    """Each box of the picture of rooms has a row in the table of rooms, and each row has a box."""
    picture = (ROOT / "docs/pictures/rooms.svg").read_text(encoding="utf-8")
    boxes = re.findall(r"<text [^>]*>([^<]+)</text>", picture)
    table = sections(READ["docs/architecture.md"])["The rooms"]
    rows = [row.replace("`", "") for row in re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)]
    assert len(boxes) > 20
    assert sorted(rows) == sorted(boxes)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_is_documented(tool: Tool) -> None:
    """A tool has a row in the README and a section with every parameter and answer; parameters are described."""
    assert f"| `{tool.name}` |" in READ["README.md"]
    text = sections(READ["docs/tools.md"])[tool.name]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in text.splitlines() if row.startswith("| `")]
    taken, given = rows[: len(tool.parameters)], rows[len(tool.parameters) :]
    assert [row[0].strip("`") for row in taken] == list(tool.parameters)
    assert {row[0].strip("`") for row in given} >= set(tool.output["properties"])
    assert [row[0] for row in taken if not row[-1]] == []


def test_commands_page_has_the_commands() -> None:
    """docs/commands.md has a section for every command and subcommand, and for no other."""
    documented = [title for title in sections(COMMANDS_PAGE) if title.startswith("nexus-mcp ")]
    assert sorted(documented) == sorted(f"nexus-mcp {' '.join(words)}" for words, _ in every_command())


@pytest.mark.parametrize(("words", "command"), every_command(), ids=name)
def test_commands_page_has_every_option(words: tuple[str, ...], command: Command | Group) -> None:
    """A section has a row for each option as --help writes it, for each word of the argument, and for nothing else."""
    text = sections(COMMANDS_PAGE)[f"nexus-mcp {' '.join(words)}"]
    rows = re.findall(r"^\| `([^`]*)` \|", text, re.MULTILINE)
    if isinstance(command, Group):
        assert rows == [f"{option.name} {option.metavar}".strip() for option in command.options]
        return
    argument = command.argument
    choices = list(argument.choices) if argument else []
    assert rows == [*choices, *(f"{option.name} {option.metavar}".strip() for option in command.options)]
    assert argument is None or f"`nexus-mcp {' '.join(words)} {argument.name}`" in text


def test_commands_page_has_the_variables() -> None:
    """Every variable that is read is documented."""
    rows = re.findall(r"^\| `(\w+)` \|", sections(COMMANDS_PAGE)["Environment"], re.MULTILINE)
    assert rows == [name for name, _, _ in ENVIRONMENT]


def test_commands_page_has_the_exit_codes() -> None:
    """Every exit code is documented."""
    rows = re.findall(r"^\| (\d+) \|", sections(COMMANDS_PAGE)["Exit codes"], re.MULTILINE)
    codes = [value for name, value in vars(exits).items() if name.isupper() and not isinstance(value, bool)]
    assert [int(row) for row in rows] == sorted(codes)


def test_glossary_has_the_central_terms_once() -> None:
    """Each central term has an entry, no term has two, and each entry has a meaning that ends with a full stop."""
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", READ["docs/glossary.md"], re.MULTILINE)
    terms = [term for term, _ in rows if term != "term"]
    assert [term for term in CENTRAL_TERMS.split() if term not in terms] == []
    assert sorted(terms) == sorted(set(terms))
    assert [term for term, meaning in rows if term != "term" and not meaning.endswith(".")] == []


def test_make_targets_exist() -> None:
    """Every make target on a page exists, and `make` lists the targets."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = {target for text in READ.values() for target in re.findall(r"`(?:make|make -s) ([a-z-]+)`", text)}
    named |= {line.split()[1] for _, line in shell_lines() if line.startswith("make ")}
    assert named - targets == set()
    assert {"demo", "test"} <= named


@pytest.mark.parametrize("page", READ)
def test_relative_links_have_a_target(page: str) -> None:
    """The target of each relative link exists."""
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)]+)\)", READ[page])]
    missing = [t for t in targets if t and "://" not in t and not ((ROOT / page).parent / t).exists()]
    assert missing == []


def test_decisions_are_short_and_numbered() -> None:
    """A decision's file and title carry the same number, none occurs twice, and none is longer than 30 lines."""
    pages = {name: text for name, text in READ.items() if name.startswith("docs/decisions/0")}
    numbers = [Path(name).name[:4] for name in pages]
    assert sorted(numbers) == sorted(set(numbers))
    assert [name for name, text in pages.items() if not text.startswith(f"# {Path(name).name[:4]}")] == []
    assert {name: n for name, text in pages.items() if (n := len(text.splitlines())) > 30} == {}


def test_index_links_each_decision_once() -> None:
    """docs/decisions/README.md links each decision once, under its number."""
    linked = re.findall(r"^- \[(\d{4})\]\((\1-[\w-]+\.md)\)", READ["docs/decisions/README.md"], re.MULTILINE)
    pages = [Path(name).name for name in READ if name.startswith("docs/decisions/0")]
    assert sorted(page for _, page in linked) == sorted(pages)


def test_changelog_names_the_version() -> None:
    """The changelog has an entry for unreleased changes, or for this version."""
    from nexus_mcp import __version__

    titles = sections(READ["CHANGELOG.md"])
    assert {"Unreleased", __version__} & {title.split()[0] for title in titles}


def test_lock_names_no_host() -> None:
    """The lock has hashes for every package and no address of an index."""
    lock = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    assert re.search(r"^-", lock, re.MULTILINE) is None
    packages = re.findall(r"^\w.*==", lock, re.MULTILINE)
    assert len(packages) == len(re.findall(r"^\w.*==.*\\$", lock, re.MULTILINE)) > 20
