"""Random queries of C-SPARQL, CQELS and RSP-QL, with random streams of triples."""

import random

from rdflib import Literal, URIRef
from tests.language.sparql.rdflib_evaluator import EX, Asked, Event, Windowed

NODES = [URIRef(EX + name) for name in "abc"]
LINKS = [URIRef(EX + name) for name in ("p", "q")]
NUMBERED = [URIRef(EX + name) for name in ("v", "w")]
NAMED = URIRef(EX + "l")
TEXTS = [Literal("one"), Literal("two"), Literal("one", lang="en")]
STREAMS = [EX + "s1", EX + "s2"]
DIALECTS = ("csparql", "cqels", "rspql")


class Drawn:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.dialect = chance.choice(DIALECTS)
        self.windows: list[Windowed] = []
        # Variables of nodes and of numbers that patterns have used.
        self.nodes: list[str] = []
        self.numbers: list[str] = []
        # Those of products are no integers for rdflib, and so no objects of its triples.
        self.products: list[str] = []
        self.texts: list[str] = []
        self.fresh = 0

    def asked(self) -> Asked:
        chance = self.chance
        clauses = ""
        static = False
        if self.dialect == "csparql":
            for stream in STREAMS[: chance.randint(1, 2)]:
                size = chance.randint(1, 5)
                step = chance.randint(1, 3)
                if chance.random() < 0.15 and not self.windows:
                    number = chance.randint(1, 3)
                    self.windows.append(Windowed("", stream, 0, triples=number))
                    clauses += f"FROM STREAM <{stream}> [RANGE TRIPLES {number}] "
                    break
                self.windows.append(Windowed("", stream, size, step))
                clauses += f"FROM STREAM <{stream}> [RANGE {size}s STEP {step}s] "
            if chance.random() < 0.4:
                static = True
                clauses += f"FROM <{EX}static> "
        elif self.dialect == "rspql":
            for number in range(chance.randint(1, 2)):
                size, step = chance.randint(1, 5), chance.randint(1, 3)
                stream = chance.choice(STREAMS)
                self.windows.append(Windowed(f"{EX}w{number}", stream, size, step))
                clauses += f"FROM NAMED WINDOW ex:w{number} ON <{stream}> [RANGE PT{size}S "
                clauses += f"STEP PT{step}S] "
        pattern = self.pattern()
        steps = [window.slide for window in self.windows if window.triples is None]
        step = min(steps) if steps and self.dialect != "cqels" else None
        if self.dialect != "cqels":
            # At a report every window ends.
            self.windows = [Windowed(w.graph, w.stream, w.size, 1, w.triples) for w in self.windows]
        emission = "istream" if self.dialect == "cqels" else "rstream"
        register = ""
        if self.dialect == "rspql":
            emission = chance.choice(("rstream", "istream", "dstream"))
            register = f"REGISTER {emission.upper()} ex:out AS "
        form, items, tail = self.selected()
        head = f"PREFIX ex: <{EX}>\n"
        text = f"{head}{register}{form} {items} {clauses}WHERE {{ {pattern} }}{tail}"
        sparql = f"{head}{form} {items} WHERE {{ {self.plain(pattern)} }}{tail}"
        return Asked(
            self.dialect, text, sparql, tuple(self.windows), step, emission, static_default=static
        )

    def plain(self, pattern: str) -> str:
        """The pattern with windows as graphs."""
        for window in self.windows:
            if self.dialect == "cqels":
                shown = f"STREAM <{window.stream}> [RANGE {window.size}s SLIDE {window.slide}s] "
                if window.triples is not None:
                    shown = f"STREAM <{window.stream}> [TRIPLES {window.triples}] "
                pattern = pattern.replace(shown, f"GRAPH <{window.graph}> ", 1)
        return pattern.replace("WINDOW ", "GRAPH ")

    def node(self, binds: bool = True) -> str:
        chance = self.chance
        if chance.random() < 0.2:
            return f"ex:{chance.choice('abc')}"
        if self.nodes and (chance.random() < 0.7 or not binds):
            return chance.choice(self.nodes)
        self.fresh += 1
        self.nodes.append(f"?x{self.fresh}")
        return self.nodes[-1]

    def triples(self) -> str:
        chance = self.chance
        found = []
        for _ in range(chance.randint(1, 2)):
            subject = "[]" if chance.random() < 0.07 else self.node()
            kind = chance.random()
            if kind < 0.45:
                found.append(f"{subject} ex:{chance.choice('pq')} {self.node()}")
            elif kind < 0.5:
                found.append(f"{subject} {self.node()} {self.node()}")
            elif kind < 0.6:
                self.fresh += 1
                self.texts.append(f"?s{self.fresh}")
                found.append(f"{subject} ex:l {self.texts[-1]}")
            else:
                self.fresh += 1
                number = f"?n{self.fresh}"
                if self.numbers and chance.random() < 0.4:
                    number = chance.choice(self.numbers)
                elif chance.random() < 0.1:
                    number = str(chance.randint(0, 4))
                else:
                    self.numbers.append(number)
                found.append(f"{subject} ex:{chance.choice('vw')} {number}")
        return " . ".join(found)

    def block(self, static: bool = True) -> str:
        """Triples, in a window where the language wants one."""
        chance = self.chance
        triples = self.triples()
        if self.dialect == "csparql":
            return f"{triples} ."
        if static and chance.random() < 0.15:
            return f"GRAPH <{EX}static> {{ {triples} }}"
        if self.dialect == "rspql":
            window = chance.choice(self.windows)
            return f"WINDOW <{window.graph}> {{ {triples} }}"
        size, graph = chance.randint(1, 4), f"w:{len(self.windows)}"
        stream = chance.choice(STREAMS)
        if chance.random() < 0.15:
            self.windows.append(Windowed(graph, stream, 0, triples=size))
            return f"STREAM <{stream}> [TRIPLES {size}] {{ {triples} }}"
        slide = chance.randint(1, size)
        self.windows.append(Windowed(graph, stream, size, slide))
        return f"STREAM <{stream}> [RANGE {size}s SLIDE {slide}s] {{ {triples} }}"

    def pattern(self) -> str:
        chance = self.chance
        parts = [self.block(static=False)]
        for _ in range(chance.choice((0, 0, 1, 1, 2))):
            kind = chance.random()
            if kind < 0.25:
                parts.append(self.block())
            elif kind < 0.5:
                group = self.group()
                condition = f" FILTER({self.condition()})" if chance.random() < 0.4 else ""
                parts.append(f"OPTIONAL {{ {group}{condition} }}")
            elif kind < 0.7:
                parts.append(f"{{ {self.group()} }} UNION {{ {self.group()} }}")
            elif kind < 0.85:
                parts.append(f"MINUS {{ {self.group()} }}")
            elif self.numbers:
                self.fresh += 1
                operator, number = chance.choice("+-*/"), chance.choice(self.numbers)
                value = f"{number} {operator} {chance.randint(1, 3)}"
                parts.append(f"BIND({value} AS ?n{self.fresh})")
                known = self.numbers if operator in "+-" else self.products
                known.append(f"?n{self.fresh}")
        if chance.random() < 0.5:
            parts.append(f"FILTER({self.condition(exists=True)})")
        return " ".join(parts)

    def group(self) -> str:
        """Triples, sometimes with an OPTIONAL, a UNION or a MINUS."""
        kind = self.chance.random()
        block = self.block()
        if kind < 0.1:
            return f"{block} OPTIONAL {{ {self.block()} }}"
        if kind < 0.2:
            return f"{block} {{ {self.block()} }} UNION {{ {self.block()} }}"
        if kind < 0.25:
            return f"{block} MINUS {{ {self.block()} }}"
        return block

    def condition(self, exists: bool = False, depth: int = 1) -> str:
        chance = self.chance
        kind = chance.random()
        if depth and kind < 0.4:
            word = chance.choice(("&&", "||"))
            left, right = self.condition(exists, 0), self.condition(exists, 0)
            return f"({left} {word} {right})"
        if depth and kind < 0.5:
            return f"!({self.condition(exists, 0)})"
        if exists and kind < 0.65:
            word = chance.choice(("EXISTS", "NOT EXISTS"))
            return f"{word} {{ {self.block()} }}"
        if self.texts and kind < 0.7:
            text = chance.choice(('"one"', '"two"', '"one"@en'))
            return f"{chance.choice(self.texts)} {chance.choice(('=', '!='))} {text}"
        if kind < 0.75 or not self.numbers:
            if not self.nodes:
                return "1 < 2"
            if chance.random() < 0.3:
                return f"BOUND({chance.choice(self.nodes)})"
            if chance.random() < 0.2:
                word = chance.choice(("IN", "NOT IN"))
                return f"{chance.choice(self.nodes)} {word} (ex:a, {self.node(False)})"
            return f"{chance.choice(self.nodes)} {chance.choice(('=', '!='))} {self.node(False)}"
        left = chance.choice([*self.numbers, *self.products])
        if chance.random() < 0.2:
            left = f"{chance.choice(('-', '2 *', '1 +'))} {left}"
        elif chance.random() < 0.1:
            return f"{left} {chance.choice(('IN', 'NOT IN'))} (1, 2, {chance.choice(self.numbers)})"
        right = str(chance.randint(0, 4)) if chance.random() < 0.6 else chance.choice(self.numbers)
        return f"{left} {chance.choice(('=', '!=', '<', '<=', '>', '>='))} {right}"

    def selected(self) -> tuple[str, str, str]:
        """The form of the query, what it selects or constructs, and what follows the pattern."""
        chance = self.chance
        known = [*self.nodes, *self.numbers, *self.products, *self.texts] or ["?x0"]
        if chance.random() < 0.05:
            return "ASK", "", ""
        if self.nodes and chance.random() < 0.08:
            subject, value = chance.choice(self.nodes), chance.choice(known)
            return "CONSTRUCT", f"{{ {subject} ex:made {value} . ex:c ex:made {subject} }}", ""
        if self.numbers and self.nodes and chance.random() < 0.35:
            key = chance.choice(self.nodes)
            call = self.aggregate()
            if chance.random() < 0.3:
                return "SELECT", f"({call} AS ?total)", ""
            having = f" HAVING ({self.aggregate()} > 1)" if chance.random() < 0.3 else ""
            if having and chance.random() < 0.3:
                having = f" HAVING ({self.aggregate()} > 1 || {key} = ex:a)"
            call = f"{call} + 1" if chance.random() < 0.2 else call
            more = f" ({self.aggregate()} AS ?more)" if chance.random() < 0.2 else ""
            return "SELECT", f"{key} ({call} AS ?total){more}", f" GROUP BY {key}{having}"
        names = list(dict.fromkeys(chance.choice(known) for _ in range(chance.randint(1, 3))))
        return "SELECT", "DISTINCT " + " ".join(names), ""

    def aggregate(self) -> str:
        chance = self.chance
        function = chance.choice(("COUNT", "SUM", "AVG", "MIN", "MAX"))
        if function == "COUNT" and chance.random() < 0.5:
            return "COUNT(*)"
        distinct = "DISTINCT " if chance.random() < 0.2 else ""
        return f"{function}({distinct}{chance.choice(self.numbers)})"


def random_triple(chance: random.Random) -> tuple[URIRef, URIRef, URIRef | Literal]:
    if chance.random() < 0.1:
        return chance.choice(NODES), NAMED, chance.choice(TEXTS)
    if chance.random() < 0.5:
        return chance.choice(NODES), chance.choice(LINKS), chance.choice(NODES)
    return chance.choice(NODES), chance.choice(NUMBERED), Literal(chance.randint(0, 4))


def random_events(chance: random.Random, times: range) -> list[Event]:
    events: list[Event] = []
    for t in times:
        for _ in range(chance.choice((0, 1, 2, 3))):
            event = (t, chance.choice(STREAMS), random_triple(chance))
            if event not in events:
                events.append(event)
    return events
