"""The files of the page: its own, and those of the editor Ace, which the package django-ace has."""

from importlib.util import find_spec
from pathlib import Path

from larspark.base.problems import LarsparkError, Problem
from larspark.show.timeline import interactive

_OWN = Path(__file__).parent / "page"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}


def editor_folder() -> Path:
    """The folder of Ace. Its package is only looked up, never imported."""
    spec = find_spec("django_ace")
    if spec is None or spec.origin is None:
        hint = "install it with `pip install 'larspark[studio]'`"
        raise LarsparkError(Problem("L406", "the studio needs the package django-ace", hint=hint))
    return Path(spec.origin).parent / "static" / "django_ace" / "ace"


class Assets:
    """Files by the names under which the page asks for them."""

    def __init__(self) -> None:
        ace = editor_folder()
        shown = interactive.FOLDER
        self._files = {path.name: path for path in _OWN.iterdir() if path.suffix in _TYPES}
        self._files |= {name: shown / name for name in ("timeline.js", "timeline.css")}
        self._files |= {f"ace/{name}": ace / name for name in _ACE}
        for path in (ace / "css").iterdir():
            if path.suffix in (".svg", ".png") and path.stem.startswith("main-"):
                self._files[f"ace/css/{path.name}"] = path

    def find(self, name: str) -> tuple[bytes, str] | None:
        """The content of a file and its type; None for any other name."""
        path = self._files.get(name)
        return None if path is None else (path.read_bytes(), _TYPES[path.suffix])


_ACE = ("ace.js", "ext-language_tools.js", "ext-searchbox.js", "css/ace.css")
