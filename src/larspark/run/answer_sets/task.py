"""The task of an engine: a program with all that does not change while it runs."""

from collections.abc import Callable
from dataclasses import dataclass

from larspark.analysis.checked import Checked
from larspark.analysis.fragment import is_choice
from larspark.base.atoms import Atom, Signature
from larspark.language.tree import Aggregate
from larspark.run.answer_sets.encoding import Core, NotEncodableError, encode
from larspark.run.answer_sets.plain_rules import plain_rules
from larspark.run.answer_sets.stream_views import Elements


@dataclass(frozen=True, slots=True)
class Task:
    """A program, its background data, and the elements of its stream that are kept.

    `note` passes on what a user should know about the answers.
    """

    checked: Checked
    background: frozenset[Atom]
    elements: Elements
    note: Callable[[str], None]

    @property
    def remembered(self) -> frozenset[Signature]:
        """The predicates whose derived atoms join the stream."""
        return self.checked.program.remembered & self.checked.derived

    @property
    def observed(self) -> frozenset[Signature]:
        """The predicates whose derived elements are output or remembered."""
        return self.checked.shown | self.remembered

    @property
    def has_choices(self) -> bool:
        """Can there be several answer streams? Constraints alone can only leave none."""
        checked = self.checked
        return checked.strata is None or any(is_choice(rule.head) for rule in checked.rules)

    def core(self) -> Core | None:
        """The static encoding, if the program is plain enough to have one."""
        if any(isinstance(part, Aggregate) for rule in self.checked.rules for part in rule.body):
            return None
        rules = plain_rules(self.checked.rules)
        if rules is None:
            return None
        try:
            return encode(self.checked, rules, self.background)
        except NotEncodableError:
            return None
