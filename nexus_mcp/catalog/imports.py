"""Make the agents and skills of a package of nexus-core (upstream) the project's own.

The files are checked together with those of the project before any is written, and no existing file is changed. An
entry with a fault is left out, and the others are imported. A new agent with a restriction that has no
counterpart here is left out, because the restriction would be lost. A change of a shipped agent is imported without
such a restriction, because the shipped restrictions stay.
"""

from __future__ import annotations

from nexus_mcp.catalog.building import own_value
from nexus_mcp.catalog.edits import original_at, put_file
from nexus_mcp.catalog.foreign_texts import INVOCATIONS, KnownNames, translate
from nexus_mcp.catalog.sources import AGENTS, BODY, KINDS, META, SKILLS, Own
from nexus_mcp.catalog.yaml_changes import new_file
from nexus_mcp.errors import CatalogError
from nexus_mcp.store.replacement import retry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from nexus_mcp.catalog.foreign_package import ForeignEntry, Package
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.lock import HeldLock
    from nexus_mcp.store.store import Store

CREATED, CREATES, UNCHANGED, KEPT = "created", "creates", "unchanged", "kept"
_MODEL_TIERS = ("high", "standard")
_AGENT = frozenset(("id", "name", "description", "category", "resume_tier", "model_tier", "capabilities"))
_SKILL = frozenset(("id", "name", "description", "manual_only", "harness_docs_refs", "triggers"))
_RESUME = "resume_invocation"
_HEAD = "From {}."
_HEAD_LENGTH = 200


class Import:
    """The files that an import of a package writes into a project, and what it does not import.

    `files` maps the path of a file below .nexus/ to its content; `entries` lists the paths of the entries with files.
    `unmapped` lists (path in the package, what has no counterpart here or why the agent is left out). `unusable`
    lists (path, fault) of the entries and files that are left out because of a fault.
    """

    __slots__ = ("entries", "files", "unmapped", "unusable")

    def __init__(self) -> None:
        self.entries: list[str] = []
        self.files: dict[str, bytes] = {}
        self.unmapped: list[tuple[str, str]] = []
        self.unusable: list[tuple[str, str]] = []

    def leave_out(self, path: str, faults: list[str]) -> None:
        """Leave out an entry because of these faults."""
        self.entries.remove(path)
        self.files = {name: data for name, data in self.files.items() if not name.startswith(f"{path}/")}
        self.unusable.append((path, "; ".join(faults)))


def plan_import(package: Package, shipped: dict[str, Any], own: dict[str, list[str]]) -> Import:
    """Return the import of a package. `shipped` is the shipped catalog as a value; `own` has the ids of the project's
    agents and skills, by kind.
    """
    found = Import()
    found.unusable += package.left
    vocabulary = shipped["vocabulary"]
    metas = {}
    for entry in package.entries:
        write = _agent_meta if entry.kind == AGENTS else _skill_meta
        meta = write(entry, shipped[entry.kind].get(entry.id), vocabulary, found.unmapped)
        if meta is not None:
            metas[entry] = meta
    names = {kind: {*shipped[kind], *own[kind], *(one.id for one in metas if one.kind == kind)} for kind in KINDS}
    known = KnownNames(vocabulary["tools"], names[AGENTS], names[SKILLS])
    # Name and version are free text of the package: write them as a comment of one line, without control characters.
    words = " ".join((package.name or "a nexus-core package", package.version)).split()
    head = _HEAD.format("".join(filter(str.isprintable, " ".join(words)))[:_HEAD_LENGTH])
    for entry, meta in metas.items():
        text, missing = translate(entry.text.strip() + "\n", known)
        found.unmapped += [(entry.path, one) for one in missing]
        path = f"{entry.kind}/{entry.id}"
        found.entries.append(path)
        found.files[f"{path}/{META}"] = new_file(meta, head, lambda _: None)
        found.files[f"{path}/{BODY}"] = text.encode()
    found.unmapped += _unknown_words(package, vocabulary)
    return found


