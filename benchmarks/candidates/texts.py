"""The searched text of each cycle, its lowered compact JSON, and parsers that could produce it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _msgspec() -> Callable[[bytes], Any]:
    import msgspec

    decode: Callable[[bytes], Any] = msgspec.json.Decoder().decode
    return decode


def _orjson() -> Callable[[bytes], Any]:
    import orjson

    loads: Callable[[bytes], Any] = orjson.loads
    return loads


PARSERS: dict[str, Callable[[], Callable[[bytes], Any]]] = {
    "json": lambda: json.loads,
    "msgspec": _msgspec,
    "orjson": _orjson,
}


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _orjson_text() -> Callable[[Any], str]:
    import orjson

    return lambda value: orjson.dumps(value).decode()


def _msgspec_text() -> Callable[[Any], str]:
    import msgspec

    encode = msgspec.json.Encoder().encode
    return lambda value: encode(value).decode()


WRITERS: dict[str, Callable[[], Callable[[Any], str]]] = {
    "json": lambda: _json_text,
    "msgspec": _msgspec_text,
    "orjson": _orjson_text,
}


def lowered(path: Path, parser: str) -> list[str]:
    """Return one text for each cycle of a history."""
    text = WRITERS[parser]()
    return [text(cycle).lower() for cycle in PARSERS[parser]()(path.read_bytes())["cycles"]]
