"""Answers as small tables for notebooks."""

from collections.abc import Set as AbstractSet

from larspark.base.atoms import Atom, atom_text
from larspark.show.svg import safe


def answer_html(
    t: int, atoms: AbstractSet[Atom] | None, added: AbstractSet[Atom], removed: AbstractSet[Atom]
) -> str:
    """The output at a time point, one atom a row, with what has just begun and ended.

    >>> print(answer_html(3, {Atom("p", ("<b>",))}, set(), {Atom("q")}))
    <table>
    <tr><th>3</th><th></th></tr>
    <tr><td>p(&quot;&lt;b&gt;&quot;)</td><td></td></tr>
    <tr><td>q</td><td>ended</td></tr>
    </table>
    """
    if atoms is None:
        rows = [("no answer stream", "")]
    else:
        rows = [(text, "new" if new else "") for text, new in _texts(atoms, added)]
        rows += [(text, "ended") for text, _ in _texts(removed, removed)]
    cells = (f"<tr><td>{safe(text)}</td><td>{note}</td></tr>" for text, note in rows)
    return "\n".join(["<table>", f"<tr><th>{t}</th><th></th></tr>", *cells, "</table>"])


def _texts(atoms: AbstractSet[Atom], marked: AbstractSet[Atom]) -> list[tuple[str, bool]]:
    return sorted((atom_text(atom), atom in marked) for atom in atoms)
