"""Several answer streams: in which of them does an atom hold, and by which choice?"""

from collections.abc import Sequence

from larspark.base.atoms import Element, atom_text
from larspark.show.knowledge import Derived
from larspark.show.proof import ModelChoice


def compare_models(models: Sequence[Derived], goal: Element) -> ModelChoice:
    """What tells the answer streams that hold an element from those that do not.

    >>> from larspark.base.atoms import Atom
    >>> a, b, c = map(Atom, "abc")
    >>> compare_models([{1: [a, c]}, {1: [b, c]}], Element(1, a)).models
    (1,)
    >>> compare_models([{1: [a, c]}, {1: [a, b]}, {1: [c]}], Element(1, a)).choice
    ()
    """
    streams = [{Element(t, a) for t, atoms in model.items() for a in atoms} for model in models]
    holding = [stream for stream in streams if goal in stream]
    others = [stream for stream in streams if goal not in stream]
    choice: set[Element] = set()
    if holding and others:
        choice = set.intersection(*holding).difference({goal}, *others)
    numbers = tuple(n for n, stream in enumerate(streams, 1) if goal in stream)
    ordered = sorted(choice, key=lambda element: (element.t, atom_text(element.atom)))
    return ModelChoice(numbers, len(models), tuple(ordered))
