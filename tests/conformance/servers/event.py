"""An event command whose event type selects how it behaves."""

from __future__ import annotations

import json
import os
import signal
import sys


def main(event: str, url: str = "") -> None:
    if event == "hang":
        signal.pause()
    got = json.load(sys.stdin)
    if event == "crash":
        os.abort()
    if event == "answer":
        server = {"url": url, "token": os.environ.get("NEXUS_TOKEN", "")}
        print(json.dumps({"type": event, "got": got, "cwd": os.getcwd(), **server}, indent=2))
    if event == "text":
        print("no JSON")
    if event == "fail":
        sys.exit("first\nthe last line\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
