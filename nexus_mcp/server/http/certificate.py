"""Load the certificate of a server, and refuse one that no client would accept: not valid now, or for other names."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cryptography import x509

from nexus_mcp import log
from nexus_mcp.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_SOON_DAYS = 14
_REASONS = {
    "KEY_VALUES_MISMATCH": "the key is not that of the certificate",
    "EE_KEY_TOO_SMALL": "the key is too short for OpenSSL and for clients; RSA needs 2048 bits",
    "CA_KEY_TOO_SMALL": "a key in the chain is too short for OpenSSL and for clients",
    "CA_MD_TOO_WEAK": "a signature in the chain uses an unsafe hash",
}
"""Reason of an SSLError -> text for the error message."""


def tls_context(certfile: str, keyfile: str, hosts: Sequence[str], now: datetime | None = None) -> ssl.SSLContext:
    """Return the context for TLS with a certificate. `hosts` are the names by which clients call the server. Raise
    UsageError for files that cannot be used.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certfile, keyfile, password=lambda: "")
        context.set_alpn_protocols(["http/1.1"])
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise UsageError(
            f"--certfile and --keyfile cannot be used: {_why(error)}.",
            next_step="Name the certificate with its chain, and its key without a passphrase.",
        ) from error
    with open(certfile, "rb") as file:
        try:
            certificate = x509.load_pem_x509_certificates(file.read())[0]
        except ValueError as error:  # such as a TRUSTED CERTIFICATE, which OpenSSL loads
            raise UsageError(
                f"The dates and names of the certificate {certfile!r} cannot be read.",
                next_step=f"Convert it to a plain PEM certificate: openssl x509 -in {certfile} -out plain.pem",
            ) from error
    _check_dates(certificate, certfile, now or datetime.now(UTC))
    _check_names(certificate, certfile, hosts)
    return context


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLError) and error.reason in _REASONS:
        return _REASONS[error.reason]
    if isinstance(error, (ssl.SSLError, ValueError)):
        return "they are no PEM certificate and its key"
    return str(error.strerror) if isinstance(error, OSError) else str(error)


def _check_dates(certificate: x509.Certificate, file: str, now: datetime) -> None:
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now > end:
        raise UsageError(
            f"The certificate {file!r} expired on {end:%Y-%m-%d}.", next_step="Renew it, then start again."
        )
    if now < begin:
        raise UsageError(
            f"The certificate {file!r} is not valid before {begin:%Y-%m-%d}; this machine says {now:%Y-%m-%d}.",
            next_step="Set the clock right, or name another certificate.",
        )
    if (left := (end - now).days) < _SOON_DAYS:
        log.warning(f"the certificate {file!r} ends in {left} days; renew it and start the server again")


def _check_names(certificate: x509.Certificate, file: str, hosts: Sequence[str]) -> None:
    names = _names(certificate)
    called = {host: _without_port(host) for host in hosts}
    foreign = [host for host, name in called.items() if not any(_matches(name, own) for own in names)]
    if foreign and len(foreign) == len(called):
        shown = ", ".join(names[:5]) or "no name"
        raise UsageError(
            f"The certificate {file!r} is for {shown}, not for {foreign[0]} of --allow-host.",
            next_step="Name the certificate of this server.",
        )
    for host in foreign:
        log.warning(f"clients that call {host!r} will refuse the certificate, which is for {', '.join(names[:5])}")


def _names(certificate: x509.Certificate) -> list[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return []
    addresses = found.get_values_for_type(x509.IPAddress)
    return [*found.get_values_for_type(x509.DNSName), *(str(address) for address in addresses)]


def _without_port(host: str) -> str:
    """Return the name or address in a Host header, without its port."""
    if host.startswith("["):
        text = host[1:].partition("]")[0]
        try:
            return str(ipaddress.ip_address(text))
        except ValueError:
            return text
    return host.partition(":")[0].lower()


def _matches(name: str, own: str) -> bool:
    """Return whether a certificate for `own` is valid for `name`. A star in `own` matches any first label."""
    if own.startswith("*."):
        return name.partition(".")[2] == own[2:].lower() and bool(name.partition(".")[0])
    return name == own.lower()
