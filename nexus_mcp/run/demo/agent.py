"""The scripted agent of `nexus-mcp run --demo`: a program that edits files in its worktree, without any model.

It takes the place of a harness, so it imports nothing of nexus-mcp. Its three mishaps are real: it ends by SIGKILL, it
forgets a test, and two of its tasks change the same lines. Like a model, it reads the files to choose its next edit.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

CODE, TESTS = Path("prices.py"), Path("test_prices.py")
VERDICT = Path(".nexus-verdict.json")
FIXED = "    return sum(prices)\n"
DISCOUNT = "\n\ndef discounted(price, percent):\n    return price * (100 - percent) / 100\n"
SHOWN = '\n\ndef shown(price):\n    return f"{price:.2f} EUR"\n'
DISCOUNT_TEST = "\n\nclass Discounted(Case):\n    def test_discount(self):\n"
DISCOUNT_TEST += "        self.assertEqual(prices.discounted(200, 25), 150)\n"
SHOWN_TEST = "\n\nclass Shown(Case):\n    def test_two_digits(self):\n"
SHOWN_TEST += '        self.assertEqual(prices.shown(3), "3.00 EUR")\n'


def main(arguments: list[str]) -> int:
    """Do one session: the work of a task, or the review of one."""
    is_resumed = "--resume" in arguments
    sys.stdin.read()  # the prompt
    say("session", f"demo-{os.getpid()}")
    if os.environ["NEXUS_AGENT"] == "tester":
        review(int(os.environ["NEXUS_TASK"]))
    else:
        work(int(os.environ["NEXUS_TASK"]), int(os.environ["NEXUS_ATTEMPT"]), is_resumed=is_resumed)
    say("done")
    return 0


def work(task: int, attempt: int, *, is_resumed: bool) -> None:
    """Do the work of a task, or correct it after a review or a conflict."""
    if "<<<<<<<" in CODE.read_text():
        for path in (CODE, TESTS):
            edit(path, both_sides(path.read_text()))
        say("text", "I kept the functions of both branches.")
    elif task == 1:
        if attempt == 1:
            edit(CODE, CODE.read_text().replace("    return 0\n", "    return sum(\n"))
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        edit(CODE, CODE.read_text().replace("    return sum(\n", FIXED).replace("    return 0\n", FIXED))
        say("text", "total() adds the prices up now.")
    elif task == 2 and is_resumed:
        edit(TESTS, TESTS.read_text() + DISCOUNT_TEST)
        say("text", "discounted() has a test now.")
    elif task == 2:
        edit(CODE, CODE.read_text() + DISCOUNT)
        say("text", "I added discounted().")
    else:
        edit(CODE, CODE.read_text() + SHOWN)
        edit(TESTS, TESTS.read_text() + SHOWN_TEST)
        say("text", "I added shown(), with a test.")


def review(task: int) -> None:
    """Judge the work of a task: reject task 2 as long as discounted() has no test."""
    missing = task == 2 and "discounted" not in TESTS.read_text()
    reasoning = "discounted() has no test: nothing shows that 25 % off 200 is 150." if missing else ""
    verdict: dict[str, Any] = {
        "version": 1,
        "approved": not missing,
        "tests": {"allPassing": True},
        "reasoning": reasoning,
    }
    VERDICT.write_text(json.dumps(verdict))
    say("text", reasoning or "I found nothing to object to.")


def edit(path: Path, text: str) -> None:
    """Write a file, and report it as a harness does."""
    print(json.dumps({"kind": "tool_start", "text": "Edit", "file": str(path), "is_edit": True}), flush=True)
    path.write_text(text)
    print(json.dumps({"kind": "tool_end"}), flush=True)


def both_sides(text: str) -> str:
    """Return the text with both sides of each conflict, one after the other."""
    lines = []
    for line in text.splitlines(keepends=True):
        if line.startswith("======="):
            lines.append("\n\n")
        elif not line.startswith(("<<<<<<<", ">>>>>>>")):
            lines.append(line)
    return "".join(lines)


def say(kind: str, text: str = "") -> None:
    """Print one event of the session."""
    print(json.dumps({"kind": kind, "text": text}), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
