"""Read a package of nexus-core (upstream): agents, skills, vocabulary, and the digests of its manifest.

Three layouts were published: agents/ and skills/ beside manifest.json, with meta.yml and body.md; and these two folders
in assets/ or in spec/, with the fields in the front matter of body.md. No link in the package is followed.
"""

from __future__ import annotations

import hashlib
import json

from nexus_mcp.catalog import yaml_file
from nexus_mcp.catalog.sources import AGENTS, BODY, ENTRIES, KINDS, META, NAMES, SKILLS, TEXT_BYTES, YAML_BYTES
from nexus_mcp.errors import CatalogError, NexusError
from nexus_mcp.store.folder import Folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROOTS = ("", "assets", "spec")
MANIFEST = "manifest.json"
_PACKAGE = "package.json"
_MANIFEST_BYTES = 4 << 20
_VOCABULARY = "vocabulary"
_FENCE = "---\n"


class ForeignEntry:
    """An agent or skill of a package: its path there, its fields, its text, and `body`, the bytes of its body.md."""

    __slots__ = ("body", "fields", "id", "kind", "path", "text")

    def __init__(self, kind: str, path: str, fields: dict[str, Any], text: str, body: bytes) -> None:
        self.kind = kind
        self.id = path.rpartition("/")[2]
        self.path = path
        self.fields = fields
        self.text = text
        self.body = body


class Package:
    """A package. `vocabulary` maps the name of a file, without .yml and with `-` for `_`, to the ids in it; `left`
    lists (path, why it is left out).
    """

    __slots__ = ("entries", "left", "name", "version", "vocabulary")

    def __init__(self) -> None:
        self.name = ""
        self.version = ""
        self.entries: list[ForeignEntry] = []
        self.vocabulary: dict[str, list[str]] = {}
        self.left: list[tuple[str, str]] = []


def read_package(path: str) -> Package:
    """Return the package in the folder `path`, a path without links.

    Raise CatalogError if package.json or manifest.json is malformed, if there is neither an agent nor a skill, or more
    than ENTRIES of a kind, or if a text differs from its digest in the manifest. Raise PathRefused, StateError,
    StorageError as Folder.read.
    """
    package = Package()
    with Folder.root(path) as root:
        about = _json(root, _PACKAGE)
        manifest = _json(root, MANIFEST)
        digests = None if manifest is None else _digests(manifest)
        for source in (about, manifest):
            package.name = package.name or str((source or {}).get("name", ""))
            package.version = package.version or str((source or {}).get("version", ""))
        package.version = package.version or str((manifest or {}).get("nexus_core_version", ""))
        base = next((name for name in ROOTS if any(_folders(root, _below(name, kind)) for kind in KINDS)), None)
        if base is None:
            raise CatalogError(
                [f"{path}: has no agents and no skills of a nexus-core package"],
                next_step="Name the folder that has agents/ and skills/, assets/ or spec/.",
            )
        wrong: list[str] = []
        for kind in KINDS:
            for name in _folders(root, _below(base, kind)):
                path = _below(base, f"{kind}/{name}")
                entry = _read_entry(root, package, path, kind)
                if entry is not None and _has_digest(entry, digests, package, wrong):
                    package.entries.append(entry)
        if wrong:
            raise CatalogError(wrong, next_step="The package was changed. Download it again; nothing was written.")
        _read_vocabulary(root, package)
    return package


def _read_entry(root: Folder, package: Package, path: str, kind: str) -> ForeignEntry | None:
    """Return the entry at `path`; None, with the reason in `package.left`, if it is left out."""
    name = path.rpartition("/")[2]
    try:
        body, meta = _bytes(root, f"{path}/{BODY}", TEXT_BYTES), _bytes(root, f"{path}/{META}", YAML_BYTES)
        if body is None:
            package.left.append((path, f"has no {BODY}"))
            return None
        text = body.decode("utf-8-sig").replace("\r\n", "\n")
        head, rest = _split(text)
        fields = yaml_file.read(head.encode() if meta is None else meta, f"{path}/{META}").value or {}
    except UnicodeDecodeError:
        package.left.append((path, f"{BODY} is not UTF-8"))
        return None
    except NexusError as error:
        faults = getattr(error, "faults", None)
        package.left.append((path, "; ".join(faults) if faults else error.fault))
        return None
    if not isinstance(fields, dict):
        package.left.append((path, f"{META} is not a mapping"))
        return None
    if fields.get("id", name) != name:
        package.left.append((path, "its id is not the name of its folder"))
        return None
    return ForeignEntry(kind, path, fields, rest if head else text, body)


