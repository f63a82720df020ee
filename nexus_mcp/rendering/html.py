"""Build HTML pages that load nothing, and convert stored Markdown to safe HTML.

Stored Markdown goes through markdown-it-py without HTML, then through nh3, which leaves only the tags that are named
here. Headings become bold lines, so that the headings of a page are all ours; images become their descriptions, because
a page loads nothing.
"""

from __future__ import annotations

from html import escape

from nexus_mcp.rendering.texts import visible, visible_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
_DEEPEST = 40
"""Nesting level from which a text is shown without formatting: a list has two levels, a quotation one. The parser
leaves out deeper content.
"""
_SCHEMES = {"http", "https", "mailto"}
_REL = "noopener noreferrer nofollow"

STYLE = """\
:root{color-scheme:light dark;--page:#fff;--text:#1f2937;--dim:#5b6472;--line:#d9dee5;--soft:#f4f6f8;--link:#0b62b0;
--good:#15713a;--open:#8a4b00;--path:#7c3aed}
@media (prefers-color-scheme:dark){:root{--page:#14171c;--text:#e6e9ee;--dim:#a3acb9;--line:#363d47;--soft:#1d2229;
--link:#7cc0ff;--good:#6fd08f;--open:#f0b35a;--path:#b794f6}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:52rem;padding:2.5rem 1.25rem 4rem;background:var(--page);color:var(--text);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.7rem;line-height:1.25;margin:0 0 .4rem}h2{font-size:1.25rem;margin:2.4rem 0 .6rem;line-height:1.3}
h3{font-size:.85rem;margin:1.4rem 0 .4rem;color:var(--dim);text-transform:uppercase;letter-spacing:.05em}
p{margin:.4rem 0}a{color:var(--link)}.dim{color:var(--dim)}.totals{font-weight:600}
article{border-top:1px solid var(--line);margin-top:2rem}article h2{margin-top:1.2rem}
dl{margin:0}dt{font-weight:600;margin-top:.8rem}
dd{margin:.15rem 0 0;padding-left:.9rem;border-left:3px solid var(--line)}
ul.tasks{list-style:none;margin:.2rem 0;padding:0}ul.tasks li{padding:.15rem 0 .15rem 1.7rem;text-indent:-1.7rem}
ul.tasks .mark{display:inline-block;width:1.7rem;text-indent:0;font-weight:700}.done .mark{color:var(--good)}
.open .mark,.word{color:var(--open)}.word,.owner{font-size:.85rem;margin-left:.5rem}.owner{color:var(--dim)}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.9em;background:var(--soft);
border-radius:4px}code{padding:.1em .3em}pre{padding:.7rem .9rem;white-space:pre-wrap}pre code{padding:0}
blockquote{margin:.5rem 0;padding-left:.9rem;border-left:3px solid var(--line);color:var(--dim)}
table{border-collapse:collapse}th,td{border:1px solid var(--line);padding:.25rem .6rem;text-align:left}
@media print{:root{--page:#fff;--text:#000;--dim:#444;--line:#bbb;--soft:#f4f4f4;--link:#000;--good:#000;--open:#000}
body{max-width:none;padding:0;font-size:10.5pt}article{break-inside:auto}h1,h2,h3,dt{break-after:avoid}
dd,li,pre{break-inside:avoid}}
"""


def page(title: str, body: str) -> str:
    """Return a whole page. `title` is plain text, `body` is HTML."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # A browser that opens the page loads nothing and runs nothing, whatever is in it.
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        f"base-uri 'none'; form-action 'none'\">\n"
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )


def text(stored: str) -> str:
    """Return stored text on one line, as HTML. `bdi` keeps right-to-left text from reordering the text beside it."""
    return f"<bdi>{escape(visible(stored))}</bdi>"


def markdown(stored: str) -> str:
    """Return stored Markdown as HTML."""
    import nh3

    parser = _parser()
    lines = "\n".join(visible_lines(stored))
    tokens = parser.parse(lines)
    if any(token.level + max(token.nesting, 0) >= _DEEPEST for token in tokens):
        return f"<pre>{escape(lines)}</pre>"
    _make_headings_bold(tokens)
    _make_images_text(tokens)
    rendered = parser.renderer.render(tokens, parser.options, {})
    return nh3.clean(
        rendered, tags=_TAGS, attributes={"a": {"href", "title"}}, url_schemes=_SCHEMES, link_rel=_REL
    ).strip()


def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST}).enable(["table", "strikethrough"])


def _make_headings_bold(tokens: list[Token]) -> None:
    """Change each heading into a paragraph whose text is bold."""
    from markdown_it.token import Token

    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type not in ("heading_open", "heading_close"):
            continue
        token.tag = "p"
        if token.type == "heading_open" and following is not None and following.children is not None:
            opening, closing = Token("strong_open", "strong", 1), Token("strong_close", "strong", -1)
            following.children = [opening, *following.children, closing]


def _make_images_text(tokens: list[Token]) -> None:
    """Change each image into its description."""
    from markdown_it.token import Token

    for token in tokens:
        token.children = token.children and [
            Token("text", "", 0, content=child.content) if child.type == "image" else child for child in token.children
        ]
