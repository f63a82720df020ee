"""Fixtures of the tests of resources, prompts, completion and subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.server.app_requests import Asker

if TYPE_CHECKING:
    from nexus_mcp.server.app import App


@pytest.fixture
def ask(app: App) -> Asker:
    return Asker(app)
