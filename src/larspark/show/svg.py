"""SVG elements. Text from programs and streams is escaped and never becomes markup."""

import re
from collections.abc import Iterable
from html import escape

# Characters that XML does not allow, escaped or not.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

FONT_SIZE = 13
# The advance of a character in a monospaced font, a little more than usual.
CHARACTER = 8
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"


def safe(text: str) -> str:
    """Text escaped for an element or an attribute.

    >>> safe('<script>"a"&\\x00')
    '&lt;script&gt;&quot;a&quot;&amp;�'
    """
    return escape(_FORBIDDEN.sub("\ufffd", text), quote=True)


def shorten(text: str, length: int) -> str:
    """The text, cut to a length."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def label(x: float, y: float, text: str, fill: str, extra: str = "", length: int = 160) -> str:
    """A line of text; a text that is cut has a tooltip with all of it."""
    shown = safe(shorten(text, length))
    title = f"<title>{safe(text)}</title>" if len(text) > length else ""
    return f'<text x="{x:g}" y="{y:g}" fill="{fill}"{extra and " " + extra}>{title}{shown}</text>'


def line(x1: float, y1: float, x2: float, y2: float, stroke: str, extra: str = "") -> str:
    place = f'x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"'
    return f'<line {place} stroke="{stroke}"{extra and " " + extra}/>'


def picture(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """A complete SVG document without external references."""
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" '
    head += f'font-family="{FONT}" font-size="{FONT_SIZE}" xml:space="preserve">'
    paper = f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>'
    return "\n".join([head, f"<title>{safe(title)}</title>", paper, *parts, "</svg>\n"])
