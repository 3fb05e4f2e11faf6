"""From a program and its background data to what an engine needs: parse, read, check, or raise."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.analysis.window_sizes import with_sizes
from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem, Severity
from larspark.base.terms import Constant
from larspark.feeds import atom_of_values, parse_ground_atom, read_background
from larspark.feeds.mapping import Kind
from larspark.language import Parsed, parse_program, tree
from larspark.run.protocol import Settings


class Prepared(NamedTuple):
    """A program that is ready to run, with all its background data."""

    checked: Checked
    background: frozenset[Atom]


def prepare(
    program: str | tree.Program,
    background: Iterable[Atom | str] = (),
    settings: Settings = Settings(),  # noqa: B008 - a named tuple cannot change
    *,
    read_files: bool = True,
) -> Prepared:
    """The program checked against its background data, or everything that is wrong with it.

    `read_files=False` is for executors: the background files of the program were read already, and
    are among the data given.
    """
    syntax = parsed(program)
    atoms = set(ground_atoms(background))
    atoms.update(background_of(syntax) if read_files else ())
    checked = checked_with(syntax, atoms, settings)
    _check_hindsight(syntax, settings)
    errors = [problem for problem in checked.problems if problem.severity is Severity.ERROR]
    if errors:
        raise LarsparkError(errors)
    return Prepared(checked, frozenset(atoms))


def parsed(program: str | tree.Program) -> tree.Program:
    """The program of a text without errors."""
    return accepted(parse_program(program)) if isinstance(program, str) else program


def background_of(program: tree.Program) -> Iterator[Atom]:
    """The background data in the files that a program names."""
    for source in program.backgrounds:
        kinds = [Kind(kind) if kind else None for kind in source.types]
        yield from read_background(
            source.path, source.signature, columns=source.columns, kinds=kinds
        )


def _check_hindsight(program: tree.Program, settings: Settings) -> None:
    """Refuse hindsight for a program that excludes it, and its lack for one that needs it."""
    if program.hindsight is None or program.hindsight is settings.hindsight:
        return
    message = "the program asks with the whole stream known, which needs hindsight"
    if settings.hindsight:
        message = "the program asks with the stream known so far, which excludes hindsight"
    hint = "the reading `each` goes with hindsight, `prefix` and `now` without"
    raise LarsparkError(Problem("L413", message, hint=hint))


def accepted(parsed: Parsed) -> tree.Program:
    """The program that was parsed; raises what is wrong with it."""
    if parsed.program is None:
        raise LarsparkError(parsed.problems)
    return parsed.program


def checked_with(program: tree.Program, background: Iterable[Atom], settings: Settings) -> Checked:
    """What is known about a program before it runs; problems are part of it, not raised."""
    atoms = frozenset(background)
    signatures = {atom.signature for atom in atoms}
    return check(with_sizes(program, atoms), signatures, ends=settings.until is not None)


def ground_atoms(given: Iterable[Atom | str | tuple[Constant, ...]]) -> Iterator[Atom]:
    """Atoms that are given as such, as text, or as tuples of a predicate and its arguments."""
    if isinstance(given, str | Mapping) or hasattr(given, "columns"):
        # Their items are characters, keys, names of columns.
        message = f"a {type(given).__name__} is not a list of facts"
        hint = 'a table becomes one by `lp.facts(table, "site(text(id), name)")`'
        raise LarsparkError(Problem("L312", message, hint=hint))
    return map(_ground_atom, given)


def _ground_atom(item: Atom | str | tuple[Constant, ...]) -> Atom:
    if isinstance(item, Atom):
        return item
    return parse_ground_atom(item) if isinstance(item, str) else atom_of_values(item)
