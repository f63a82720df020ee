"""The pages, as text: what they show of a project, that stored text stays text, and that nothing is written."""

from __future__ import annotations

import json
import os
import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from nexus_mcp.board import text
from nexus_mcp.board.projects import open_projects
from nexus_mcp.errors import UsageError
from nexus_mcp.store import journal
from nexus_mcp.web.projects_file import read
from nexus_mcp.workspace import Workspace
from tests.board.support import client_of, make_board, pages_of
from tests.browser import samples
from tests.support import Project

if TYPE_CHECKING:
    from pathlib import Path

    from nexus_mcp.board.app import Board

ALL = ("/p/x/", "/p/x/graph", "/p/x/history", "/p/x/decisions", "/p/x/charts", "/p/x/changes", "/p/x/files")
_VOID_ATTRIBUTES = re.compile(r"^on|^style$")


class Elements(HTMLParser):
    """The elements of a page, as (tag, attributes)."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture
def typical(tmp_path: Path) -> Board:
    return make_board(tmp_path / "cache", samples.typical(tmp_path / "x"))


@pytest.mark.parametrize("kind", ["empty", "typical", "hostile", "crowded"])
def test_showing_every_page_writes_nothing(tmp_path: Path, kind: str) -> None:
    """All pages of a project can be shown, and the project is byte for byte as before, access to it included."""
    root = getattr(samples, kind)(tmp_path / "x")
    before = Project(root).snapshot()
    client = client_of(make_board(tmp_path / "cache", root))
    assert len(list(pages_of(client, *ALL))) == len(ALL)
    assert Project(root).snapshot() == before


def test_now_shows_plan_tasks_agents_and_files(typical: Board) -> None:
    """The first page has the open question, a decision, the tasks, who works on what, and the newest files."""
    ((_, page),) = pages_of(client_of(typical), "/p/x/")
    for shown in (
        *("Links survive a restart", "Is there a limit?", "replaced atomically", "Links are there after a restart"),
        *("Move old links", "Critical path", "3 of 4 decided", "1 of 8</b> tasks done"),
        *(
            "claude-code",
            "survey.md",
            "memory/empirical-lock-order.md",
            "مزامنة العلامات 🌍",
            "링크 이름에 한글 허용 😀",
        ),
    ):
        assert shown in page, shown


def test_a_cycle_a_comparison_and_a_past_state_are_shown(typical: Board) -> None:
    """One cycle in full, two compared, and the state after a change of an earlier cycle."""
    client = client_of(typical)
    found = dict(
        pages_of(
            client, "/p/x/history/4", "/p/x/history/last", "/p/x/compare?a=1&b=2", "/p/x/changes/6", "/p/x/changes"
        )
    )
    assert "Check links for rot" in found["/p/x/history/4"]
    assert "Every night" in found["/p/x/history/4"]
    assert "مزامنة العلامات" in found["/p/x/history/last"]
    assert "Removed" in found["/p/x/compare?a=1&b=2"]
    assert "Store bookmarks in one file" in found["/p/x/changes/6"]
    assert "Archives 2 tasks" in found["/p/x/changes"]
    assert "Describe the file in the README" in found["/p/x/changes"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        *(("/p/x/history/99", 404), ("/p/x/history/x", 404), ("/p/x/history/-1", 404), ("/p/x/compare?a=1", 404)),
        *(("/p/x/changes/999", 404), ("/p/x/changes/x", 404), ("/p/x/compare?a=1&b=" + "9" * 5000, 404)),
        *(
            ("/p/x/artifacts/none.md", 404),
            ("/p/x/artifacts/../plan.json", 404),
            ("/p/x/artifacts/%2e%2e/plan.json", 404),
        ),
        *(("/p/x/notes/memory/none.md", 404), ("/p/x/notes/state/plan.json", 404), ("/p/x/notes/memory/../x.md", 404)),
        *(("/p/x/raw/survey.md", 404), ("/p/x/raw/none.png", 404), ("/p/y/", 404), ("/p/x/history/" + "9" * 5000, 404)),
    ],
)
def test_missing_pages_get_a_plain_sentence(typical: Board, path: str, status: int) -> None:
    """A wrong number, date, name or project is answered with a plain sentence, not with an error of the program."""
    answer = client_of(typical).get(path)
    assert answer.status_code == status, answer.text[-500:]
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("q=for+rot", "1 of 6 cycles"),
        ("q=FOR+Rot", "1 of 6 cycles"),
        ("q=nothinglikeit", "No cycle matches"),
        ("branch=_default", "6 cycles, the newest first"),
        ("branch=none", "No cycle matches"),
        ("since=2026-04-01", "of 6 cycles"),
        ("since=2026-13-99", "A period begins and ends with a date"),
        ("since=9999-12-31&until=9999-12-31", "No cycle matches"),
        ("most=2", "Show more"),
        ("most=99999999999", "6 cycles"),
    ],
)
def test_the_history_is_filtered(typical: Board, query: str, shown: str) -> None:
    """Query, branch and period choose among the cycles; a wrong date is said in a sentence."""
    ((_, page),) = pages_of(client_of(typical), f"/p/x/history?{query}")
    assert shown in page


def test_decisions_are_found_by_question_text_and_advice(typical: Board) -> None:
    """The answer to why it is so: a decision of a closed cycle, by a word in it, ignoring case."""
    ((_, page),) = pages_of(client_of(typical), "/p/x/decisions?q=firefox+CHROMIUM")
    assert page.count("data-item") == 1
    assert "Which browsers?" in page
    ((_, page),) = pages_of(client_of(typical), "/p/x/decisions?q=zebra")
    assert "No decision matches." in page


def test_the_charts_have_the_numbers_of_each_week(typical: Board) -> None:
    """The table below the charts has cycles, tasks, decisions, a reopened question and the lead time."""
    ((_, page),) = pages_of(client_of(typical), "/p/x/charts")
    rows = re.findall(
        r"<tr><td>([\d-]+)</td><td>(\d+)</td><td>(\d+)</td><td>(\d+)</td><td>(\d+)</td><td>(.+?)</td></tr>", page
    )
    assert sum(int(row[1]) for row in rows) == 6
    assert sum(int(row[2]) for row in rows) == 12
    assert sum(int(row[4]) for row in rows) == 1
    assert "48.0" in page


def test_hostile_text_adds_no_element_and_no_attribute(tmp_path: Path) -> None:
    """Scripts, handlers, styles and images in stored text are text on every page; control characters are visible."""
    root = samples.hostile(tmp_path / "x")
    client = client_of(make_board(tmp_path / "cache", root))
    extra = (
        "/p/x/history/1",
        "/p/x/compare?a=1&b=1",
        "/p/x/changes/3",
        "/p/x/artifacts/x.md",
        "/p/x/artifacts/page.html",
        "/p/x/artifacts/x.svg",
        "/p/x/notes/memory/note-x.md",
    )
    for path, page in pages_of(client, *ALL, *extra):
        assert "\x1b" not in page, path
        assert "\u202e" not in page, path
        for tag, attributes in Elements(page).found:
            assert not any(map(_VOID_ATTRIBUTES.match, attributes)), (path, tag, attributes)
            assert tag not in ("iframe", "object", "embed", "style", "base"), (path, tag)
            if tag == "script":
                assert "src" in attributes, (path, attributes)
            if tag == "img":
                assert str(attributes["src"]).startswith("/p/x/raw/"), (path, attributes)
            if tag == "a":
                assert not str(attributes["href"]).lower().startswith(("javascript:", "data:")), (path, attributes)
            for name, value in attributes.items():
                assert not (value and "//example.com" in value and name != "href"), (path, tag, name)


def test_data_for_scripts_stays_in_its_attribute(tmp_path: Path) -> None:
    """A title in the JSON for the graph has no character that a parser could see, and is whole once it is parsed."""
    root = samples.hostile(tmp_path / "x")
    ((_, page),) = pages_of(client_of(make_board(tmp_path / "cache", root)), "/p/x/graph")
    written = page.partition("data-json='")[2].partition("'")[0]
    assert "<" not in written
    data = next(attributes["data-json"] for _, attributes in Elements(page).found if "data-json" in attributes)
    assert json.loads(str(data))["nodes"][0]["title"] == samples.HOSTILE


def test_htmx_gets_the_main_part_alone(typical: Board) -> None:
    """A request of htmx is answered with a title and the main element: no script is sent again."""
    answer = client_of(typical).get("/p/x/", headers={"hx-request": "true"})
    tags = [tag for tag, _ in Elements(answer.text).found]
    assert tags[:2] == ["title", "main"]
    assert "script" not in tags


def test_an_image_is_sent_so_that_it_can_do_nothing(tmp_path: Path) -> None:
    """An SVG has its type, a policy with a sandbox and no script, and nosniff."""
    root = samples.hostile(tmp_path / "x")
    answer = client_of(make_board(tmp_path / "cache", root)).get("/p/x/raw/x.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    policy = answer.headers["content-security-policy"]
    assert policy.endswith("; sandbox")
    assert "script-src" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_links_and_large_files_are_refused(typical: Board, tmp_path: Path) -> None:
    """An artifact that is a link is neither listed nor shown, and one of more than 8 MiB is not read."""
    folder = tmp_path / "x/.nexus/state/artifacts"
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "there").symlink_to(tmp_path)
    (folder / "large.txt").write_bytes(b"x" * ((8 << 20) + 1))
    client = client_of(typical)
    ((_, page),) = pages_of(client, "/p/x/files")
    assert "link.txt" not in page
    assert "there/secret.txt" not in page
    for path in ("link.txt", "there/secret.txt"):
        answer = client.get(f"/p/x/artifacts/{path}")
        assert (
            answer.status_code,
            "a symbolic link" in answer.text or "not a folder" in answer.text,
            "secret</" in answer.text,
        ) == (404, True, False)
    answer = client.get("/p/x/artifacts/large.txt")
    assert "larger than" in answer.text


@pytest.mark.parametrize(
    ("name", "words"),
    [("state/tasks.json", "tasks.json"), ("state/plan.json", "plan.json"), ("history.json", "history.json")],
)
def test_a_corrupt_file_is_a_banner_and_the_rest_works(typical: Board, tmp_path: Path, name: str, words: str) -> None:
    """Doctor's words about the file are on the page, none of its content is, and all pages can be shown."""
    Project(tmp_path / "x").put(name, b'{"secret')
    found = dict(pages_of(client_of(typical), *ALL))
    banner = found["/p/x/"].partition('class="banner"')[2].partition("</section>")[0]
    assert words in banner
    assert "nexus-mcp doctor" in banner
    assert not any("secret" in page for page in found.values())
    shown = "Links survive a restart" if "plan" not in name else "Move old links"
    assert shown in found["/p/x/"]


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no names that are not UTF-8")
def test_a_corrupt_history_leaves_what_the_plan_has(typical: Board, tmp_path: Path) -> None:
    """The decisions and the titles of the open plan stay, beside a banner about the file of the others."""
    Project(tmp_path / "x").put("history.json", "x")
    client = client_of(typical)
    decisions, changes = (client.get(f"/p/x/{name}").text for name in ("decisions", "changes"))
    assert "One JSON file beside the code" in decisions
    assert "Links survive a restart" in changes
    for page in (decisions, changes):
        assert ".nexus/history.json" in page
        assert 'class="banner' in page


