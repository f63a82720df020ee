"""How long a harness waits for our tools, and what a mounted server costs: the part `start` of `python -m benchmarks`.

python -m benchmarks.start [--rounds N]
"""

from __future__ import annotations

import sys

from benchmarks.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["--rows", "start", *sys.argv[1:]]))
