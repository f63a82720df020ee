"""Fixtures of the tests of what a server answers beside the calls of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.server.asking import Asker

if TYPE_CHECKING:
    from nexus_mcp.server.app import App


@pytest.fixture
def ask(app: App) -> Asker:
    return Asker(app)