def _has_digest(
    entry: ForeignEntry, digests: dict[str, dict[str, str]] | None, package: Package, wrong: list[str]
) -> bool:
    """Return whether the entry has the digest that the manifest has for it; True without a manifest, or if the digest
    is empty. Append a mismatch to `wrong`, and an entry that is not in the manifest to `package.left`.
    """
    expected = "" if digests is None else digests[entry.kind].get(entry.id)
    if expected is None:
        package.left.append((entry.path, f"is not in {MANIFEST}"))
        return False
    if not expected or expected in (_digest(entry.body), _digest(entry.text.encode())):
        return True
    wrong.append(f"{entry.path}/{BODY}: does not match its digest in {MANIFEST}")
    return False


def _read_vocabulary(root: Folder, package: Package) -> None:
    for base in ROOTS:
        path = _below(base, _VOCABULARY)
        for name in _names(root, path):
            if not name.endswith(".yml"):
                continue
            try:
                data = _bytes(root, f"{path}/{name}", YAML_BYTES)
                value = None if data is None else yaml_file.read(data, f"{path}/{name}").value
            except NexusError as error:
                faults = getattr(error, "faults", None)
                package.left.append((f"{path}/{name}", "; ".join(faults) if faults else error.fault))
                continue
            package.vocabulary[name.removesuffix(".yml").replace("_", "-")] = _ids(value)


def _ids(value: Any) -> list[str]:
    """Return the ids in the lists of a vocabulary file; [] if it is not a mapping."""
    lists = [part for part in value.values() if isinstance(part, list)] if isinstance(value, dict) else []
    return [str(one["id"]) for part in lists for one in part if isinstance(one, dict) and "id" in one]


def _digests(manifest: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return {kind: {id: digest}} of a manifest. Raise CatalogError for a manifest of another form."""
    try:
        return {kind: {str(one["id"]): str(one["body_hash"]) for one in manifest[kind]} for kind in (AGENTS, SKILLS)}
    except (KeyError, TypeError) as error:
        raise CatalogError([f"{MANIFEST}: has no list of agents and skills with id and body_hash"]) from error


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _split(text: str) -> tuple[str, str]:
    """Return (the front matter without its fences, the text after it); ("", text) without a front matter."""
    if not text.startswith(_FENCE):
        return "", text
    head, fence, rest = text[len(_FENCE) :].partition(f"\n{_FENCE}")
    return (f"{head}\n", rest.lstrip("\n")) if fence else ("", text)


def _json(root: Folder, name: str) -> dict[str, Any] | None:
    """Return the JSON object in a file of the package, None if the file is absent. Raise CatalogError for other
    content, PathRefused, StateError, StorageError.
    """
    data = root.read(name, _MANIFEST_BYTES)
    if data is None:
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CatalogError([f"{name}: is not JSON"]) from error
    if not isinstance(value, dict):
        raise CatalogError([f"{name}: is no object"])
    return value


def _below(base: str, path: str) -> str:
    return f"{base}/{path}" if base else path


def _open(root: Folder, path: str) -> Folder | None:
    """Return a folder of the package, opened; None if it is absent. Raise PathRefused for a link or a file,
    StorageError.
    """
    folder = root
    for part in path.split("/"):
        below = folder.child(part)
        if folder is not root:
            folder.close()
        if below is None:
            return None
        folder = below
    return folder


def _names(root: Folder, path: str) -> list[str]:
    folder = _open(root, path)
    if folder is None:
        return []
    with folder:
        return sorted(folder.names(NAMES)[:NAMES])


def _folders(root: Folder, path: str) -> list[str]:
    """Return the names of the possible entries in a folder of the package: all names without a dot. Raise CatalogError
    for more than ENTRIES.
    """
    names = [name for name in _names(root, path) if "." not in name]
    if len(names) > ENTRIES:
        raise CatalogError([f"{path}: has {len(names)} entries, and the limit is {ENTRIES}"])
    return names


def _bytes(root: Folder, path: str, limit: int) -> bytes | None:
    above, _, name = path.rpartition("/")
    folder = _open(root, above)
    if folder is None:
        return None
    with folder:
        return folder.read(name, limit)
