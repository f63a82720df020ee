"""Suite: servers over HTTP under kills, cut connections and attacks, with clients that repeat their calls."""

from __future__ import annotations

from collections.abc import Sequence

from tests.reliability.suite import Json, Piece, Suite, Tally
from tests.reliability.suites.http.attacks import attack
from tests.reliability.suites.http.storm import KILLS, storm

_KINDS = {"storm": storm, "attack": attack}


def plan(seed: int, quick: bool) -> Sequence[Json]:
    """Return the pieces."""
    if quick:
        return [
            _storm(12, 8, projects=2, tokens=3, every=(8, 24)),
            _attack("malformed", 400, head_s=0.5, body_s=0.5),
            _attack("slow", 20, head_s=0.5, body_s=0.5),
            _attack("share", 35, requests=30, body_s=10.0),
            _attack("streams", 40),
        ]
    return [
        *(_storm(200, 5, projects=5, tokens=20, every=(30, 90)) for _ in range(4)),
        _storm(200, 2, projects=5, tokens=20, every=(60, 120), program=True),
        _attack("malformed", 10_000, head_s=1.0, body_s=1.0),
        _attack("slow", 1000, head_s=10.0, body_s=30.0),
        _attack("share", 1400, requests=1500),
        _attack("streams", 1000),
    ]


def work(piece: Piece) -> Tally:
    """Run one piece."""
    return _KINDS[piece.item["kind"]](piece)


def _attack(attack: str, number: int, **limits: float) -> Json:
    return {"kind": "attack", "attack": attack, "number": number, "limits": limits}


def _storm(clients: int, calls: int, **more: Json) -> Json:
    return {"kind": "storm", "clients": clients, "calls": calls, "program": False, **more}


SUITE = Suite(
    name="http",
    title="servers over HTTP: kills, cut connections, retries with keys, attacks",
    goal=(KILLS, 25),
    plan=plan,
    work=work,
    mutants=(
        "keys-forgotten",
        "keys-in-memory",
        "keys-apart",
        "keys-believed",
        "keys-of-anyone",
        "tokens-logged",
        "host-presumed",
        "no-deadlines",
        "no-share",
    ),
    seconds=1200.0,
    processes=1,
)
