"""Install, check and uninstall one harness: read the record, plan, and carry out the plan."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from nexus_mcp import __version__
from nexus_mcp.errors import InstallRefused
from nexus_mcp.harness import files, marks
from nexus_mcp.harness import record as records
from nexus_mcp.harness.carry_out import carry_out
from nexus_mcp.harness.definition import HOOKS, PROJECT, USER, Harness, Request, Site
from nexus_mcp.harness.files import Interference
from nexus_mcp.harness.leftovers import remove_leftovers
from nexus_mcp.harness.plan import Change, Plan, plan_install, plan_removal
from nexus_mcp.harness.states import ABSENT, FOREIGN, SAME
from nexus_mcp.harness.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nexus_mcp.harness.record import Record

_TRIES = 4


class Outcome(NamedTuple):
    """The result of an installation or removal: the plan, the copies of edited files, and the copies of temporary files
    that a killed installation left. `kept` are the copies that earlier commands made and that an uninstall did not
    delete.
    """

    plan: Plan
    copies: list[str]
    leftovers: list[str]
    kept: Sequence[str] = ()


def read_record(site: Site) -> Record:
    """Return the record of the scope. Raise InstallRefused."""
    path = os.path.join(site.record_folder, records.NAME)
    return records.decode(files.look(path, site.within).data, site.format_path(path))


def _check_record(site: Site) -> None:
    """Raise InstallRefused if the record cannot be replaced."""
    files.check_replaceable(files.look(os.path.join(site.record_folder, records.NAME), site.within))


def plan_for(site: Site, harness: Harness, request: Request, *, force: bool = False, is_report: bool = False) -> Plan:
    """Return the plan of an installation. Write nothing. Raise InstallRefused, EditedByHand.

    `is_report`: the plan is not carried out, so the files need not be replaceable.
    """
    record = read_record(site)
    rows = harness.rows(site, request, record)
    befores = Vault(site.vault, harness.id).read()
    return plan_install(site, harness, rows, request.parts, record, befores=befores, force=force, is_report=is_report)


def plan_without(site: Site, harness: Harness, *, force: bool = False) -> Plan:
    """Return the plan of the removal. Write nothing. Raise InstallRefused, EditedByHand."""
    return plan_removal(site, harness, read_record(site), Vault(site.vault, harness.id).read(), force=force)


def install(site: Site, harness: Harness, request: Request, options: dict[str, Any], *, force: bool) -> Outcome:
    """Install the parts for the harness. `options` are those that the user set. Raise InstallRefused, EditedByHand."""
    _check_doubles(site, harness, request)
    if site.scope == PROJECT:
        _initialise(site)
    above = files.make_folders(os.path.dirname(site.vault))

    def attempt() -> Outcome:
        _check_record(site)
        leftovers = remove_leftovers(site, read_record(site), harness.id)
        plan = plan_for(site, harness, request, force=force)
        vault = Vault(site.vault, harness.id)
        old = vault.read()
        rows = dict(old)
        after = {change.found.path: change.data for change in plan.changes}
        current = {change.found.path: change.found.data for change in plan.changes}
        for path, before in plan.befores.items():
            data = after.get(path)
            if data is None:
                continue  # the plan does not change this file, so its stored row stays
            there, known = current[path], old.get(path)
            left = marks.digest(there) if there is not None else ""
            if known is not None and left in known[0].split():
                rows[path] = (f"{marks.digest(data)} {left}", known[1])
            else:
                rows[path] = (marks.digest(data), before)
        if site.scope == USER:
            plan.record.folders += above
        plan.record.installed[harness.id] = {"nexus_mcp": __version__, "options": options}
        try:
            copies = vault.copy(plan.copies)
            vault.write(rows)
            _finish(site, plan, _announce(site, harness, plan))
        except BaseException:
            # A failed installation must leave no copies of credentials.
            _delete_copies(vault, plan)
            vault.write(old) if old else vault.delete()
            raise
        return Outcome(plan, copies, leftovers)

    try:
        return _run_locked(site, attempt)
    except BaseException:
        files.remove_folders(above)
        raise


def uninstall(site: Site, harness: Harness, *, force: bool) -> Outcome:
    """Remove everything that installations of the harness wrote. Raise InstallRefused, EditedByHand."""

    def attempt() -> Outcome:
        _check_record(site)
        leftovers = remove_leftovers(site, read_record(site), harness.id)
        plan = plan_without(site, harness, force=force)
        vault = Vault(site.vault, harness.id)
        stored = vault.read()
        folders = [site.path(key) for key in plan.record.folders]
        is_last = plan.record.encode() is None
        try:
            copies = vault.copy(plan.copies)
            _finish(site, plan)
        except BaseException:
            _delete_copies(vault, plan)
            raise
        paths = {change.found.path for change in plan.changes} | stored.keys()
        left = {marks.digest(data) for path in paths if (data := files.read_if_plain(path)) is not None}
        kept = [path for path in vault.prune_copies(left) if path not in (*copies, *leftovers)]
        vault.delete()
        files.remove_folders([*folders, *(_above(site) if is_last and site.scope == USER else ())])
        return Outcome(plan, copies, leftovers, kept)

    return _run_locked(site, attempt)


def _delete_copies(vault: Vault, plan: Plan) -> None:
    """Delete the copies of edited files that still have the copied bytes, after an error. Raise InstallRefused."""
    same = {marks.digest(data) for path, data in plan.copies.items() if files.read_if_plain(path) == data}
    if same:
        vault.prune_copies(same)


def forget(site: Site, harness: Harness) -> None:
    """Delete the bytes that a killed installation left, if nothing is installed. Raise InstallRefused."""
    if os.path.isdir(os.path.join(site.vault, harness.id)):
        with _lock(site):
            if not (record := read_record(site)).parts(harness.id):
                Vault(site.vault, harness.id).delete()
                remove_leftovers(site, record, harness.id)
                files.remove_folders(_above(site) if site.scope == USER else [])


def _announce(site: Site, harness: Harness, plan: Plan) -> list[Change]:
    """Return the change that records the new entries, files and folders before they are written; [] without new ones.

    So if a kill comes between two files, an uninstall still removes what was written. The old hashes stay beside the
    new ones, so that an entry which the kill left unchanged does not look edited by hand.
    """
    found = files.look(os.path.join(site.record_folder, records.NAME), site.within)
    record, own = records.decode(found.data, site.format_path(found.path)), plan.record
    for row in plan.states:
        key = site.key(row.path)
        if row.key in own.entries.get(key, {}):
            rows, new = record.entries.setdefault(key, {}), own.entries[key][row.key]
            record.add_made(key, own.made.get(key, []))
        elif key in own.files:
            rows, new = record.files, own.files[key]
        else:
            continue
        name = row.key if rows is not record.files else key
        if name in rows:
            rows[name] = records.succeed(rows[name], new)
        elif row.state in (ABSENT, SAME, FOREIGN):
            rows[name] = new
    for change in plan.changes:
        if change.data is not None:
            record.folders += map(site.key, files.missing_folders(os.path.dirname(change.found.real)))
    record.installed[harness.id] = own.installed[harness.id]
    data = record.encode()
    return [] if data == found.data or not plan.changes else [Change(found, data)]


def _finish(site: Site, plan: Plan, before: Sequence[Change] = ()) -> None:
    """Carry out the changes, those `before` first, and write the record."""
    path = os.path.join(site.record_folder, records.NAME)

    def finish(folders: list[str]) -> None:
        plan.record.folders = sorted({*plan.record.folders, *map(site.key, folders)})
        found = files.look(path, site.within)
        data = plan.record.encode()
        if data != found.data:
            if data is not None:
                files.make_folders(os.path.dirname(path))
            files.write(found, data)

    carry_out([*before, *plan.changes], finish)


def _check_doubles(site: Site, harness: Harness, request: Request) -> None:
    """Raise InstallRefused if another installation already has a requested part, because then each event would be
    reported twice.
    """
    twice: dict[tuple[str, str], list[str]] = {}
    for double in harness.doubles(site):
        if double.part in request.parts:
            twice.setdefault((double.place, double.next_step), []).append(double.part)
    faults = [
        f"{place} of {harness.title} already has {', '.join(parts)} of nexus-mcp. {next_step}"
        for (place, next_step), parts in twice.items()
    ]
    other = site._replace(scope=USER if site.scope == PROJECT else PROJECT)
    if HOOKS in request.parts and HOOKS in _parts(other, harness):
        faults.append(
            f"The hooks are installed in {other.scope} scope already, and both would run. Run nexus-mcp uninstall "
            f"{harness.id} --scope {other.scope} first, or leave out hooks with --with."
        )
    if faults:
        raise InstallRefused(faults)


def _parts(site: Site, harness: Harness) -> list[str]:
    """Return the installed parts in a scope that is only read: its folders may be missing or not writable."""
    if site.scope == USER and not site.find_folder("XDG_STATE_HOME", ".local", "state"):
        return []
    is_there = os.path.lexists(os.path.join(site.record_folder, records.NAME))
    return read_record(site).parts(harness.id) if is_there else []


def _initialise(site: Site) -> None:
    """Make .nexus with its .gitignore, so that git never sees the stored bytes."""
    from nexus_mcp.store.store import Store
    from nexus_mcp.workspace import Workspace

    Store(Workspace(site.root)).initialise()


def _run_locked(site: Site, attempt: Callable[[], Outcome]) -> Outcome:
    """Call `attempt` under the lock and return its result; call it again when a file changed meanwhile."""
    with _lock(site):
        for number in range(_TRIES):
            try:
                return attempt()
            except Interference as error:
                if number == _TRIES - 1:
                    step = "End the program that writes it, then run the command again."
                    raise InstallRefused([f"{site.format_path(error.path)} keeps changing. {step}"]) from error
    raise AssertionError("unreachable")


@contextmanager
def _lock(site: Site) -> Iterator[None]:
    """Hold a lock on the project folder, or on the home folder, while the block runs. Raise InstallRefused."""
    fd = os.open(site.root if site.scope == PROJECT else site.home, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InstallRefused(["Another installation is running. Wait until it has ended."]) from error
        yield
    finally:
        os.close(fd)


def _above(site: Site) -> list[str]:
    """Return the folders of the record in user scope."""
    folder = site.record_folder
    return [folder, os.path.dirname(folder)]
