"""The connection of open pages to the board, in Chromium: live changes, pauses, the end, and many windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.browser import samples
from tests.browser.conftest import MOBILE, Tab, is_wide

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.board.process import Board

SEEN_AGAIN = "document.dispatchEvent(new Event('visibilitychange'))"
"""What a browser does when a window that was hidden is seen again."""


def test_a_change_by_another_process_is_shown_and_marked(
    browser: Any, start: Callable[..., Board], tmp_path: Path
) -> None:
    """A decision and a task of another process appear in two tabs, without a reload, and are marked and announced."""
    root = samples.typical(tmp_path / "x")
    tab = Tab(browser, start(root)).sign_in()
    second = tab.open()
    tab.go("/p/x/", second)
    page = tab.go("/p/x/")
    page.evaluate("window.sameDocument = true")
    page.locator("#task-3 details").evaluate("one => { one.open = true; }")
    page.fill("#task-text", "links")
    call = samples.Maker(root)
    call("plan_decide", issue_id=4, decision="None: memory is enough.")
    page.wait_for_selector(".question.is-changed >> text=None: memory is enough.")
    second.bring_to_front()
    second.wait_for_selector("text=None: memory is enough.")
    page.bring_to_front()
    assert "4 of 4 decided" in page.inner_text("#content")
    page.wait_for_selector("#announce >> text=Question 4", state="attached")
    call("task_update", id=3, status="in_progress")
    page.wait_for_selector("[aria-label='In progress'] #task-3", state="attached")
    assert page.evaluate("window.sameDocument")
    assert page.input_value("#task-text") == "links"
    assert page.locator("#task-3 details").evaluate("one => one.open")
    tab.picture("live")
    tab.check()
    tab.context.close()


def test_a_page_that_slept_catches_up(browser: Any, start: Callable[..., Board], tmp_path: Path) -> None:
    """After the connection was gone for a while, the page connects by itself and shows what it missed."""
    root = samples.typical(tmp_path / "x")
    tab = Tab(browser, start(root)).sign_in()
    page = tab.go("/p/x/")
    tab.context.set_offline(True)
    # A stream that is open stays so; the page begins a new one when it is seen again.
    page.evaluate(SEEN_AGAIN)
    page.wait_for_selector("#live-state[data-state=off]")
    samples.Maker(root)("plan_decide", issue_id=4, decision="Decided while it slept")
    tab.context.set_offline(False)
    page.wait_for_selector("text=Decided while it slept")
    page.wait_for_selector("#live-state[data-state=on]")
    tab.context.close()


def test_the_end_of_the_board_is_shown(browser: Any, start: Callable[..., Board], projects: Path) -> None:
    """When the program ends, the page tries again, then says that the board has ended and which command starts it. It
    keeps what it shows.
    """
    board = start(projects / "typical")
    tab = Tab(browser, board).sign_in()
    page = tab.go("/p/typical/")
    assert not page.is_visible("#ended")
    board.process.terminate()
    page.wait_for_selector("#live-state[data-state=off] >> text=Reconnecting")
    page.wait_for_selector("#live-state >> text=Ended")
    assert f"nexus-mcp board {projects / 'typical'}" in page.inner_text("#ended")
    assert "Links survive a restart" in page.inner_text("h1")
    tab.picture("ended")
    page.set_viewport_size({"width": MOBILE[0], "height": MOBILE[1]})
    assert not is_wide(page)
    tab.picture("ended-mobile")
    tab.context.close()


def test_another_board_at_the_address_is_said(browser: Any, start: Callable[..., Board], projects: Path) -> None:
    """A page whose cookie is not valid any more says at once that its board has ended, and goes on with a valid one."""
    tab = Tab(browser, start(projects / "typical")).sign_in()
    page = tab.go("/p/typical/")
    cookies = tab.context.cookies()
    tab.context.clear_cookies()
    page.evaluate(SEEN_AGAIN)
    page.wait_for_selector("#replaced >> text=another one has its address")
    assert not page.is_visible("#ended")
    tab.context.add_cookies(cookies)
    page.wait_for_selector("#live-state[data-state=on]")
    assert not page.is_visible("#replaced")
    tab.context.close()


def test_more_windows_than_connections_are_all_live(browser: Any, start: Callable[..., Board], tmp_path: Path) -> None:
    """Nine windows that are seen at the same time: each is live and shows a change, five of them by a stream. A window
    without one gets the stream of a window that is closed.
    """
    root = samples.typical(tmp_path / "x")
    tab = Tab(browser, start(root)).sign_in()
    pages = [tab.go("/p/x/"), *(tab.go("/p/x/", tab.open()) for _ in range(8))]
    samples.Maker(root)("plan_decide", issue_id=4, decision="Shown in each window")
    for page in pages:
        page.wait_for_selector("text=Shown in each window")
    streams = "navigator.locks.query().then((all) => all.held.map((one) => one.name).sort())"
    names = [f"nexus-stream-{number}" for number in range(5)]
    assert pages[8].evaluate(streams) == names
    for page in pages[:7]:
        page.close()
    page = pages[8]
    # wait_for_function does not await a promise: any promise is true for it.
    page.evaluate(f"setInterval(() => {streams}.then((names) => {{ window.streams = names.length }}), 50)")
    page.wait_for_function("() => window.streams === 2")
    asked = len(tab.requests)
    page.wait_for_timeout(2000)
    assert [url for url in tab.requests[asked:] if "/changed" in url] == []
    tab.check()
    tab.context.close()


def test_tabs_opened_in_the_background_keep_no_connection(tab: Tab) -> None:
    """More tabs than a browser has connections to one server: each is live once it is looked at."""
    hidden = "Object.defineProperty(document, 'hidden', { get: () => !window.looked, configurable: true })"
    pages = []
    for _ in range(8):
        page = tab.open()
        page.add_init_script(hidden)
        page.goto(f"{tab.base}/p/typical/", wait_until="load")
        pages.append(page)
    assert {page.inner_text("#live-state") for page in pages} == {"Connecting"}
    pages[-1].evaluate("window.looked = true; document.dispatchEvent(new Event('visibilitychange'))")
    pages[-1].wait_for_selector("#live-state[data-state=on]")
