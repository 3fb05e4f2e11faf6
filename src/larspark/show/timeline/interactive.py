"""A timeline as one HTML file that needs nothing else: to look at, to send, and in notebooks."""

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from larspark.feeds.time_format import TimeFormat
from larspark.show.svg import safe
from larspark.show.time_text import moment_text
from larspark.show.timeline.levels import Levels
from larspark.show.timeline.tracks import Track

# The scripts and styles of the timeline.
FOLDER = Path(__file__).parent
MOST_BANDS = 40
# A file holds at most so many points and bars; more of them are put together. A notebook keeps all
# its pictures in one file.
MOST_SPANS = 200_000
NOTEBOOK_SPANS = 20_000
# The heights of rows in the script.
_ROW, _CURVE = 24, 44

_STYLE = """
html, body { margin: 0; height: 100%; background: #ffffff; color: #111827; }
body { display: flex; flex-direction: column; font: 14px/1.5 system-ui, sans-serif; }
main { flex: 1 1 auto; min-height: 0; display: flex; flex-direction: column; }
main > .lars-timeline { flex: 1 1 auto; }
h1 { font-size: 1rem; margin: 0; padding: .5em .6em; }
details { padding: .3em .6em .6em; }
pre { margin: .5em 0; overflow-x: auto; font: 13px/1.4 ui-monospace, Menlo, Consolas, monospace; }
@media (prefers-color-scheme: dark) { html, body { background: #14171c; color: #e5e7eb; } }
"""
_START = """
const data = JSON.parse(document.getElementById("data").textContent);
const timeline = new LarsTimeline(
  document.querySelector("main"), new LarsSpans(data.rows), { format: data.format });
timeline.refresh(data.extent);
"""


def timeline_page(tracks: Sequence[Track], times: TimeFormat, title: str, program: str = "") -> str:
    """The HTML file of a timeline, with the text of the program below it."""
    return _page(Levels(tracks, MOST_BANDS), times, MOST_SPANS, title, program)


def timeline_cell(tracks: Sequence[Track], times: TimeFormat) -> str:
    """The timeline as the output of a notebook cell.

    It stands in a frame of its own, whose script can neither read nor change the notebook.
    """
    levels = Levels(tracks, MOST_BANDS)
    rows = sum(_CURVE if band.kind == "curve" else _ROW for band in levels.bands)
    page = _page(levels, times, NOTEBOOK_SPANS)
    style = f"width: 100%; height: {min(480, 70 + rows)}px; border: 0"
    return (
        f'<iframe srcdoc="{safe(page)}" sandbox="allow-scripts" title="timeline" style="{style}">'
        "</iframe>"
    )


def _page(
    levels: Levels, times: TimeFormat, most_spans: int, title: str = "", program: str = ""
) -> str:
    """A page from which nothing is loaded from elsewhere, and on which only its own script runs."""
    scripts = [(FOLDER / "timeline.js").read_text("utf-8"), _START]
    styles = [(FOLDER / "timeline.css").read_text("utf-8"), _STYLE]
    policy = (
        f"default-src 'none'; script-src {_hashes(scripts)}; style-src {_hashes(styles)}; "
        "base-uri 'none'; form-action 'none'"
    )
    data = {
        "extent": levels.extent,
        "rows": _rows(levels, most_spans),
        "format": time_fields(times, levels.extent),
    }
    # In a script, `<` could begin its end.
    encoded = json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    lines = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{safe(policy)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{safe(title or 'timeline')}</title>",
        *(f"<style>{style}</style>" for style in styles),
        "</head><body>",
    ]
    if title:
        lines.append(f"<h1>{safe(title)}</h1>")
    lines.append("<main></main>")
    if program:
        lines.append(f"<details><summary>Program</summary><pre>{safe(program)}</pre></details>")
    lines.append(f'<script type="application/json" id="data">{encoded}</script>')
    lines += [f"<script>{script}</script>" for script in scripts]
    return "\n".join([*lines, "</body></html>\n"])


def time_fields(times: TimeFormat, extent: tuple[int, int] | None) -> dict[str, Any]:
    """How the script writes time points."""
    shown = has_clock_times(times, extent)
    return {"tick": times.tick, "stamps": shown, "zone": str(times.zone)}


def has_clock_times(times: TimeFormat, extent: tuple[int, int] | None) -> bool:
    """Whether time points are written as clock times: wherever they are clock times."""
    clock = extent is not None and all(moment_text(t, times) for t in extent)
    return times.stamps or clock


def _hashes(texts: Sequence[str]) -> str:
    digests = (b64encode(sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests)


def _rows(levels: Levels, most_spans: int) -> list[dict[str, Any]]:
    """All bands with all they hold, or with as many points and bars as there may be."""
    share = most_spans // max(1, len(levels.bands))
    return [
        {
            "label": band.label,
            "origin": band.track.origin.value,
            "kind": band.kind,
            **band.listed(share),
        }
        for band in levels.bands
    ]
