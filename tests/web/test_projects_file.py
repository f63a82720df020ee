"""Names and paths in a projects file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nexus_mcp.errors import UsageError
from nexus_mcp.server.http.mounts import read_projects
from nexus_mcp.web.projects_file import Entry, plain_name, read

if TYPE_CHECKING:
    from pathlib import Path


def test_line_is_a_path_or_a_name_and_a_path(tmp_path: Path) -> None:
    """A name is before `=`; a text that is no name belongs to the path; relative paths count from the file."""
    file = tmp_path / "list"
    file.write_text("# projects\n\n/srv/Shop\napi=/srv/b\nx = y\n./a=b\nA=c\n")
    assert read(str(file)) == [
        Entry("", "/srv/Shop"),
        Entry("api", "/srv/b"),
        Entry("", f"{tmp_path}/x = y"),
        Entry("", f"{tmp_path}/./a=b"),
        Entry("", f"{tmp_path}/A=c"),
    ]


@pytest.mark.parametrize(
    ("path", "name"), [("/srv/Shop", "shop"), ("/a/My App (2)", "my-app-2"), ("/a/___", "project"), ("/a/ü", "project")]
)
def test_name_of_a_folder_fits_into_an_address(path: str, name: str) -> None:
    """Other characters than letters and digits become hyphens."""
    assert plain_name(path) == name


def test_two_projects_with_one_name_are_refused(tmp_path: Path) -> None:
    """A number behind the name would change with the order of the lines; the same line twice is one project."""
    file = tmp_path / "list"
    file.write_text("/srv/shop\n/srv/shop\n")
    assert read_projects(str(file)) == {"shop": "/srv/shop"}
    file.write_text("/srv/shop\n/home/shop\n")
    with pytest.raises(UsageError, match="two projects with the name shop"):
        read_projects(str(file))
    file.write_text("/srv/shop\nother=/home/shop\n")
    assert read_projects(str(file)) == {"shop": "/srv/shop", "other": "/home/shop"}