def carry_out(store: Store, found: Import, shipped: dict[str, Any], *, dry_run: bool = False) -> list[dict[str, str]]:
    """Write the files; return [{"path", "result"}] of the entries.

    `result`: CREATED (CREATES with `dry_run`), UNCHANGED, or KEPT for an entry whose existing files differ. An entry
    with a fault is left out. Raise CatalogError with nothing written if the project's own files have a fault, or exceed
    a limit together with the new ones; PathRefused, StorageError, NotConfirmed. A later call completes an interrupted
    one.
    """
    with store.nexus() as nexus:
        results = _results(nexus, found)
        _check(None if nexus is None else Own(nexus), found, results, shipped)
    if dry_run or CREATES not in results.values():
        return _as_list(results)
    with store.locked_nexus() as (nexus, held):
        results = retry(lambda: _write(nexus, held, found, shipped))
    return _as_list(results)


def own_ids(nexus: Folder | None) -> dict[str, list[str]]:
    """Return kind → the ids of the project's own agents or skills. Raise CatalogError for too many, PathRefused,
    StorageError.
    """
    return {kind: [] if nexus is None else Own(nexus).folders(kind) for kind in KINDS}


def _as_list(results: dict[str, str]) -> list[dict[str, str]]:
    return [{"path": path, "result": result} for path, result in results.items()]


def _write(nexus: Folder, held: HeldLock, found: Import, shipped: dict[str, Any]) -> dict[str, str]:
    results = _results(nexus, found)
    _check(Own(nexus), found, results, shipped)
    for path, result in results.items():
        if result != CREATES:
            continue
        for name in (META, BODY):
            at = f"{path}/{name}"
            original = original_at(nexus, at)
            if not original.is_there:
                put_file(nexus, at, original, found.files[at], held)
        results[path] = CREATED
    return results


def _results(nexus: Folder | None, found: Import) -> dict[str, str]:
    """Return path → result of each entry, before anything is written.

    An entry gets CREATES if it lacks a file and has none that differs, so that a later call completes an interrupted
    import.
    """
    results = {}
    source = None if nexus is None else Own(nexus)
    for path in found.entries:
        names = [f"{path}/{name}" for name in (META, BODY)]
        there = {name: None if source is None else source.read(name) for name in names}
        if any(data is not None and data != found.files[name] for name, data in there.items()):
            results[path] = KEPT
        else:
            results[path] = CREATES if None in there.values() else UNCHANGED
    return results


def _check(source: Own | None, found: Import, results: dict[str, str], shipped: dict[str, Any]) -> None:
    """Remove the new entries that have a fault from `found` and `results`.

    Raise CatalogError for a fault of another file, or if all entries together exceed a limit.
    """
    while True:
        new = {name: data for name, data in found.files.items() if results[name.rpartition("/")[0]] == CREATES}
        try:
            own_value(_Over(source, new), shipped)
        except CatalogError as error:
            faults = _faults_by_entry(error.faults, {name.rpartition("/")[0] for name in new})
            if not faults:  # an existing entry is at fault, or all entries together exceed a limit
                step = "The import would cause this; nothing was changed."
                raise CatalogError(error.faults, next_step=step) from error
            for path, lines in faults.items():
                found.leave_out(path, lines)
                del results[path]
            continue
        return


def _faults_by_entry(faults: Sequence[str], paths: set[str]) -> dict[str, list[str]]:
    """Return path → the faults of each faulty entry among the new `paths`."""
    found: dict[str, list[str]] = {}
    for fault in faults:
        path = "/".join(fault.removeprefix(".nexus/").split("/")[:2])
        if path in paths and fault.startswith(f".nexus/{path}/"):
            found.setdefault(path, []).append(fault)
    return found


class _Over:
    """The files of a project, and new files, which have precedence."""

    def __init__(self, source: Own | None, new: dict[str, bytes]) -> None:
        self._source = source
        self._new = new

    def folders(self, name: str) -> list[str]:
        found = [] if self._source is None else self._source.folders(name)
        return sorted({*found, *(path.split("/")[1] for path in self._new if path.startswith(f"{name}/"))})

    def read(self, path: str) -> bytes | None:
        return self._new[path] if path in self._new else None if self._source is None else self._source.read(path)

    def format_path(self, path: str) -> str:
        return f".nexus/{path}"


