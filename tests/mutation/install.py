"""Replace a module of the package by a changed one, before the package is imported."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

# The packages that may import from a mutated module. The other packages do not.
_ABOVE = ("briefing", "catalog", "knowledge", "lifecycle", "merging", "server", "state", "store", "tags", "tools")


def install(module: str, source: str) -> None:
    """Replace `nexus_mcp/<module>.py` by `source`, and forget imported modules. Call it in a process of its own."""
    for name in list(sys.modules):
        parts = name.split(".")
        if parts[0] == "nexus_mcp" and len(parts) > 1 and parts[1] in _ABOVE:
            del sys.modules[name]
    sys.meta_path.insert(0, _Finder(f"nexus_mcp.{module.replace('/', '.')}", source))


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    def __init__(self, module: str, source: str) -> None:
        self._module = module
        self._source = source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(fullname, self) if fullname == self._module else None

    def get_source(self, fullname: str) -> str:
        return self._source

    def is_package(self, fullname: str) -> bool:
        return False
