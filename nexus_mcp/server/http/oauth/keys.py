"""Read the keys of an issuer (JWKS), and choose the key of a token.

The algorithms that a key may verify follow from the key, never from the token.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jwt import PyJWK
from jwt.exceptions import PyJWTError

MOST = 100
"""Maximum number of keys of an issuer."""
_RSA_BITS = 2048
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_CURVES = {"P-256": ("ES256",), "P-384": ("ES384",), "P-521": ("ES512",), "Ed25519": ("EdDSA",)}
ALGORITHMS = frozenset((*_RSA, *(name for names in _CURVES.values() for name in names)))
"""Asymmetric algorithms only: with HMAC, clients could sign with the public key as the secret."""


class Key(NamedTuple):
    """A key and the algorithms that it may verify. `id` is "" for a key without one."""

    id: str
    algorithms: tuple[str, ...]
    public: Any


def keys_of(document: dict[str, Any]) -> tuple[Key, ...]:
    """Return the usable keys in a JWKS. Raise ValueError if the document is no JWKS, or has more than MOST keys."""
    rows = document.get("keys")
    if not isinstance(rows, list) or len(rows) > MOST:
        raise ValueError("has no list of keys" if not isinstance(rows, list) else f"has more than {MOST} keys")
    return tuple(key for row in rows if (key := _key(row)) is not None)


def choose(keys: tuple[Key, ...], id: str, algorithm: str) -> Key | None:
    """Return the key for a token; None if no key matches, or if several match."""
    found = [key for key in keys if algorithm in key.algorithms and (not id or key.id == id)]
    return found[0] if len(found) == 1 else None


def _key(row: Any) -> Key | None:
    """Return the key of a row; None if it cannot verify tokens, is too weak, or is a private key."""
    if not isinstance(row, dict) or "d" in row or "k" in row:
        return None
    id_, operations, kind = row.get("kid", ""), row.get("key_ops", ["verify"]), row.get("kty")
    if not isinstance(id_, str) or row.get("use", "sig") != "sig":
        return None
    if not isinstance(operations, list) or "verify" not in operations:
        return None
    curve = row.get("crv")
    algorithms: tuple[str, ...] = _RSA if kind == "RSA" else _CURVES.get(curve, ()) if isinstance(curve, str) else ()
    if "alg" in row:
        algorithms = tuple(name for name in algorithms if name == row["alg"])
    if not algorithms:
        return None
    try:
        key = PyJWK(row, algorithms[0]).key
    except (PyJWTError, ValueError, TypeError):
        return None
    if kind == "RSA" and key.key_size < _RSA_BITS:
        return None
    return Key(id_, algorithms, key)
