"""Render the templates. The text of every expression is escaped, and its invisible characters are made visible; only
HTML from a macro or from text.py stays as it is.
"""

from __future__ import annotations

import os
import time
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from nexus_mcp.board import text
from nexus_mcp.state import times
from nexus_mcp.views import period

if TYPE_CHECKING:
    from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))
ASSETS = os.path.join(_HERE, "assets")


def render(template: str, context: dict[str, Any]) -> str:
    """Return the HTML of a template with this context."""
    return _environment().get_template(template).render(stamp=times.stamp(time.time()), **context)


def prepare(*templates: str) -> None:
    """Compile these templates in advance, by default all, so that the first page does not wait for that."""
    environment = _environment()
    for name in templates or environment.list_templates():
        environment.get_template(name)


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(os.path.join(_HERE, "templates")),
        autoescape=True,
        undefined=jinja2.ChainableUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        age=lambda stamp: period.age(stamp, time.time()),
        capitalize_first=lambda words: words[:1].upper() + words[1:],
        markdown=text.markdown,
        plain=text.plain,
        rev=_revision,
        size=text.file_size,
    )
    return made


def _finalize(value: object) -> object:
    if isinstance(value, str) and not isinstance(value, Markup):
        return text.visible(value)
    return "" if value is None else value


def _revision(value: object) -> str:
    """Return a checksum of the value, to find the parts of a page that changed."""
    return f"{zlib.crc32(repr(value).encode('utf-8', 'replace')):08x}"
