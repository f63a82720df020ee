"""What a person does with the board, in Chromium."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser import samples
from tests.browser.conftest import AXE, DESKTOP, MOBILE, Tab, is_wide

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.board.process import Board

PAGES = {
    "overview": "/",
    "now": "/p/typical/",
    "now-empty": "/p/empty/",
    "now-crowded": "/p/crowded/",
    "now-hostile": "/p/hostile/",
    "graph": "/p/typical/graph",
    "graph-crowded": "/p/crowded/graph",
    "history": "/p/long/history",
    "cycle": "/p/typical/history/2",
    "compare": "/p/typical/compare?a=1&b=2",
    "decisions": "/p/typical/decisions",
    "charts": "/p/long/charts",
    "charts-typical": "/p/typical/charts",
    "changes": "/p/typical/changes",
    "state": "/p/typical/changes/30",
    "files": "/p/typical/files",
    "artifact": "/p/typical/artifacts/survey.md",
    "image": "/p/typical/artifacts/shot.png",
    "note": "/p/typical/notes/memory/empirical-lock-order.md",
}


@pytest.mark.parametrize("look", ["light", "dark", "mobile", "wide"])
def test_every_page_fits_and_has_no_serious_finding_of_axe(
    browser: Any, start: Callable[..., Board], projects: Path, look: str
) -> None:
    """Light, dark, at 360 pixels and in 4K: nothing is wider than the window, axe finds nothing serious."""
    size = {"mobile": MOBILE, "wide": (3840, 2160)}.get(look, DESKTOP)
    tab = Tab(browser, start(*sorted(projects.iterdir())), size, color_scheme="dark" if look == "dark" else "light")
    tab.sign_in()
    found = {}
    for name, path in PAGES.items():
        page = tab.go(path)
        page.wait_for_timeout(120)  # a chart draws after its box has a size
        tab.picture(f"{name}-{look}")
        assert not is_wide(page), (name, look)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        # Through the debugger's protocol: the page's own policy would refuse a script from elsewhere.
        page.evaluate(AXE)
        report = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
        serious = [one for one in report["violations"] if one["impact"] in ("serious", "critical")]
        if serious:
            found[name] = [
                (one["id"], one["nodes"][0]["html"][:200], one["nodes"][0]["failureSummary"][:300]) for one in serious
            ]
    assert found == {}
    tab.check()
    tab.context.close()


def test_the_head_is_as_wide_as_the_page(tab: Tab) -> None:
    """In 4K the head begins and ends where the page does; the head of the graph has the whole width, as the graph."""
    page = tab.page
    page.set_viewport_size({"width": 3840, "height": 2160})
    edges = "(names) => names.map((name) => document.querySelector(name).getBoundingClientRect())"
    tab.go("/p/typical/")
    head, heading, button, main = page.evaluate(edges, [".brand", "h1", "#theme", "main"])
    assert abs(head["left"] - heading["left"]) < 2
    assert head["left"] > 500
    assert button["right"] <= main["right"]
    tab.picture("head-wide")
    tab.go("/p/typical/graph")
    head, graph = page.evaluate(edges, [".brand", "#graph"])
    assert abs(head["left"] - graph["left"]) < 2


def test_deep_lists_stay_within_the_page(browser: Any, start: Callable[..., Board], tmp_path: Path) -> None:
    """Nineteen lists in each other fit into 360 pixels, and the last one is seen."""
    root = samples.typical(tmp_path / "x")
    text = "\n".join(f"{'  ' * depth}- level {depth + 1}" for depth in range(19))
    samples.Maker(root)("artifact_write", filename="deep.md", content=text)
    tab = Tab(browser, start(root), MOBILE).sign_in()
    page = tab.go("/p/x/artifacts/deep.md")
    page.locator("text=level 19").scroll_into_view_if_needed()
    assert page.is_visible("text=level 19")
    assert not is_wide(page)
    tab.picture("deep-mobile")
    page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})
    tab.picture("deep")
    tab.check()
    tab.context.close()


def test_search_as_you_type_over_ten_thousand_cycles(tab: Tab) -> None:
    """Typing filters without a submit; branch and period narrow it; the address keeps the query."""
    page = tab.go("/p/long/history")
    assert "10,000 cycles" in page.inner_text("#results")
    page.locator("[name=q]").press_sequentially("Quokkaverse", delay=20)
    page.wait_for_selector("text=5 of 10,000 cycles")
    assert page.locator(".cycles li").count() == 5
    assert page.evaluate("document.activeElement.name") == "q"
    assert "q=Quokkaverse" in page.url
    tab.picture("search")
    page.fill("[name=q]", "")
    page.select_option("[name=branch]", "main")
    page.wait_for_selector(r"#filter-result >> text=/^[56],\d{3} of 10,000/")
    page.fill("[name=since]", "2017-11-01")
    page.wait_for_selector(r"#filter-result >> text=/^\d\d of 10,000/")
    assert "branch=main" in page.url
    page.reload()
    assert page.input_value("[name=since]") == "2017-11-01"
    page.fill("[name=since]", "")
    page.fill("[name=q]", "no such words at all")
    page.wait_for_selector("text=No cycle matches")


def test_tasks_are_filtered_by_owner_and_text(tab: Tab) -> None:
    """The filter hides cards, counts the rest, and links of cards lead to cards."""
    page = tab.go("/p/crowded/")
    page.select_option("#task-owner", "tester")
    shown = page.locator(".card:visible .owner").all_inner_texts()
    assert set(shown) == {"tester"}
    page.fill("#task-text", "index")
    left = page.locator(".card:visible").count()
    assert 0 < left < len(shown)
    assert page.inner_text("#filter-result") == f"{left} of 200"


def test_the_graph_zooms_pans_and_selects(tab: Tab) -> None:
    """200 tasks with a cycle: wheel, drag, click, the side panel, the critical path, done tasks and the fit."""
    page = tab.go("/p/crowded/graph")
    assert "#195, #197, #199" in page.inner_text(".banner")
    assert page.locator(".node.in-cycle").count() == 3
    assert page.locator(".node.is-critical").count() > 3
    assert page.locator(".node.state-done").count() == 0
    where = "document.querySelector('#graph svg > g').getAttribute('transform')"
    first = page.evaluate(where)
    box = page.locator("#graph").bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 200)
    page.mouse.wheel(0, -300)
    zoomed = page.evaluate(where)
    assert zoomed != first
    page.mouse.down()
    page.mouse.move(box["x"] + 220, box["y"] + 160, steps=4)
    page.mouse.up()
    assert page.evaluate(where) != zoomed
    page.click("#graph-fit")
    page.locator(".node.in-cycle").first.click()
    assert "In a cycle" in page.inner_text("#graph-side")
    tab.picture("graph-selected")
    page.keyboard.press("Escape")
    assert not page.is_visible("#graph-side h2")
    page.check("#graph-done")
    page.wait_for_selector(".node.state-done", state="attached")
    assert page.locator(".node").count() == 200


def test_the_graph_follows_changes_and_keeps_the_view(
    browser: Any, start: Callable[..., Board], tmp_path: Path
) -> None:
    """A new task appears in the graph; selection and zoom stay."""
    root = samples.typical(tmp_path / "x")
    tab = Tab(browser, start(root)).sign_in()
    page = tab.go("/p/x/graph")
    page.locator(".node[data-id='4']").click()
    page.click("#graph-in")
    where = page.evaluate("document.querySelector('#graph svg > g').getAttribute('transform')")
    samples.Maker(root)("task_add", title="One more", context="c", deps=[4])
    page.wait_for_selector(".node[data-id='9']", state="attached")
    assert page.evaluate("document.querySelector('#graph svg > g').getAttribute('transform')") == where
    assert page.locator(".node.is-selected").get_attribute("data-id") == "4"
    tab.check()
    tab.context.close()


def test_everything_works_with_the_keyboard_alone(tab: Tab) -> None:
    """Tab and Enter reach the content, the views, a cycle and a task of the graph; / goes to the search."""
    page = tab.go("/p/typical/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    for _ in range(40):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.textContent") == "History":
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/p/typical/history")
    page.wait_for_selector("#live-state[data-state=on]")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    page.keyboard.type("browsers")
    page.wait_for_selector("text=1 of 6 cycles")
    for _ in range(16):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "cycle":
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/history/2")
    tab.go("/p/typical/graph")
    page.locator(".node[data-id='1']").focus()
    page.keyboard.press("Enter")
    assert "Write links to the file" in page.inner_text("#graph-side")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert "#1" in page.inner_text("#graph-side")
    page.keyboard.press("Escape")
    assert page.locator(".node.is-selected").count() == 0


def test_hostile_text_runs_nothing(tab: Tab) -> None:
    """On every page of the hostile project, and after the graph and the filter read it, no script of it ran."""
    for path in (
        "",
        "graph",
        "history",
        "decisions",
        "charts",
        "changes",
        "files",
        "history/1",
        "artifacts/x.md",
        "artifacts/page.html",
        "artifacts/x.svg",
        "notes/memory/note-x.md",
    ):
        page = tab.go(f"/p/hostile/{path}")
        if path == "graph":
            page.locator(".node").first.click()
            assert "<script>" in page.inner_text("#graph-side")
        assert page.evaluate("window.bad") is None, path
        assert page.locator("img[src=x]").count() == 0
    answer = page.goto(f"{tab.base}/p/hostile/raw/x.svg")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert page.evaluate("window.bad") is None
    # The sandbox of that page stopped its script, and Chromium says so.
    assert all("sandboxed" in fault or "Content Security Policy" in fault for fault in tab.faults), tab.faults
    tab.faults.clear()


def test_a_wrong_token_shows_nothing(browser: Any, start: Callable[..., Board], projects: Path) -> None:
    """A wrong or missing token leaves the entry page, which says what to do; the token does not stay in the address."""
    board = start(projects / "typical")
    tab = Tab(browser, board)
    tab.page.goto(f"{tab.base}/")
    assert "the whole address" in tab.page.inner_text("#enter-text")
    tab.picture("enter")
    tab.page.goto(f"{tab.base}/?again#{'x' * 43}")
    tab.page.wait_for_selector("text=not valid any more")
    assert "xxx" not in tab.page.url
    refused = tab.page.goto(f"{tab.base}/p/typical/")
    assert refused.status == 403
    assert "Links survive" not in tab.page.content()
    tab.sign_in()
    assert board.token not in tab.page.url
    tab.context.close()


def test_an_address_pasted_over_a_page_is_opened(browser: Any, start: Callable[..., Board], projects: Path) -> None:
    """The address differs from that of the entry page and of the overview only after the #: no page is loaded."""
    board = start(projects / "typical", projects / "empty")
    tab = Tab(browser, board)
    paste = f"location.href = '{tab.base}/#{board.token}'"
    tab.page.goto(f"{tab.base}/")
    for _ in ("the entry page", "the overview"):
        tab.page.evaluate(paste)
        tab.page.wait_for_url(f"{tab.base}/")
        tab.page.wait_for_selector("#live-state[data-state=on]")
    tab.check()
    tab.context.close()


