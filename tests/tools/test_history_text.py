"""history_search: the part of a cycle's text that matches a query."""

from __future__ import annotations

import pytest

from tests.support import Client, Project


def search(call: Client, project: Project, raw: str | bytes, query: str) -> int:
    """How many of the cycles in `raw`, the text between the brackets, match."""
    raw = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    project.put("history.json", b'{"cycles": [' + raw + b"]}")
    total = call("history_search", query=query)["total"]
    assert isinstance(total, int)
    return total


@pytest.mark.requirement("history_search.text", "history_search.case", "history_search.numbers")
@pytest.mark.parametrize(
    ("raw", "query", "found"),
    [
        # keys, values, structure
        ('{"branch" : "main"}', '"branch":"main"', True),
        ('{ "plan" :\r\n\t{ "status" : "decided" , "id" : 1 } }', '"status":"decided","id":1}', True),
        ('{"branch": "main"}', '"branch": "main"', False),
        ('{"a": "x  y"}', "x  y", True),
        ('{"a": "x  y"}', "x y", False),
        ('{"a": [1, 2, {"b": null}]}', '[1,2,{"b":null}]', True),
        ('{"a": true, "b": false}', '"a":true,"b":false', True),
        ('{"a": 1}', '{"a":1}', True),
        ('{"a": 1}, {"b": 2}', '{"a":1},{"b":2}', False),
        ('{"a": "cycles"}', '"cycles"', True),
        ('{"a": 1}', "cycles", False),
        # case
        ('{"a": "Storage FORMAT"}', "sTORAGE format", True),
        ('{"Plan": "x"}', "plan", True),
        ('{"a": "ÄÖÜ"}', "äöü", True),
        ('{"a": "äöü"}', "ÄÖÜ", True),
        ('{"a": "\\u00c4"}', "ä", True),
        ('{"a": "straße"}', "STRASSE", False),
        ('{"a": "STRASSE"}', "straße", False),
        ('{"a": "\u212a"}', "k", True),  # the Kelvin sign, whose lower case is ASCII
        ('{"a": "k"}', "\u212a", True),
        ('{"a": "\\u212A"}', "K", True),
        ('{"a": "\u0130x"}', "i\u0307x", True),  # capital dotted I: two characters in lower case
        ('{"a": "\u0130x"}', "ix", False),
        ('{"a": "i\u0307x"}', "\u0130X", True),
        ('{"a": "ΟΔΟΣ"}', "οδος", True),  # a final sigma
        ('{"a": "ΟΔΟΣ"}', "οδοσ", False),
        ('{"a": "ΟΔΟΣΑ"}', "οδοσ", True),
        ('{"a": "ΑΣ"}', "Σ", False),  # alone in the query it lowers to σ, at the word's end to ς
        ('{"a": "ǅ"}', "ǆ", True),
        ('{"a": "ＡＢ"}', "ａｂ", True),
        ('{"a": "𐐀"}', "𐐨", True),
        # escapes
        ('{"a": "x\\ny"}', "x\\ny", True),
        ('{"a": "x\\ny"}', "x\ny", False),
        ('{"a": "x\\u000ay"}', "x\\ny", True),
        ('{"a": "q\\"q"}', 'q\\"q', True),
        ('{"a": "q\\"q"}', 'q"q', False),
        ('{"a": "q\\u0022q"}', 'q\\"q', True),
        ('{"a": "c:\\\\d"}', "c:\\\\d", True),
        ('{"a": "c:\\\\d"}', "c:\\d", False),
        ('{"a": "x\\/y"}', "x/y", True),
        ('{"a": "x/y"}', "x\\/y", False),
        ('{"a": "\\u0041BC"}', "abc", True),
        ('{"\\u0061bc": 1}', '"abc":1', True),
        ('{"a": "\\u0001"}', "\\u0001", True),
        ('{"a": "\\u001f"}', "\\u001F", True),
        ('{"a": "\\b\\f\\t\\r"}', "\\b\\f\\t\\r", True),
        ('{"a": "\\u007f"}', "\x7f", True),
        ('{"a": "é"}', "\\u00e9", False),
        ('{"a": "\\u00e9"}', "é", True),
        ('{"a": "\\ud83d\\ude00"}', "😀", True),
        ('{"a": "😀"}', "😀", True),
        ('{"a": "\\u2028"}', "\u2028", True),
        ('{"a": "e\u0301"}', "é", False),
        # numbers, as spelled
        ('{"a": 1.0}', '"a":1.0', True),
        ('{"a": 1.0}', '"a":1}', False),
        ('{"a": 1}', "1.0", False),
        ('{"a": 1e5}', "1e5", True),
        ('{"a": 1E5}', "1e5", True),
        ('{"a": 100000}', "1e5", False),
        ('{"a": 1e5}', "100000", False),
        ('{"a": -0}', "-0", True),
        ('{"a": 1e400}', "1e400", True),
        ('{"a": 12345678901234567890123}', "12345678901234567890123", True),
        ('{"a": 0.10}', "0.10}", True),
        ('{"a": 1.5e+10}', "1.5e+10", True),
        # plain misses
        ('{"a": "storage"}', "storages", False),
        ('{"a": "b"}', "zzz", False),
    ],
)
def test_query_matches_the_compact_json(call: Client, project: Project, raw: str, query: str, found: bool) -> None:
    """The text of a cycle is its JSON without insignificant whitespace, both sides in lower case."""
    assert search(call, project, raw, query) == (1 if found else 0)


@pytest.mark.requirement("history_search.numbers")
def test_number_of_many_digits_is_found_as_text(call: Client, project: Project) -> None:
    """A number beyond the interpreter's limit is searched as text."""
    assert search(call, project, '{"a": ' + "9" * 6000 + "}", "9" * 50) == 1


@pytest.mark.requirement("history_search.text")
def test_a_match_does_not_cross_cycles(call: Client, project: Project) -> None:
    """Each cycle is searched for itself."""
    assert search(call, project, '{"a": "x"}, {"a": "y"}, {"a": "xy"}', "x") == 2


@pytest.mark.requirement("history_search.text")
def test_blanks_around_a_query_count(call: Client, project: Project) -> None:
    """A query is not trimmed."""
    project.put("history.json", {"cycles": [{"a": "one two"}, {"a": "two"}]})
    assert call("history_search", query=" two")["total"] == 1
