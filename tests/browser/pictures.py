"""Write the pictures of the board for the README: `python -m tests.browser.pictures`. They show samples.py."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.board.process import Board
from tests.browser import samples
from tests.browser.tools import ROOT, NotHad, chromium

FOLDER = ROOT / "docs" / "pictures"
SIZE = {"width": 1280, "height": 800}
# Name -> its path, and whether it is dark.
PICTURES = {
    "board-now": ("/p/bookmarks/", False),
    "board-graph": ("/p/migration/graph", True),
    "board-history": ("/p/bookmarks/history", False),
}
TOPICS = (
    *(
        "Read the settings from one file",
        "Name tags in the address",
        "Keep a backup of each day",
        "Show the title of a page",
    ),
    *(
        "Merge two files of bookmarks",
        "Delete without a question",
        "A command line for scripts",
        "Errors say what to do next",
    ),
)


def main() -> int:
    """Write the pictures; return 3 when a tool is missing."""
    try:
        program = chromium()
    except NotHad as fault:
        print(f"Not run: {fault}.", file=sys.stderr)
        return 3
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        base = Path(folder)
        now_ms = int(time.time() * 1000)
        _earlier(base / "bookmarks", now_ms - 90 * samples.DAY_MS)
        samples.typical(base / "bookmarks", now_ms)
        samples.crowded(base / "migration", 64)
        board = Board("bookmarks", "migration", cwd=base)
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            for name, (path, is_dark) in PICTURES.items():
                context = browser.new_context(viewport=SIZE, color_scheme="dark" if is_dark else "light")
                page = context.new_page()
                page.goto(f"http://127.0.0.1:{board.port}/#{board.token}")
                page.wait_for_selector("#live-state[data-state=on]")
                page.goto(f"http://127.0.0.1:{board.port}{path}")
                page.wait_for_selector("#live-state[data-state=on]")
                if path.endswith("graph"):
                    page.locator(".node.is-critical").nth(1).click()
                page.mouse.move(0, 0)
                page.wait_for_timeout(300)
                page.screenshot(path=str(FOLDER / f"{name}.png"))
                context.close()
        finally:
            board.end()
            browser.close()
    return 0


def _earlier(root: Path, begin_ms: int) -> None:
    """Close a cycle for each of TOPICS, one a week."""
    call = samples.Maker(root)
    for number, topic in enumerate(TOPICS):
        call.ms = begin_ms + number * 6 * samples.DAY_MS
        call("plan_start", topic=topic, issues=["How?", "Since when?"][: number % 2 + 1], research_summary="")
        call("plan_decide", issue_id=1, decision="As the tests say")
        for place in range(number % 4 + 2):
            call("task_add", title=f"Step {place + 1}", context="c")
            call("task_update", id=place + 1, status="completed")
        call("task_close")


if __name__ == "__main__":
    sys.exit(main())