def test_a_page_of_another_site_gets_nothing(browser: Any, start: Callable[..., Board], projects: Path) -> None:
    """With the cookie in the browser, another origin can neither read, frame nor post to the board, nor reach it by
    another name.
    """
    tab = Tab(browser, start(projects / "typical")).sign_in()
    foreign = tab.context.new_page()
    page = f"<iframe src='{tab.base}/p/typical/'></iframe><img id=i src='{tab.base}/p/typical/raw/shot.png'>"
    foreign.route("http://evil.example/**", lambda route: route.fulfill(body=page, content_type="text/html"))
    foreign.goto("http://evil.example/")
    for method in ("GET", "POST"):
        read = foreign.evaluate(
            "([url, method]) => fetch(url, { method, credentials: 'include' }).then((a) => a.text(), () => 'refused')",
            [f"{tab.base}/p/typical/", method],
        )
        assert read == "refused"
    assert foreign.evaluate("document.getElementById('i').naturalWidth") == 0
    assert all("Links survive" not in frame.content() for frame in foreign.frames)
    # DNS rebinding: a name of the attacker that leads to this port.
    tab.context.close()
    made = browser.browser_type.launch(
        executable_path=browser_program(), args=["--no-sandbox", "--host-resolver-rules=MAP evil.example 127.0.0.1"]
    )
    answer = made.new_page().goto(f"http://evil.example:{tab.board.port}/")
    assert answer.status == 421
    made.close()


