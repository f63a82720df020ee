"""The diagnosis of an unreadable history, and the cases that a human has to decide."""

from __future__ import annotations

import json

import pytest

from nexus_mcp.merging.diagnosis import DamagedFile, Hopeless, diagnose
from tests.merging.support import OURS, numbered

ONE, TWO = OURS([numbered(1), numbered(2)]), OURS([numbered(1), numbered(3)])
MARKED = b"<<<<<<< HEAD\n" + ONE + b"=======\n" + TWO + b">>>>>>> other\n"


def test_a_newer_version_is_not_written() -> None:
    """A conflict in a file of a version that we only read is left to a newer nexus-mcp."""
    newer = MARKED.replace(b'{\n  "cycles"', b'{\n  "schema_version": "1.0",\n  "cycles"')
    found = diagnose(newer)
    assert isinstance(found, Hopeless)
    assert "only reads" in found.reason


def test_sides_with_different_other_fields_conflict() -> None:
    """Different fields beside the cycles of two sides need a human decision."""
    found = diagnose(MARKED.replace(b'{\n  "cycles"', b'{\n  "schema_version": "0.5",\n  "cycles"', 1))
    assert isinstance(found, Hopeless)
    assert found.reason == "the two sides differ in fields other than the cycles"


@pytest.mark.parametrize("side", [0, 1])
def test_a_broken_side_is_named(side: int) -> None:
    """If a side of a conflict is damaged as well, the message names it."""
    pieces = MARKED.split(b"=======\n")
    pieces[side] = pieces[side].replace(b'"plan": null', b'"plan": nul')
    found = diagnose(b"=======\n".join(pieces))
    assert isinstance(found, Hopeless)
    assert found.reason.startswith(("our side", "their side")[side])
    assert "has git conflict markers" in found.fault


def test_messages_quote_no_content() -> None:
    """Faults and reasons name places, never the content of a file."""
    secret = json.dumps({"cycles": [{"s3cret": "s3cret"}]}).encode()
    for data in (secret[:-3], secret[:-3] + b"s3cret", secret.replace(b"{", b"{s3cret", 2), MARKED + b"s3cret"):
        found = diagnose(data)
        assert isinstance(found, DamagedFile | Hopeless)
        assert "s3cret" not in found.fault + getattr(found, "reason", "")