def _agent_meta(
    entry: ForeignEntry, below: dict[str, Any] | None, vocabulary: dict[str, Any], unmapped: list[tuple[str, str]]
) -> dict[str, Any] | None:
    """Return the fields of meta.yml; None, with the reason in `unmapped`, for an agent that is left out."""
    fields, meta = entry.fields, _common(entry, below)
    allowed = {
        "category": vocabulary["categories"],
        "resume_tier": vocabulary["resume_tiers"],
        "model_tier": _MODEL_TIERS,
    }
    for field, words in allowed.items():
        word = fields.get(field)
        if isinstance(word, str) and word in words:
            meta[field] = word
        elif below is None:
            fault = f"{word} has no counterpart" if word else "is missing"
            unmapped.append((entry.path, f"is left out: {field} {fault}"))
            return None
        elif word is not None:
            unmapped.append((entry.path, f"{field} {word}"))
    named = fields.get("capabilities")
    named = [] if named is None else named
    listed = [str(name) for name in named] if isinstance(named, list) else [str(named)]
    unknown = [name for name in listed if name not in vocabulary["capabilities"]]
    if unknown and below is None:
        unmapped.append((entry.path, f"is left out: its restriction {', '.join(unknown)} has no counterpart"))
        return None
    _note(entry, "restriction", unknown, unmapped)
    canonical = [] if below is None else below["capabilities"]
    meta["capabilities"] = list(dict.fromkeys([*canonical, *(name for name in listed if name not in unknown)]))
    _note(entry, "field", [name for name in fields if name not in _AGENT], unmapped)
    return meta


def _skill_meta(
    entry: ForeignEntry, below: dict[str, Any] | None, vocabulary: dict[str, Any], unmapped: list[tuple[str, str]]
) -> dict[str, Any] | None:
    """Return the fields of meta.yml."""
    fields, meta = entry.fields, _common(entry, below)
    meta["manual_only"] = fields.get("manual_only") is True or bool(below and below["manual_only"])
    named = fields.get("harness_docs_refs") or []
    refs = [str(name) for name in named] if isinstance(named, list) else [str(named)]
    notes = list(below["harness_notes"]) if below else []
    meta["harness_notes"] = ["resume"] if _RESUME in refs else notes
    _note(entry, "reference", [name for name in refs if name != _RESUME], unmapped)
    tags = {tag: spec.get("skill", "") for tag, spec in vocabulary["tags"].items()}
    triggers = fields.get("triggers") or []
    for trigger in triggers if isinstance(triggers, list) else [triggers]:
        tag = str(trigger).strip("[]").partition(":")[0]
        if tags.get(tag) != entry.id:
            unmapped.append((entry.path, f"the tag [{tag}]"))
    _note(entry, "field", [name for name in fields if name not in _SKILL], unmapped)
    return meta


def _note(entry: ForeignEntry, noun: str, names: list[str], unmapped: list[tuple[str, str]]) -> None:
    """Add one line to `unmapped` about names of an entry that have no counterpart; none without `names`."""
    if names:
        unmapped.append((entry.path, f"the {noun}{'s' * (len(names) > 1)} {', '.join(names)}"))


def _common(entry: ForeignEntry, below: dict[str, Any] | None) -> dict[str, Any]:
    """Return id, name and description. A name or description that the package lacks is that of the shipped entry.
    Without a shipped entry, the name is made from the id, and the description is the name.

    A name that equals the id counts as lacking.
    """
    fields = entry.fields
    name, description = (str(fields.get(field) or "").strip() for field in ("name", "description"))
    if not name or name == entry.id:
        name = below["name"] if below else entry.id.replace("-", " ").capitalize()
    return {
        "id": entry.id,
        "name": name,
        "description": " ".join(description.split()) or (below or {}).get("description", name),
    }


def _unknown_words(package: Package, vocabulary: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (path, word) of each word of the package's vocabulary that our vocabulary lacks. Such words are not
    imported, because a project has no vocabulary of its own.
    """
    tags = {
        name
        for tag, spec in vocabulary["tags"].items()
        for name in (tag, *(f"{tag}-{one}" for one in spec["variants"]))
    }
    known: dict[str, Any] = {
        "capabilities": vocabulary["capabilities"],
        "categories": vocabulary["categories"],
        "resume-tiers": vocabulary["resume_tiers"],
        "tags": tags,
        "invocations": INVOCATIONS,
        "memory-policy": vocabulary["memory_policy"]["prefixes"],
    }
    return [
        (f"vocabulary/{name}", f"the word {word}")
        for name, ids in sorted(package.vocabulary.items())
        for word in ids
        if word not in known.get(name, ())
    ]