def browser_program() -> str:
    from tests.browser.conftest import PROGRAM

    return PROGRAM


def test_a_vanished_project_is_said_and_comes_back(browser: Any, start: Callable[..., Board], tmp_path: Path) -> None:
    """The open page of a project says that it vanished, live, and shows it again when it is back."""
    root = samples.typical(tmp_path / "x")
    other = samples.empty(tmp_path / "y")
    tab = Tab(browser, start(root, other)).sign_in()
    page = tab.go("/p/x/")
    root.rename(tmp_path / "moved")
    page.wait_for_selector("text=This project vanished")
    tab.picture("vanished")
    (tmp_path / "moved").rename(root)
    page.wait_for_selector("h1 >> text=Links survive a restart")
    shutil.rmtree(other)
    page = tab.go("/")
    assert "Vanished" in page.inner_text(".projects")
    tab.context.close()


def test_corrupt_state_is_a_banner_that_goes_when_it_is_mended(
    browser: Any, start: Callable[..., Board], tmp_path: Path
) -> None:
    """The banner comes live with doctor's words, the plan stays, and the banner goes with the fault."""
    root = samples.typical(tmp_path / "x")
    file = root / ".nexus/state/tasks.json"
    good = file.read_bytes()
    tab = Tab(browser, start(root)).sign_in()
    page = tab.go("/p/x/")
    file.write_bytes(good[:100])
    page.wait_for_selector(".banner >> text=tasks.json")
    assert "Links survive a restart" in page.inner_text("h1")
    tab.picture("corrupt")
    file.write_bytes(good)
    page.wait_for_selector(".banner", state="detached")
    tab.check()
    tab.context.close()


