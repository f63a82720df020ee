"""The commands on the pages that the tests cannot run, each with its reason.

A row holds for each command line that begins with its text. The `nexus-mcp ...` part of such a line is parsed.
"""

from __future__ import annotations

SUITE = "judges a server for seconds or minutes: tests/conformance and make conformance run the suite"
CLIENT = "is a command of the client, which comes from npm: make e2e installs and runs it"
MAKE = "is a target of this project: tests/test_docs.py looks it up in the Makefile, .ci/run runs it"
EXAMPLE = "is a line about a new server: tests/examples writes it, make examples builds and judges it"
INSTALL = "downloads packages: .ci/check-wheel and .ci/check-tools install into an empty environment"
SERVICE = "changes the machine as root: tests/deploy/test_unit.py runs the unit under a real systemd"
SERVES = "serves until Ctrl-C: tests/server/http starts it"

NOT_RUN = {
    "make ": MAKE,
    ".venv/bin/python -m pytest ": "runs tests of this project: test_test_paths_on_the_pages_exist finds their files",
    ".venv/bin/nexus-mcp conformance run ": SUITE,
    "claude": CLIENT,
    "codex ": CLIENT,
    "~/.local/share/nexus-mcp/bin/python -m pip install .": INSTALL,
    "~/.local/share/nexus-mcp/bin/python -m pip wheel ": INSTALL,
    "python3 -m venv ~/.local/share/nexus-mcp": INSTALL,
    "ln -s ~/.local/share/nexus-mcp/bin/nexus-mcp ~/.local/bin/": INSTALL,
    "pip install 'nexus-mcp[graph]'": INSTALL,
    "nexus-mcp conformance new": EXAMPLE,
    "git init -b main": EXAMPLE,
    "git add .": EXAMPLE,
    'git commit -m "Begin a Nexus server"': EXAMPLE,
    "git remote add origin https://github.com/YOU/my-server.git": EXAMPLE,
    "git push -u origin main": EXAMPLE,
    "podman ": "needs a container engine: tests/examples holds the Containerfile against the checkout",
    "chgrp -R team PROJECT": "needs a group called team",
    "nexus-mcp conformance run": SUITE,
    "nexus-mcp conformance compare": SUITE,
    "nexus-mcp board": "serves until Ctrl-C: tests/board starts and exports it, make browser opens it",
    "nexus-mcp serve --http": SERVES,
    "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 nexus-mcp serve --http": SERVES,
    "curl -H ": "asks a server that runs: tests/server/http asks it",
    'pip install "nexus-mcp[otel]"': INSTALL,
    "useradd --system ": SERVICE,
    "install -d -o nexus ": SERVICE,
    "install -D -m 644 projects.txt /etc/": SERVICE,
    "install -m 644 deploy/": SERVICE,
    "runuser -u nexus ": SERVICE,
    "systemctl enable ": SERVICE,
    "nexus-mcp run": "starts agents of a harness, or needs one: tests/run plays whole runs",
    "nexus-mcp status --watch": "needs a terminal: tests/cli/test_status.py runs it on one",
    "pytest ": f"{SUITE}, and tests/conformance runs the plug-in",
}
"""Beginning of a command line → why it is not run."""

EXIT_CODES = {
    "nexus-mcp history repair --dry-run": (1, "the file needs the repair, and is not changed"),
    "nexus-mcp conformance coverage --fixtures my-fixtures": (1, "one fixture leaves most fields unchecked"),
}
"""Command line → its exit code on the page, if that is not 0, and what the code says."""

OWN_TESTS = {
    "docs/lifecycle.md": "tests/lifecycle/test_lifecycle_page.py",
    "docs/tags.md": "tests/tags/test_tags_page.py",
    "docs/capabilities.md": "tests/briefing/test_pages.py",
    "docs/resume.md": "tests/briefing/test_pages.py",
}
"""Page → the test that runs its blocks with output, in order, and compares what they print."""