def test_a_note_whose_name_is_not_utf8_is_left_out(typical: Board, tmp_path: Path) -> None:
    """The pages that list notes are shown without it."""
    (tmp_path / "x/.nexus/memory" / os.fsdecode(b"b\xff.md")).write_text("x")
    for _, page in pages_of(client_of(typical), "/p/x/", "/p/x/files"):
        assert "empirical-lock-order.md" in page


def test_the_reason_and_the_next_step_are_two_sentences(typical: Board, tmp_path: Path) -> None:
    """A file that cannot be read gets a page with both."""
    Project(tmp_path / "x").put("memory/bad.md", b"\xff")
    answer = client_of(typical).get("/p/x/notes/memory/bad.md")
    assert "is not UTF-8. Look at" in answer.text


def test_malformed_lines_of_the_log_are_a_banner(typical: Board, tmp_path: Path) -> None:
    """The page of changes shows doctor's words about the log, and does not say that it is empty."""
    Project(tmp_path / "x").put("state/oplog.jsonl", b"x\ny\n")
    ((_, page),) = pages_of(client_of(typical), "/p/x/changes")
    assert "(line 1) has 2 malformed lines" in page.partition('class="banner"')[2].partition("</section>")[0]
    assert "No change is recorded" not in page


def test_an_interrupted_change_is_a_banner(typical: Board, tmp_path: Path) -> None:
    """A journal that no call completes is reported after a short wait, stays as it is, and the files are shown."""
    place = Project(tmp_path / "x").put(f"state/{journal.NAME}", b"{")
    ((_, page),) = pages_of(client_of(typical), "/p/x/")
    assert "survey.md" in page
    assert journal.NAME in page.partition('class="banner"')[2].partition("</section>")[0]
    assert place.read_bytes() == b"{"


