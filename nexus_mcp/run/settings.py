"""Read the section `run` of `.nexus/config.yml`, and apply the options of a command line to it.

An error about the file names file, line and column: the model reports a path to the value, and the YAML reader knows
the place of the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from nexus_mcp.errors import CatalogError, UsageError
from nexus_mcp.quoting import inert
from nexus_mcp.run.config import RunConfig
from nexus_mcp.store.folder import Folder
from nexus_mcp.tags import config

if TYPE_CHECKING:
    from nexus_mcp.catalog.yaml_file import Document

SECTION = "run"
NEXT_STEP = "Correct it, then call again."
_MOST = 20


def read(root: str) -> tuple[RunConfig, dict[str, Any]]:
    """Return the configuration of runs of the project `root`, and all settings of its config.yml.

    Raise CatalogError with file, line and column of the first 20 faults, PathRefused, StorageError.
    """
    with Folder.root(root) as top:
        nexus = top.child(".nexus")
        if nexus is None:
            return RunConfig(), {}
        with nexus:
            settings = config.read(nexus)
            section = settings.get(SECTION) or {}
            try:
                return RunConfig.model_validate(section), settings
            except ValidationError as error:
                raise CatalogError(_faults(nexus, error), next_step=NEXT_STEP) from None


def with_options(config_: RunConfig, changes: Mapping[str, Any]) -> RunConfig:
    """Return the configuration with the values of a command line. Raise UsageError for a value that is not allowed."""
    if not changes:
        return config_
    try:
        return RunConfig.model_validate({**config_.model_dump(), **changes})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = str(first["loc"][0]) if first["loc"] else "The options"
        raise UsageError(f"--{name.replace('_', '-')}: {_plain(first['msg'])}.") from None


def _faults(nexus: Folder, error: ValidationError) -> list[str]:
    from nexus_mcp.catalog import yaml_file

    document = yaml_file.read(nexus.read(config.NAME, config.LIMIT) or b"", nexus.show(config.NAME))
    found = [
        document.fault_at(_pointer(document, one["loc"]), f"{_name(one['loc'])}: {_sentence(one['type'], one['msg'])}")
        for one in error.errors(include_url=False, include_input=False)
    ]
    return list(dict.fromkeys(found))[:_MOST]


def _pointer(document: Document, location: tuple[int | str, ...]) -> str:
    """Return the JSON pointer of the value, or of the innermost value around it that the file has.

    The model's location may also have names of members of a union type, which are in no file: leave them out.
    """
    place = f"/{SECTION}"
    for part in location:
        inner = f"{place}/{str(part).replace('~', '~0').replace('/', '~1')}"
        if document.has(inner):
            place = inner
    return place


def _name(location: tuple[int | str, ...]) -> str:
    return inert(".".join((SECTION, *map(str, location))))[:200]


def _sentence(kind: str, message: str) -> str:
    """Return what is wrong with a value, from the kind and the message of the model's error."""
    return "this version of nexus-mcp has no such setting" if kind == "extra_forbidden" else _plain(message)


def _plain(message: str) -> str:
    """Return the message of the model on one line, without the name of its error class, shortened."""
    return inert(message.removeprefix("Value error, "))[:300]
