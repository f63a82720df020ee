"""Lists in pages stay complete while items are added and removed between pages."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.server.faults import Fault
from nexus_mcp.server.paging import SIZE, page

if TYPE_CHECKING:
    from nexus_mcp.server.paging import Items


def part(names: list[str]) -> Items:
    def items(after: str | None) -> Iterator[tuple[str, str]]:
        return ((name, name) for name in sorted(names) if after is None or name > after)

    return items


def pages(*parts: list[str]) -> list[list[str]]:
    found, cursor = [], ""
    while True:
        shown, cursor = page(cursor, [part(names) for names in parts])
        found.append(shown)
        if not cursor:
            return found


def names(count: int, prefix: str = "n") -> list[str]:
    return [f"{prefix}{number:04}" for number in range(count)]


@pytest.mark.parametrize("count", [0, 1, SIZE - 1, SIZE])
def test_short_list_has_one_page(count: int) -> None:
    """Items that fit on one page are on one, without a next cursor."""
    assert pages(names(count)) == [names(count)]


def test_each_item_is_on_one_page() -> None:
    """Each item is on one page, part after part, and the last page has no cursor."""
    first, second, third = names(SIZE - 1), names(SIZE + 2, "m"), names(3, "o")
    found = pages(first, second, [], third)
    assert list(chain(*found)) == first + second + third
    assert [len(one) for one in found] == [SIZE, SIZE, 4]


def test_page_boundary_between_parts_repeats_nothing() -> None:
    """A part that ends where the page ends is not begun again."""
    assert pages(names(SIZE), names(1, "m")) == [names(SIZE), names(1, "m")]


@pytest.mark.requirement("resources.pages")
def test_items_come_and_go() -> None:
    """Items removed or added between two pages move no others: no item is omitted or repeated."""
    shown, cursor = page(None, [part(names(SIZE * 2))])
    left = [name for name in names(SIZE * 2) if name != shown[-1]] + ["a new one", "n0150x"]
    rest, following = page(cursor, [part(left)])
    assert (rest, following) == (sorted([*names(SIZE * 2)[SIZE:], "n0150x"])[:SIZE], following)
    assert page(following, [part(left)]) == ([names(SIZE * 2)[-1]], "")


@pytest.mark.parametrize(
    "cursor",
    [
        *("x", "zz", "====", "ä", "\ud800", "MDph=", " MDph", "MDph\n", "-1"),
        *(
            urlsafe_b64encode(text).decode().rstrip("=")
            for text in (b"1:a", b"-1:a", b"a", b" 0:a", b"00:a", b"0:\xff")
        ),
        urlsafe_b64encode("٠:a".encode()).decode(),
        "A" * 100_000,
    ],
)
def test_foreign_cursor_is_refused(cursor: str) -> None:
    """A cursor that this list did not return is refused."""
    with pytest.raises(Fault) as raised:
        page(cursor, [part(["a"])])
    assert (raised.value.code, raised.value.message) == (
        -32602,
        "Invalid cursor: take the nextCursor of a page of this list, or none",
    )


@given(st.text())
def test_any_text_continues_or_is_refused(cursor: str) -> None:
    """No text does anything but page on or be refused as a cursor."""
    code, shown = 0, ["a", "b", "c"]
    try:
        shown, _ = page(cursor, [part(["a", "b"]), part(["c"])])
    except Fault as fault:
        code = fault.code
    assert code in (0, -32602)
    assert shown == ["a", "b", "c"][3 - len(shown) :]
