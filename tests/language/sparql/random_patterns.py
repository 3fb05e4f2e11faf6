"""Random patterns in all abbreviations of SPARQL, over literals with tags and types."""

import random

from rdflib import RDF, XSD, Literal, URIRef
from tests.language.sparql.rdflib_evaluator import EX, Asked, Event, Windowed

NODES = [URIRef(EX + name) for name in "abc"]
LINKS = [URIRef(EX + name) for name in "pq"]
LITERALS = [
    *(Literal("one"), Literal("one", lang="en"), Literal("one", lang="de-AT"), Literal("1")),
    *(Literal(1), Literal(2), Literal("2.5", datatype=XSD.decimal), Literal('x "q" \\ z')),
    *(Literal("true", datatype=XSD.boolean), Literal("2026-01-01", datatype=XSD.date)),
    Literal("z", datatype=URIRef(EX + "t")),
]
PLAIN = ('"one"', "'one'", '"""one"""', '"one"@en', '"one"@de-AT', '"1"', "1", "+2", "2.5")
WRITTEN = (
    *(*PLAIN, "true", '"2026-01-01"^^xsd:date'),
    *('"x \\"q\\" \\\\ z"', '"z"^^ex:t', '"1"^^xsd:integer'),
)
HEADS = (f"PREFIX ex: <{EX}>", f"BASE <{EX}> PREFIX ex: <>", f"PREFIX : <{EX}>\nprefix ex: <{EX}>")


class Patterns:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.variables: list[str] = []

    def asked(self) -> Asked:
        chance = self.chance
        pattern = self.triples()
        kind = chance.random()
        if kind < 0.3:
            pattern += f" . OPTIONAL {{ {self.triples()} }}"
        elif kind < 0.45:
            pattern = f"{{ {pattern} }} UNION {{ {self.triples()} }}"
        if chance.random() < 0.4:
            pattern += f" FILTER({self.condition()})"
        items = " ".join(dict.fromkeys(self.variables))
        head = f"{chance.choice(HEADS)} PREFIX xsd: <{XSD}>\nSELECT DISTINCT {items}"
        size, stream = chance.randint(1, 5), EX + "s1"
        clause = f"FROM STREAM <{stream}> [RANGE {size}s STEP 1s]"
        text = f"{head} {clause} WHERE {{ {pattern} }}"
        sparql = f"{head} WHERE {{ {pattern} }}"
        return Asked("csparql", text, sparql, (Windowed("", stream, size),), 1)

    def node(self) -> str:
        if self.chance.random() < 0.3:
            return f"ex:{self.chance.choice('abc')}"
        self.variables.append(f"?x{self.chance.randint(1, 4)}")
        return self.variables[-1]

    def link(self) -> str:
        return self.chance.choice(("a", "ex:p", "ex:p", "ex:q", f"<{EX}q>"))

    def value(self) -> str:
        kind = self.chance.random()
        if kind < 0.25:
            return self.chance.choice(WRITTEN)
        if kind < 0.35:
            return f"[ {self.link()} {self.node()} ]"
        return self.node()

    def triples(self) -> str:
        chance, found = self.chance, []
        for _ in range(chance.randint(1, 2)):
            subject = self.node()
            if chance.random() < 0.15:
                subject = chance.choice(("[]", "_:b1", f"[ {self.link()} {self.value()} ]"))
            text = f"{subject} {self.link()} {self.node()}"
            if chance.random() < 0.3:
                text += f" , {self.value()}"
            if chance.random() < 0.3:
                text += f" ; {self.link()} {self.value()}{chance.choice(('', ' ;'))}"
            found.append(text)
        return " . ".join(found)

    def condition(self) -> str:
        chance = self.chance
        # Other literals are not compared in the same way by all systems.
        name, value = self.node(), chance.choice(PLAIN)
        if not name.startswith("?"):
            name = self.variables[0] if self.variables else "?x1"
        match chance.randrange(4):
            case 0:
                return f"{name} {chance.choice(('=', '!='))} {value}"
            case 1:
                return f"{name} {chance.choice(('IN', 'NOT IN'))} ({value}, ex:a)"
            case 2:
                return f"!({name} = {value})"
        return f"BOUND({name})"


def random_asked(chance: random.Random) -> Asked:
    """A query with at least one variable."""
    while True:
        patterns = Patterns(chance)
        asked = patterns.asked()
        if patterns.variables:
            return asked


def literal_events(chance: random.Random, times: range) -> list[Event]:
    events: list[Event] = []
    for t in times:
        for _ in range(chance.choice((0, 1, 2, 3))):
            link, target = chance.choice(LINKS), chance.choice([*NODES, *LITERALS])
            if chance.random() < 0.25:
                link, target = RDF.type, chance.choice(NODES)
            event = (t, EX + "s1", (chance.choice(NODES), link, target))
            if event not in events:
                events.append(event)
    return events
