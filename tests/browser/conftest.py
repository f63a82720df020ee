"""Fixtures of the browser tests. They are collected only by `make browser`, which names the browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.data.history import history
from tests.board.process import Board
from tests.browser import samples
from tests.browser.tools import PICTURES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROGRAM = os.environ.get("NEXUS_BROWSER_PROGRAM", "")
# Read now: a test may not open files of the user's cache.
AXE = Path(file).read_text(encoding="utf-8") if (file := os.environ.get("NEXUS_BROWSER_AXE", "")) else ""
collect_ignore_glob = [] if PROGRAM else ["test_*.py"]
DESKTOP, MOBILE = (1440, 900), (360, 760)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # The tests run in containers, where Chromium cannot make its own sandbox.
        made = playwright.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox", "--force-color-profile=srgb"])
        yield made
        made.close()


class Tab:
    """A page that is signed in to a board, and what went wrong in it."""

    def __init__(self, browser: Any, board: Board, size: tuple[int, int] = DESKTOP, **options: Any) -> None:
        self.board = board
        self.base = f"http://127.0.0.1:{board.port}"
        self.context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)
        self.faults: list[str] = []
        self.requests: list[str] = []
        self.page = self.open()

    def open(self) -> Any:
        """Open one more tab of the same browser session."""
        page = self.context.new_page()
        page.on(
            "console",
            lambda message: self.faults.append(message.text) if message.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        return page

    def sign_in(self, page: Any = None) -> Tab:
        """Open the printed address, and wait for the first page."""
        shown = page or self.page
        shown.goto(f"{self.base}/#{self.board.token}")
        shown.wait_for_selector("#live-state[data-state=on]")
        return self

    def go(self, path: str, page: Any = None) -> Any:
        """Show a page of the board, and wait until it is live."""
        shown = page or self.page
        shown.goto(self.base + path)
        shown.wait_for_selector("#live-state[data-state=on]")
        return shown

    def picture(self, name: str) -> None:
        """Keep a screenshot."""
        self.page.screenshot(path=str(PICTURES / f"{name}.png"))

    def check(self) -> None:
        """Insist that no script failed, that nothing broke the policy, and that no request left the machine."""
        assert self.faults == []
        assert [url for url in self.requests if not url.startswith((self.base, "blob:"))] == []


def is_wide(page: Any) -> bool:
    """Return whether the page is wider than its window."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


@pytest.fixture(scope="session")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The five projects, made once. A test that changes one makes its own."""
    base = tmp_path_factory.mktemp("projects")
    samples.empty(base / "empty")
    samples.typical(base / "typical")
    samples.crowded(base / "crowded")
    samples.long(base / "long", history)
    samples.hostile(base / "hostile")
    return base


@pytest.fixture
def start() -> Iterator[Callable[..., Board]]:
    """Return a function that starts a board of some folders."""
    started: list[Board] = []

    def make(*roots: Path) -> Board:
        started.append(Board(*map(str, roots), cwd=roots[0].parent))
        return started[-1]

    yield make
    for board in started:
        board.end()


@pytest.fixture
def tab(browser: Any, start: Callable[..., Board], projects: Path) -> Iterator[Tab]:
    """A tab of a board with all five projects. After the test nothing may have gone wrong in it."""
    made = Tab(browser, start(*sorted(projects.iterdir()))).sign_in()
    yield made
    made.check()
    made.context.close()
