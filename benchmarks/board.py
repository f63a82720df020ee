"""Measure the board in Chromium: first paint, live updates, memory and idle processor time.

    python -m benchmarks.board [--page]

Needs what `make browser` needs. The board shows five projects, one of them with 10 000 cycles. The result goes into
benchmarks/results/board.json and the table of docs/board.md; --page writes only the table.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from benchmarks import results
from benchmarks.client import ROOT
from benchmarks.data.history import history
from tests.board.process import Board
from tests.browser import samples
from tests.browser.tools import NotHad, chromium

if TYPE_CHECKING:
    from collections.abc import Mapping

RESULT = results.FOLDER / "board.json"
PAGE = ROOT / "docs" / "board.md"
BEGIN, END = "<!-- figures -->\n", "<!-- /figures -->"
CYCLES = 10_000
LOADS, CHANGES, IDLE_S = 15, 60, 60
NAMES = ("long", "typical", "crowded", "second", "third")
NOT_RUN = 3
_LIVE = "#live-state[data-state=on]"
# Row -> (what it is, its unit, its goal).
ROWS = {
    "first_paint_cold_ms": ("First paint of a page at 10 000 cycles, right after the start", "ms", 1000),
    "first_paint_ms": ("First paint of Now at 10 000 cycles, median", "ms", 1000),
    "first_paint_history_ms": ("First paint of History at 10 000 cycles, median", "ms", 1000),
    "live_p50_ms": ("A change of another process until it is on the page, median", "ms", None),
    "live_p95_ms": ("The same, 95th percentile", "ms", 1000),
    "memory_mb": ("Memory of the process after all pages were shown", "MB", 120),
    "idle_percent": ("Processor time with five projects open for a minute", "%", 0.5),
}


def main(options: list[str]) -> int:
    """Measure, unless --page; write the result and the table."""
    if options not in ([], ["--page"]):
        print("python -m benchmarks.board [--page]", file=sys.stderr)
        return 2
    if not options:
        try:
            results.write(RESULT, measure(chromium()))
        except NotHad as fault:
            print(f"Not run: {fault}.", file=sys.stderr)
            return NOT_RUN
    measured = results.read(RESULT)
    print(table(measured))
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{table(measured)}{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 0


def table(measured: Mapping[str, Any]) -> str:
    """Return the table of docs/board.md."""
    lines = ["| | measured | goal |", "|---|---|---|"]
    for name, (what, unit, goal) in ROWS.items():
        wanted = "" if goal is None else f"under {goal:g} {unit}"
        lines.append(f"| {what} | {measured[name]:g} {unit} | {wanted} |")
    return "\n".join(lines) + "\n"


def measure(program: str) -> dict[str, Any]:
    """Return row -> figure."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        roots = _projects(Path(folder))
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        # The browser is warm, the board is not.
        browser.new_page().goto("about:blank")
        board = Board(*map(str, roots.values()), cwd=Path(folder))
        try:
            context = browser.new_context(viewport={"width": 1440, "height": 900})
            page = context.new_page()
            base = f"http://127.0.0.1:{board.port}"
            page.goto(f"{base}/#{board.token}")
            page.wait_for_url(f"{base}/")
            found: dict[str, Any] = {"first_paint_cold_ms": _paint(page, f"{base}/p/long/")}
            for name, path in (("first_paint_ms", "/p/long/"), ("first_paint_history_ms", "/p/long/history")):
                found[name] = round(statistics.median(_paint(page, base + path) for _ in range(LOADS)))
            found.update(_live(page, base, roots["second"]))
            for path in ("graph", "history?q=lock", "decisions?q=lock", "charts", "changes", "files"):
                page.goto(f"{base}/p/long/{path}")
                page.wait_for_selector(_LIVE)
            process = psutil.Process(board.process.pid)
            for name in NAMES:
                tab = context.new_page()
                tab.goto(f"{base}/p/{name}/")
                tab.wait_for_selector(_LIVE)
            found["memory_mb"] = round(process.memory_info().rss / 1e6, 1)
            found["idle_percent"] = _idle(process, page)
        finally:
            board.end()
            browser.close()
    return found


def _projects(folder: Path) -> dict[str, Path]:
    samples.long(folder / "long", history, CYCLES)
    samples.crowded(folder / "crowded")
    for name in ("typical", "second", "third"):
        samples.typical(folder / name)
    return {name: folder / name for name in NAMES}


def _paint(page: Any, url: str) -> int:
    """Return the milliseconds from the start of the navigation to the first paint with content."""
    page.goto("about:blank")
    page.goto(url)
    page.wait_for_selector(_LIVE)
    entries = "performance.getEntriesByName('first-contentful-paint').map((one) => one.startTime)"
    while not (found := page.evaluate(entries)):
        page.wait_for_timeout(20)
    return int(found[0])


def _live(page: Any, base: str, root: Path) -> dict[str, int]:
    """Return the times from the start of a change by this process to the moment at which the page has it."""
    page.goto(f"{base}/p/second/")
    page.wait_for_selector(_LIVE)
    call = samples.Maker(root)
    times = []
    for number in range(CHANGES):
        title = f"Change number {number}."
        begun = time.time()
        call("task_add", title=title, context="c")
        page.wait_for_selector(f"text={title}", state="attached")
        times.append((time.time() - begun) * 1000)
        page.wait_for_timeout(37 * (number % 9))  # at all moments between two polls
    ordered = sorted(times)
    return {"live_p50_ms": round(ordered[len(ordered) // 2]), "live_p95_ms": round(ordered[int(len(ordered) * 0.95)])}


def _idle(process: psutil.Process, page: Any) -> float:
    """Return the percent of one processor that the board uses in IDLE_S seconds without a change."""
    page.wait_for_timeout(2000)
    before, begun = process.cpu_times(), time.monotonic()
    page.wait_for_timeout(IDLE_S * 1000)
    after = process.cpu_times()
    used = after.user + after.system - before.user - before.system
    return round(100 * used / (time.monotonic() - begun), 2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
