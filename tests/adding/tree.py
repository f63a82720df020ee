"""A copy of the checkout, to which a test adds files. Its own tests run in a new process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.forked_commands import Ran, warm

ROOT = Path(__file__).resolve().parent.parent.parent
_PARTS = ("nexus_mcp", "assets", "conformance", "schemas", "docs", "tests")
_FILES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "pyproject.toml")
_SECONDS = 600
# What most of the commands import of other packages takes a second.
_PACKAGES = ("pytest", "mcp", "jsonschema", "rich.console", "yaml", "unittest.mock")


class Tree:
    """A copy of the repository at `root`. `touched` counts the files that a test changes by hand, not those that
    commands write.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.touched: set[str] = set()
        for part in _PARTS:
            shutil.copytree(ROOT / part, root / part)
        for name in _FILES:
            shutil.copyfile(ROOT / name, root / name)

    def write(self, path: str, text: str) -> None:
        """Create a file."""
        assert not (self.root / path).exists(), path
        self.touched.add(path)
        (self.root / path).write_text(text, encoding="utf-8")

    def remove(self, path: str) -> None:
        """Remove a file."""
        (self.root / path).unlink()

    def edit(self, path: str, changes: Mapping[str, str]) -> None:
        """Replace each text, which occurs once, by another."""
        self.touched.add(path)
        text = (self.root / path).read_text(encoding="utf-8")
        for old, new in changes.items():
            assert text.count(old) == 1, f"{path}: {old}"
            text = text.replace(old, new)
        (self.root / path).write_text(text, encoding="utf-8")

    def run(self, *arguments: str) -> Ran:
        """Run `python -m` with these arguments in the copy, in a process that has imported other packages alone."""
        environment = {**os.environ, "PYTHONPATH": str(self.root)}
        module, *words = arguments
        return warm(module, words, preload=_PACKAGES, cwd=self.root, env=environment, limit=_SECONDS, other_tree=True)

    def tested(self, *tests: str) -> str:
        """Return "" if these tests of the copy pass, else the output of pytest."""
        done = self.run("pytest", "-p", "no:cacheprovider", "-p", "no:randomly", *tests)
        return "" if done.code == 0 else done.out + done.err
