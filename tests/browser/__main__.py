"""`make browser`: test the board in Chromium. `python -m tests.browser [PYTEST OPTION…]`.

Exit code 0: all passed; 1: a test failed; 3: nothing was run, because a tool is missing.
"""

from __future__ import annotations

import os
import subprocess
import sys

from tests.browser.tools import PICTURES, ROOT, NotHad, axe, chromium

NOT_RUN = 3
_BOUND_S = 1800


def main(options: list[str]) -> int:
    """Get the tools, and run the tests."""
    try:
        programs = {"NEXUS_BROWSER_PROGRAM": chromium(), "NEXUS_BROWSER_AXE": str(axe())}
    except NotHad as fault:
        print(f"Not run: {fault}.", file=sys.stderr)
        return NOT_RUN
    PICTURES.mkdir(parents=True, exist_ok=True)
    named = [] if any(word.startswith("tests/") for word in options) else ["tests/browser"]
    words = [sys.executable, "-m", "pytest", "--durations=5", *named, *options]
    try:
        code = subprocess.run(words, cwd=ROOT, env={**os.environ, **programs}, check=False, timeout=_BOUND_S).returncode
    except subprocess.TimeoutExpired:
        print(f"Ended after {_BOUND_S} seconds.", file=sys.stderr)
        return 1
    print(f"Screenshots: {PICTURES}")
    return 1 if code else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
