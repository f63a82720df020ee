"""Check plans, task lists and cycles when they are read and written, and order their keys when they are written."""

from __future__ import annotations

from nexus_mcp import schemas
from nexus_mcp.errors import NewerVersion, StateError
from nexus_mcp.wording import list_first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

VERSION = "0.5"
PLAN = "state/plan"
TASKS = "state/tasks"
CYCLE = "state/cycle"
ISSUE = "issue"
TASK = "task"
_PARTS = {PLAN: (PLAN, None), ISSUE: (PLAN, "issues"), TASK: (TASKS, "tasks"), CYCLE: (CYCLE, None)}
_IDS = ("id", "plan_issue")
_fields: dict[str, schemas.Schema] = {}
_ROWS = {PLAN: "issues", TASKS: "tasks"}


def check(value: Any, schema: str, file: str) -> dict[str, Any]:
    """Return `value`, a plan or task list read from `file`, with ids such as `2.0` changed to 2.

    Raise StateError if `value` does not satisfy `schemas.readable(schema)`: a required field is missing, or has a value
    of a wrong type, outside of its enum or below its minimum. Other fields are not checked.
    """
    found = schemas.readable_faults(schema, value)
    if found:
        texts = list_first(found, 5, lambda fault: f"{fault.pointer or '/'} {fault.message}")
        raise StateError(file, f"is not a valid {schema.removeprefix('state/')} file: {'; '.join(texts)}")
    good: dict[str, Any] = value
    if schema == PLAN:
        _spell_ids([good], schema)
    if schema in _ROWS:
        _spell_ids(good[_ROWS[schema]], schema)
    return good


def check_rows(rows: list[dict[str, Any]], schema: str) -> list[dict[str, Any]]:
    """Return `rows`, tasks or issues, with their ids changed as by `check`. Raise ValueError if one does not satisfy
    `row(schema)`.

    The error does not locate the fault: the rows were read without the rest of their file.
    """
    if not all(map(row(schema).keeps, rows)):
        raise ValueError(schema)
    _spell_ids(rows, schema)
    return rows


def _spell_ids(items: list[dict[str, Any]], schema: str) -> None:
    # Change only these fields of `items`: a field with the same name at another place belongs to another program.
    names = _IDS if schema == TASKS else _IDS[:1]
    for item in items:
        for name in names:
            if isinstance(item.get(name), float):
                item[name] = _plain(item[name])
        if schema == TASKS and float in map(type, item["deps"]):
            item["deps"] = [_plain(dep) for dep in item["deps"]]


def _plain(number: Any) -> Any:
    return int(number) if isinstance(number, float) and number.is_integer() else number


def check_writable(value: dict[str, Any], file: str) -> None:
    """Raise NewerVersion if the major number of `schema_version` in `value` is above ours or malformed."""
    version = value.get("schema_version")
    if version is None:
        return
    major = version.partition(".")[0] if isinstance(version, str) else ""
    known = major.isascii() and major.isdigit() and major.strip("0") == ""  # our major version is 0
    if not known:
        raise NewerVersion(
            file,
            f"is of a schema_version that this nexus-mcp only reads (it writes {VERSION})",
            where="/schema_version",
            next_step="Update nexus-mcp, or use the tool that wrote the file.",
        )


def part(name: str) -> dict[str, Any]:
    """Return the schema of a plan, issue, task or cycle, which allows no unknown fields."""
    file, member = _PARTS[name]
    schema: dict[str, Any] = schemas.load(file)
    if member is not None:
        schema = schema["properties"][member]["items"]
    return schema


def _optional_part(name: str) -> schemas.Schema:
    """Return `part(name)` with none of its fields required, to check new fields of a plan, issue, task or cycle."""
    if name not in _fields:
        _fields[name] = schemas.Schema({**part(name), "required": []})
    return _fields[name]


def check_change(before: dict[str, Any] | None, file: str, fields: dict[str, Any], name: str) -> None:
    """Check a change of `file` that writes `fields`, some or all fields of a plan, issue or task (`name`).

    `before` is the present value of the file, None if it is absent. Raise NewerVersion if `check_writable` refuses
    `before`, and ValueError if `fields` break their schema.
    """
    if before is not None:
        check_writable(before, file)
    check_new(fields, _optional_part(name), name)


def row(schema: str) -> schemas.Schema:
    """Return the part of `schemas.readable(schema)` for one row: an issue of a plan, or a task of a task list."""
    found: schemas.Schema = schemas.readable(schema)["properties"][_ROWS[schema]]["items"]
    return found


def change_schemas() -> Iterator[schemas.Schema]:
    """Yield the schemas that check a change: first those for the new fields, then those for whole rows."""
    yield from map(_optional_part, (TASK, PLAN, ISSUE))
    yield from map(row, _ROWS)


def is_cycle(value: object) -> bool:
    """Return whether nexus-mcp could have written `value` as a cycle.

    Its plan (unless null) and its tasks only have to satisfy `schemas.readable`, because another harness may have
    written them. All other fields have to satisfy the schema of a cycle.
    """
    if not isinstance(value, dict) or schemas.faults(part(CYCLE), {**value, "plan": None, "tasks": []}):
        return False
    plan: object = value.get("plan")
    tasks: dict[str, object] = {"goal": "", "decisions": [], "tasks": value.get("tasks")}
    return not schemas.readable_faults(TASKS, tasks) and (plan is None or not schemas.readable_faults(PLAN, plan))


def check_new(value: object, schema: dict[str, Any], what: str) -> None:
    """Raise ValueError if a value that nexus-mcp made breaks its schema. This is a bug, so nothing is written."""
    _refuse(schemas.faults(schema, value), what)


def _refuse(faults: list[schemas.Fault], what: str) -> None:
    if faults:
        raise ValueError(f"{what} would break its schema at {faults[0].pointer}: {faults[0].message}")


def order_checked(value: dict[str, Any], new: list[Any], schema: str, file: str) -> dict[str, Any]:
    """Return `value`, a plan or task list, as `order` returns it.

    Raise ValueError if its own fields or the rows `new` do not satisfy `schemas.readable(schema)`. Its other rows were
    checked before.
    """
    _refuse(schemas.readable_faults(schema, {**value, _ROWS[schema]: new}), file)
    made: dict[str, Any] = order(value, schemas.load(schema))
    return made


def order(value: Any, schema: dict[str, Any]) -> Any:
    """Return `value` with the keys of `schema` in the schema's order, then all other keys in their present order.

    The values of the keys of `schema`, and the items of arrays, are ordered in the same way.
    """
    if isinstance(value, list) and "items" in schema and any(isinstance(item, (dict, list)) for item in value):
        return [order(item, schema["items"]) for item in value]
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    known = schema["properties"]
    out = {name: value[name] for name in known if name in value}
    for name, member in out.items():
        if isinstance(member, (dict, list)) and member:
            out[name] = order(member, known[name])
    if len(out) < len(value):
        out.update((name, member) for name, member in value.items() if name not in known)
    return out
