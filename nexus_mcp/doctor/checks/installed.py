"""Check the installations of `nexus-mcp install` in the project: their record is readable, the programs that their
entries start exist, and the variables with the tokens of servers over HTTP are set.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nexus_mcp.doctor import places
from nexus_mcp.doctor.finding import Finding
from nexus_mcp.errors import InstallRefused
from nexus_mcp.harness import HARNESSES, record
from nexus_mcp.harness.definition import PROJECT
from nexus_mcp.harness.definition import Site as Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.site import Site

FILE = f"{places.NEXUS}/{record.NAME}"


def check(site: Site) -> Iterator[Finding]:
    """Yield a finding for a record that cannot be used, else for each missing program and each unset token variable."""
    if not any(site.files(places.INSTALLED)):
        return
    from nexus_mcp.harness.installing import read_record
    from nexus_mcp.harness.remote_mount import mount_of
    from nexus_mcp.harness.status import missing_commands

    place = Place(PROJECT, os.path.dirname(site.nexus.path), os.environ)
    try:
        found = read_record(place)
        problems = [(name, text) for name in HARNESSES for text in missing_commands(place, found, name)]
    except InstallRefused as error:
        yield Finding("install-record", FILE, "cannot be used by install", advice=error.faults[0])
        return
    for name, text in problems:
        problem, _, advice = text.partition(". ")
        yield Finding(
            "command-missing", FILE, f"has an installation for {name}: {problem}", advice=advice, identity=text
        )
    for name in HARNESSES:
        mount = mount_of(found.options(name)) if found.parts(name) else None
        if mount is not None and not os.environ.get(mount.variable):
            problem = f"has an installation for {name} with a server over HTTP, and {mount.variable} is not set here"
            yield Finding("token-missing", FILE, problem, identity=name)
