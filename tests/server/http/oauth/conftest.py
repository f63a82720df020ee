"""The authorization server that the tests of a module share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.server.http.oauth.authorization import AuthorizationServer, Running, ec, rsa

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def authorization() -> Iterator[AuthorizationServer]:
    """An authorization server with a key of each kind; the elliptic one signs."""
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"  # it listens on loopback
    with Running(lambda url: AuthorizationServer(url, [rsa("rsa-1"), ec("ec-1")])) as server:
        yield server
