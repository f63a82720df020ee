"""JSON of a target is read in time proportional to its length, whatever its content."""

from __future__ import annotations

import json

import pytest

from nexus_mcp.conformance import document
from nexus_mcp.conformance.document import Members, Unparsable, parse, parse_file


class Name(str):
    """A text that counts how often it is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)


def test_repeated_keys_are_reported_once_each() -> None:
    """The repeated keys of an object are reported in their order, each once."""
    value = parse('{"c": 1, "a": 1, "b": 1, "a": 2, "c": 2, "c": 3}')
    assert (value, value.duplicates) == ({"a": 2, "b": 1, "c": 3}, ("c", "a"))


def test_repeated_field_is_found_in_linear_time() -> None:
    """An object of many names, one of them twice, is read without comparing each name with all the others."""
    names = [Name(f"k{number}") for number in range(1000)]
    Name.compared = 0
    members = document._members([(name, 1) for name in [*names, Name("k7")]])
    assert isinstance(members, Members)
    assert (members.duplicates, Name.compared < 10_000) == (("k7",), True)


@pytest.mark.parametrize("rest", [", NaN]", ', "' + '\\"' * 500_000], ids=["a word", "a text without an end"])
def test_number_of_too_many_digits_is_reported_at_its_beginning(rest: str) -> None:
    """A number with too many digits is reported at its beginning, and the text after it is not searched."""
    with pytest.raises(Unparsable, match=r"^line 1, column 1: Exceeds the limit \(4300 digits\)"):
        parse("[" + "1" * 5000 + rest)


def test_repeated_name_in_a_large_file_is_a_fault() -> None:
    """A file of many names, one of them twice, is not JSON by that name."""
    text = json.dumps(dict.fromkeys(map(str, range(200_000))))
    with pytest.raises(Unparsable, match=r'^duplicate key in an object: "7"$'):
        parse_file("a.json", f'{text[:-1]}, "7": 1}}')
