"""Certificates for tests, signed by themselves."""

from __future__ import annotations

import datetime
import ipaddress
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec as curves

if TYPE_CHECKING:
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric import rsa

    Key = curves.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def certificate(folder: Path, name: str, days: int, *hosts: str, key: Key | None = None) -> tuple[str, str]:
    """Write a certificate for 127.0.0.1 and the hosts that ends in so many days and began 30 days and an hour before
    that, signed by itself. Return the paths of it and its key, which is a new one on a curve without `key`.
    """
    key = key or curves.generate_private_key(curves.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), *(x509.DNSName(host) for host in hosts)]
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(end - datetime.timedelta(days=30, hours=1))
        .not_valid_after(end)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = (folder / f"{name}.pem", folder / f"{name}.key")
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    return str(files[0]), str(files[1])