def test_an_interrupted_change_is_waited_for_once(
    typical: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first page that waited in vain no page waits for that change; another change is waited for."""
    slept: list[float] = []
    now = [0.0]

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    monkeypatch.setattr("nexus_mcp.board.projects.time", SimpleNamespace(sleep=sleep, monotonic=lambda: now[0]))
    client = client_of(typical)
    for content, waits in ((b"{", True), (b"{", False), (b"{}", True), (b"{}", False)):
        place = tmp_path / "x/.nexus/state" / journal.NAME
        if not place.exists() or place.read_bytes() != content:
            place.write_bytes(content)
        slept.clear()
        for path in ("/p/x/", "/p/x/graph", "/p/x/history"):
            client.get(path)
        assert bool(slept) is waits
        assert sum(slept) < 1.5


def test_a_vanished_project_is_shown_as_such(tmp_path: Path) -> None:
    """The overview names it, its page says so, and the other project works."""
    gone = samples.empty(tmp_path / "gone")
    board = make_board(tmp_path / "cache", gone, samples.typical(tmp_path / "x"))
    client = client_of(board)
    gone.rmdir()
    ((_, page),) = pages_of(client, "/")
    assert "Vanished" in page
    assert "Links survive a restart" in page
    answer = client.get("/p/gone/")
    assert (answer.status_code, "This project vanished" in answer.text) == (404, True)
    gone.mkdir()
    assert client.get("/p/gone/").status_code == 200


def test_one_project_needs_no_overview(typical: Board) -> None:
    """With one project, the first page leads to it."""
    answer = client_of(typical).get("/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/p/x/")


def test_projects_of_one_name_have_different_keys(tmp_path: Path) -> None:
    """Two folders of one name, a name without Latin letters and a repeated project get one key each."""
    roots = [str(tmp_path / name) for name in ("a/x", "b/x", "a/x", "プロジェクト")]
    (tmp_path / "cache").mkdir()
    found = open_projects([Workspace(root) for root in roots], str(tmp_path / "cache"))
    assert [project.key for project in found] == ["x", "x-2", "project"]


def test_a_list_of_projects_is_read(tmp_path: Path) -> None:
    """One path a line, relative to the file, without comments and empty lines; a bad file is said in a sentence."""
    file = tmp_path / "list"
    file.write_text(f"\ufeff# mine\n\na\n{tmp_path}/b\n", encoding="utf-8")
    assert [entry.path for entry in read(str(file))] == [str(tmp_path / "a"), str(tmp_path / "b")]
    for data in (b"", b"# none\n", b"\xff\xfe"):
        file.write_bytes(data)
        with pytest.raises(UsageError):
            read(str(file))
    with pytest.raises(UsageError, match="cannot be read"):
        read(str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("a\u202eb\u2066c", r"a\u202eb\u2066c"),
        ("👩\u200d💻 می\u200cخواهم", "👩\u200d💻 می\u200cخواهم"),
        ("a\u200db", r"a\u200db"),
        ("한글 \u00e9 日本", "한글 \u00e9 日本"),
        ("one\ntwo", r"one\ntwo"),
    ],
)
def test_unseen_characters_become_visible(stored: str, shown: str) -> None:
    """Control and bidirectional characters are escapes; the joiners of emoji and of Arabic stay."""
    assert text.visible(stored) == shown


def test_long_markdown_is_plain_and_not_kept_in_memory() -> None:
    """256 KiB are rendered; more are shown as they are. A large text would stay in memory with its HTML."""
    assert "<strong>" in text.markdown("**a** " * 40_000)
    assert "<strong>" not in text.markdown("**a** " * 50_000)
    assert text.markdown("**a** " * 4000) is not text.markdown("**a** " * 4000)
    assert text.markdown("**a**") is text.markdown("**a**")


@pytest.mark.parametrize("mark", ["- ", "> "])
def test_deep_markdown_is_shown_whole(mark: str) -> None:
    """Twelve lists or quotations in each other are formatted, and a text that is too deep for that is plain text."""
    twelve = "\n".join(f"{mark * depth}level {depth}" for depth in range(1, 13))
    assert "<pre" not in text.markdown(twelve)
    assert "level 12" in text.markdown(twelve)
    deep = "\n".join(f"{mark * depth}level {depth}" for depth in range(1, 101))
    shown = text.markdown(deep)
    assert (shown.startswith("<pre"), "level 100" in shown) == (True, True)
    for depth in range(1, 60):
        assert f"level {depth}" in text.markdown(f"{mark * depth}level {depth}")


def test_a_page_names_the_command_that_shows_it_again(typical: Board, tmp_path: Path) -> None:
    """The notice of the end has the command for the projects of the board, quoted for a shell; many are not named."""
    page = client_of(typical).get(f"/p/{next(iter(typical.projects))}/").text
    assert f"<code>nexus-mcp board {tmp_path / 'x'}</code>" in page
    roots = [tmp_path / f"a b{number}" for number in range(4)]
    for root in roots:
        root.mkdir()
    assert make_board(tmp_path / "one", roots[0]).command == f"nexus-mcp board '{roots[0]}'"
    assert make_board(tmp_path / "four", *roots).command == "nexus-mcp board"


def test_a_window_without_a_stream_asks_for_the_state(typical: Board, tmp_path: Path) -> None:
    """The answer is the word that the page has, until a file changes."""
    client, key = client_of(typical), next(iter(typical.projects))
    page = client.get(f"/p/{key}/").text
    seen = client.get(f"/changed?projects={key}&seen=x").json()["seen"]
    assert f'data-seen="{seen}"' in page
    samples.Maker(tmp_path / "x")("plan_decide", issue_id=4, decision="x")
    assert client.get(f"/changed?projects={key}").json()["seen"] != seen


def test_markdown_is_reduced_to_harmless_elements() -> None:
    """Raw HTML is text, images are links, other schemes are no links, and links say nothing about this page."""
    html = str(
        text.markdown(
            "# A\n<b onclick=x>b</b> [c](javascript:alert(1)) ![d](https://e.example/f.png) [g](https://h.example)"
        )
    )
    assert "<img" not in html
    assert "&lt;b onclick" in html
    assert 'href="javascript' not in html
    assert 'rel="noopener noreferrer nofollow"' in html
    assert '<h1 dir="auto">A</h1>' in html
