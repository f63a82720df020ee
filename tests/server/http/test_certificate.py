"""Certificates with which the server does not start, because no client would accept them."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from nexus_mcp.errors import UsageError
from nexus_mcp.server.http.certificate import tls_context
from tests.server.http.certificates import certificate

REFUSED = {
    "expired": (-1, "nexus.example.org", "expired on"),
    "not yet valid": (60, "nexus.example.org", "is not valid before"),
    "for another name": (20, "other.example.org", "is for other.example.org, 127.0.0.1, not for nexus"),
    "for another level": (20, "*.nexus.example.org", "not for nexus.example.org:8750 of --allow-host"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_certificate_that_no_client_accepts_is_refused(tmp_path: Path, what: str) -> None:
    """The error names the file, and what is wrong with it."""
    days, host, why = REFUSED[what]
    files = certificate(tmp_path, "server", days, host)
    with pytest.raises(UsageError) as caught:
        tls_context(*files, ["nexus.example.org:8750"])
    assert files[0] in str(caught.value)
    assert why in str(caught.value)


def test_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    """The error says that the certificate and the key do not match."""
    files = certificate(tmp_path, "one", 20), certificate(tmp_path, "two", 20)
    with pytest.raises(UsageError, match="the key is not that of the certificate"):
        tls_context(files[0][0], files[1][1], [])


def test_certificate_in_the_trusted_form_of_openssl_is_refused(tmp_path: Path) -> None:
    """OpenSSL loads this form, but its dates and names would not be checked; the error names the way out."""
    file, key = certificate(tmp_path, "server", 20, "nexus.example.org")
    plain = Path(file).read_text()
    Path(file).write_text(plain.replace(" CERTIFICATE", " TRUSTED CERTIFICATE"))
    with pytest.raises(UsageError, match="openssl x509 -in"):
        tls_context(file, key, ["nexus.example.org"])


def test_short_key_is_named(tmp_path: Path) -> None:
    """OpenSSL refuses an RSA key of 1024 bits; the error does not blame the file."""
    files = certificate(tmp_path, "server", 20, key=rsa.generate_private_key(65537, 1024))
    with pytest.raises(UsageError, match="the key is too short"):
        tls_context(*files, [])


@pytest.mark.parametrize(
    "host", ["nexus.example.org", "NEXUS.example.org:8750", "a.wild.example", "127.0.0.1:8750", "127.0.0.1"]
)
def test_right_certificate_is_accepted(tmp_path: Path, host: str) -> None:
    """Names, stars for one label, and addresses are compared without the port."""
    tls_context(*certificate(tmp_path, "server", 20, "nexus.example.org", "*.wild.example"), [host])


def test_certificate_that_fits_one_of_the_names_is_accepted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A log line warns of each other name, and of a certificate that expires soon."""
    files = certificate(tmp_path, "server", 3, "a.example")
    tls_context(*files, ["a.example", "b.example"])
    err = capfd.readouterr().err
    assert "clients that call 'b.example' will refuse the certificate" in err
    assert "ends in 2 days" in err