def test_the_colours_follow_the_system_and_the_button(
    browser: Any, start: Callable[..., Board], projects: Path
) -> None:
    """Dark where the system is dark; the button changes it, and the choice stays."""
    tab = Tab(browser, start(projects / "typical"), color_scheme="dark").sign_in()
    page = tab.go("/p/typical/charts")
    colour = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(colour)
    assert int(re.findall(r"\d+", dark)[0]) < 60
    page.click("#theme")
    light = page.evaluate(colour)
    assert int(re.findall(r"\d+", light)[0]) > 200
    page.reload()
    assert page.evaluate(colour) == light
    tab.check()
    tab.context.close()


def test_scripts_in_of_korean_arabic_and_emoji_titles(tab: Tab) -> None:
    """A Korean title stays whole in its card, and an Arabic one runs from right to left."""
    page = tab.go("/p/typical/")
    assert page.locator("#task-7 .card-title").inner_text() == "링크 이름에 한글 허용 😀"
    title = page.locator("#task-8 .card-title")
    assert title.evaluate("one => getComputedStyle(one).direction") == "rtl"


def test_the_export_works_without_a_server(browser: Any, projects: Path, tmp_path: Path) -> None:
    """The files open from disk: graph, charts and the filters work, and nothing is loaded from elsewhere."""
    from tests.cli.support import nexus

    ran = nexus("board", "--export", str(tmp_path / "out"), str(projects / "typical"), str(projects / "hostile"))
    assert ran.code == 0, ran.err
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith("file:") else faults.append(request.url))
    page.goto((tmp_path / "out/index.html").as_uri())
    page.click("text=typical")
    assert page.inner_text("h1") == "Links survive a restart"
    page.click("nav >> text=Graph")
    page.wait_for_selector(".node")
    assert page.locator(".node").count() == 8
    page.click("nav >> text=Charts")
    page.wait_for_selector(".chart canvas")
    page.click("nav >> text=History")
    page.fill("[name=q]", "browsers")
    assert page.locator(".cycles li:visible").count() == 1
    page.goto((tmp_path / "out/hostile/index.html").as_uri())
    assert page.evaluate("window.bad") is None
    assert faults == []
    context.close()
