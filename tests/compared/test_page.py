"""docs/compared.md shows the stored result, and each of its cells has evidence."""

from __future__ import annotations

from benchmarks import results
from benchmarks.compared import page, probes
from benchmarks.compared.__main__ import MAPS, faults_of
from benchmarks.compared.maps import load
from benchmarks.peers.packages import PACKAGES

RESULT = {name: one for name, one in results.read(page.RESULT).items() if "cells" in one}


def test_page_shows_the_result() -> None:
    """`make docs` would write the same page."""
    assert page.PAGE.read_text(encoding="utf-8") == page.text()


def test_page_explains_its_columns() -> None:
    """The page names the package of each server, and says what a dash and the two columns of one server mean."""
    text = page.PAGE.read_text(encoding="utf-8")
    assert [one for one in MAPS if (known := load(one).package) and f"`{PACKAGES[known].name}`" not in text] == []
    assert "`–` means that" in text
    assert "*Without a map*" in text


def test_cut_message_is_marked() -> None:
    """A message that is cut ends in an ellipsis, and a shorter one is whole."""
    assert page.reason("failed: step 1 $.a: lacks b, has c too") == "$.a: lacks b"
    assert page.reason(f"failed: {'x' * 91}") == f"{'x' * 90}…"


def test_every_server_is_judged_in_the_installed_version() -> None:
    """The result has columns only for the maps, of the versions that `make compared` installs."""
    assert set(RESULT) <= set(MAPS)
    versions = {name: PACKAGES[known].version for name in RESULT if (known := load(name).package)}
    assert {name: RESULT[name]["version"] for name in versions} == versions


def test_every_cell_has_its_evidence() -> None:
    """Each cell has a verdict and evidence; only the column of an incomplete run lacks some cells."""
    assert [name for name, one in RESULT.items() if one["cells"].keys() != probes.ROWS.keys()] in ([], [MAPS[-1]])
    for name, one in RESULT.items():
        for row, cell in one["cells"].items():
            assert cell["verdict"] in ("yes", "partly", "no"), (name, row)
            assert cell["evidence"], (name, row)
            assert all(exchange.keys() >= {"sent", "seen"} for exchange in cell["evidence"]), (name, row)


def test_maps_say_what_the_servers_did() -> None:
    """The steps of a map contradicted no verdict, and showed each feature beyond the contract."""
    assert [fault for one in RESULT.values() for fault in faults_of(one)] == []
    assert all(one["beyond"] for name, one in RESULT.items() if name != "nexus-mcp" and "beyond" in one)


def test_rows_without_a_common_probe_are_in_every_map() -> None:
    """Each map has steps for each row that no common probe judges, and for no other row."""
    wanted = {row for row, (_, probe) in probes.ROWS.items() if probe is None}
    assert {name: set(load(name).probes) for name in MAPS} == dict.fromkeys(MAPS, wanted)


def test_wrong_map_is_named_with_what_was_not_seen() -> None:
    """A verdict that the steps did not show, or an item that was not seen, is a fault with its reason."""
    cell = {"verdict": page.WRONG, "note": "task_view: not seen: x", "evidence": []}
    item = {"what": "It flies.", "faults": ["fly: not seen: y"], "evidence": []}
    found = faults_of({"title": "other", "cells": {"plan": cell}, "beyond": [item]})
    assert found == [
        "other: A plan with its issues is kept: task_view: not seen: x",
        "other: It flies.: fly: not seen: y",
    ]
