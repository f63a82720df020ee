"""Accepted and refused URLs of a server; refusals quote no secret."""

from __future__ import annotations

import pytest

from nexus_mcp.errors import UsageError
from nexus_mcp.remote.address import check_variable, is_loopback, parse

GOOD = {
    "http://127.0.0.1:8750/mcp": ("http://127.0.0.1:8750/mcp", "/hook"),
    "HTTP://LocalHost:8750/p/shop/mcp": ("http://localhost:8750/p/shop/mcp", "/p/shop/hook"),
    "http://[::1]:8750/mcp": ("http://[::1]:8750/mcp", "/hook"),
    "https://nexus.example.org/p/shop/mcp": ("https://nexus.example.org/p/shop/mcp", "/p/shop/hook"),
    "https://nexus.example.org:443/mcp": ("https://nexus.example.org/mcp", "/hook"),
    "https://nexus.example.org:8443/tools/mcp": ("https://nexus.example.org:8443/tools/mcp", "/tools/hook"),
}
BAD = {
    "nexus.example.org/mcp": "begins with https://",
    "ftp://nexus.example.org/mcp": "begins with https://",
    "https://user:SECRET@nexus.example.org/mcp": "user name or a password",
    "https://nexus.example.org/mcp?token=SECRET": "query",
    "https://nexus.example.org/mcp#SECRET": "query",
    "https://nexus.example.org/": "ends with /mcp",
    "https://nexus.example.org": "ends with /mcp",
    "https:///mcp": "host name",
    "https://nexus.example.org:0/mcp": "port",
    "https://nexus.example.org:99999/mcp": "port",
    "https://nexus.example.org:x/mcp": "port",
    "https://[::1/mcp": "host name",
    "https://[::1]evil.example/mcp": "host name",
    "https://a b/mcp": "host name",
    "https://nexus.example.org/a b/mcp": "path",
    "https://nexus.example.org/${HOME}/mcp": "path",
    "https://nexus.example.org/p/../mcp": "path",
    "https://nexus.example.org//evil/mcp": "path",
    "https://nexus.example.org/\r\nX: y/mcp": "path",
    "https://evil.example\\@nexus.example.org/mcp": "user name or a password",
    "http://nexus.example.org/mcp": "clear text",
    "http://127.0.0.1.evil.example/mcp": "clear text",
    "http://localhost.evil.example/mcp": "clear text",
    "http://0.0.0.0/mcp": "clear text",
    "http://10.0.0.1/mcp": "clear text",
}


@pytest.mark.parametrize("text", GOOD)
def test_url_has_one_spelling(text: str) -> None:
    """Scheme and host are in lower case, and the usual port is left out; hooks go to the path beside /mcp."""
    found = parse(text, "--url")
    assert (found.text, found.hook_path) == GOOD[text]
    assert parse(found.text, "--url").text == found.text


@pytest.mark.parametrize("text", BAD)
def test_wrong_url_is_refused_without_its_secrets(text: str) -> None:
    """The refusal names the option and the fault, and does not quote the URL."""
    with pytest.raises(UsageError) as caught:
        parse(text, "--url")
    assert BAD[text] in str(caught.value)
    assert str(caught.value).startswith("--url")
    assert "SECRET" not in str(caught.value)


def test_plain_http_needs_allow_http() -> None:
    """An http:// URL of another machine is accepted only if the user allows it."""
    assert parse("http://10.0.0.1:80/mcp", "--url", is_plain_allowed=True).text == "http://10.0.0.1/mcp"


def test_loopback_is_an_address_of_this_machine_alone() -> None:
    """127.0.0.0/8, ::1 and localhost are loopback; a name that only begins like them is not."""
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(is_loopback, ("127.0.0.1.x", "127.0.0.256", "127.1", "128.0.0.1", "localhost.x", "", "::")))


@pytest.mark.parametrize("name", ["", "1A", "A B", "A-B", "$A", "nexus_" + "x" * 43])
def test_variable_has_a_plain_name(name: str) -> None:
    """A name that no shell accepts is refused, and so is a token as the name; the refusal does not quote the token."""
    with pytest.raises(UsageError) as caught:
        check_variable(name, "--token-env")
    assert "x" * 43 not in str(caught.value)
    assert check_variable("MY_TOKEN2", "--token-env") == "MY_TOKEN2"
