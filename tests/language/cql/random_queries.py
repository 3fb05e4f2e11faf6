"""Random scripts of CQL with random streams, for the comparison with SQLite."""

import random

from tests.language.cql.sqlite_evaluator import COLUMNS, STREAMS, Event, Row, Step

VALUES = range(-2, 4)


class Drawn:
    """Draws one script; `columns` are those of the views so far."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.columns = dict(COLUMNS)
        self.streams = set(STREAMS)

    def steps(self) -> list[Step]:
        steps = []
        for number in range(self.chance.choice((0, 0, 1, 1, 2))):
            steps.append(self.step(f"v{number}"))
            name, columns, _, operator = steps[-1]
            self.columns[name] = columns
            if operator:
                self.streams.add(name)
        return [*steps, self.step("")]

    def step(self, name: str) -> Step:
        chance = self.chance
        kind = chance.random()
        width = chance.randint(1, 2)
        if kind < 0.2:
            text = self.select(width)
            for _ in range(chance.choice((1, 1, 2))):
                word = chance.choice(("UNION", "EXCEPT", "INTERSECT"))
                text = f"{text} {word} {self.select(width)}"
        elif kind < 0.5:
            text = self.grouped(width)
        else:
            text = self.select(width)
        operator = chance.choice(("ISTREAM", "DSTREAM", "RSTREAM")) if chance.random() < 0.3 else ""
        return Step(name, ("k", "n")[:width], text, operator)

    def window(self, name: str) -> str:
        chance = self.chance
        kinds = ["NOW", "RANGE", "RANGE", "SLIDE", "UNBOUNDED"]
        if name in STREAMS:
            kinds += ["ROWS", "PARTITION"]
        match chance.choice(kinds):
            case "NOW":
                return "[NOW]"
            case "RANGE":
                return f"[RANGE {chance.randint(0, 4)}]"
            case "SLIDE":
                slide = chance.randint(1, 4)
                return f"[RANGE {chance.randint(slide, 5)} SLIDE {slide}]"
            case "UNBOUNDED":
                return "[RANGE UNBOUNDED]"
            case "ROWS":
                return f"[ROWS {chance.randint(1, 3)}]"
        keys = chance.sample(self.columns[name], chance.choice((1, 1, 2)))
        return f"[PARTITION BY {', '.join(keys)} ROWS {chance.randint(1, 2)}]"

    def sources(self, prefix: str, most: int, joins: bool = False) -> tuple[str, list[str]]:
        """The FROM clause, and the columns with their aliases."""
        texts, columns = [], []
        for number in range(self.chance.randint(1, most)):
            name = self.chance.choice(list(self.columns))
            alias = f"{prefix}{number}"
            window = self.window(name) if name in self.streams else ""
            texts.append(f"{name}{window} AS {alias}")
            columns += [f"{alias}.{column}" for column in self.columns[name]]
        if joins and len(texts) == 2 and self.chance.random() < 0.2:
            word = self.chance.choice(("JOIN", "INNER JOIN"))
            return f"{texts[0]} {word} {texts[1]} ON {self.condition(columns, 1, True)}", columns
        return ", ".join(texts), columns

    def value(self, columns: list[str], divides: bool = True) -> str:
        chance = self.chance
        kind = chance.random()
        if kind < 0.65:
            return chance.choice(columns)
        if kind < 0.8:
            return str(chance.choice(VALUES))
        operator = chance.choice("+-*/" if divides else "+-*")
        left, right = chance.choice(columns), self.value(columns, divides)
        return f"({left} {operator} {right})"

    def condition(self, columns: list[str], depth: int, nested: bool = False) -> str:
        chance = self.chance
        kind = chance.random()
        if depth and kind < 0.35:
            word = chance.choice(("AND", "AND", "OR"))
            left = self.condition(columns, depth - 1, nested)
            return f"({left} {word} {self.condition(columns, depth - 1, nested)})"
        if depth and kind < 0.45:
            return f"NOT {self.condition(columns, depth - 1, nested)}"
        if not nested and kind < 0.65:
            return self.subquery(columns)
        left, right, other = (self.value(columns) for _ in range(3))
        if kind < 0.7:
            return f"{left} {chance.choice(('BETWEEN', 'NOT BETWEEN'))} {right} AND {other}"
        if kind < 0.75:
            return f"{left} {chance.choice(('IN', 'NOT IN'))} ({right}, {other})"
        operator = chance.choice(("=", "=", "=", "<>", "<", "<=", ">", ">="))
        return f"{left} {operator} {right}"

    def subquery(self, outside: list[str]) -> str:
        chance = self.chance
        prefix = f"x{chance.randrange(10**6)}_"
        sources, columns = self.sources(prefix, 2)
        where = ""
        if chance.random() < 0.8:
            nested = chance.random() < 0.8
            where = f" WHERE {self.condition([*columns, *outside], 1, nested)}"
        word = chance.choice(("EXISTS", "NOT EXISTS", "IN", "NOT IN"))
        if "EXISTS" in word:
            return f"{word} (SELECT * FROM {sources}{where})"
        item = self.value(columns, divides=False)
        query = f"SELECT {item} FROM {sources}{where}"
        return f"{self.value(outside, divides=False)} {word} ({query})"

    def select(self, width: int) -> str:
        sources, columns = self.sources("x", 2, joins=True)
        items = ", ".join(self.value(columns) for _ in range(width))
        where = f" WHERE {self.condition(columns, 2)}" if self.chance.random() < 0.8 else ""
        return f"SELECT DISTINCT {items} FROM {sources}{where}"

    def grouped(self, width: int) -> str:
        chance = self.chance
        sources, columns = self.sources("x", 2)
        where = f" WHERE {self.condition(columns, 1)}" if chance.random() < 0.6 else ""
        keys: list[str] = []
        if chance.random() < 0.7:
            keys = chance.sample(columns, min(len(columns), chance.choice((1, 1, 2))))
        items = [*keys[: width - 1]]
        while len(items) < width:
            items.append(self.aggregate(columns))
            if chance.random() < 0.2:
                other = chance.choice((self.aggregate(columns), *keys))
                items[-1] += f" {chance.choice('+-*')} {other}"
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        having = ""
        if keys and chance.random() < 0.4:
            operator = chance.choice(("=", "<", ">="))
            having = f" HAVING {self.aggregate(columns)} {operator} {chance.choice(VALUES)}"
            if chance.random() < 0.3:
                word = chance.choice(("OR", "AND", "AND NOT"))
                having += f" {word} {keys[0]} > {self.aggregate(columns)}"
        return f"SELECT {', '.join(items)} FROM {sources}{where}{group}{having}"

    def aggregate(self, columns: list[str]) -> str:
        chance = self.chance
        function = chance.choice(("COUNT", "SUM", "AVG", "MIN", "MAX"))
        if function == "COUNT" and chance.random() < 0.6:
            return "COUNT(*)"
        distinct = "DISTINCT " if chance.random() < 0.2 else ""
        return f"{function}({distinct}{self.value(columns, divides=False)})"


def random_steps(chance: random.Random) -> list[Step]:
    return Drawn(chance).steps()


def random_events(chance: random.Random, times: range) -> list[Event]:
    """Rows of both streams, no two of them equal at a time point."""
    events: list[Event] = []
    for t in times:
        for _ in range(chance.choice((0, 0, 1, 1, 2, 3))):
            row = (chance.choice(VALUES), chance.choice(VALUES))
            event = (t, chance.choice(STREAMS), row)
            if event not in events:
                events.append(event)
    return events


def random_relation(chance: random.Random) -> list[Row]:
    rows = {(chance.choice(VALUES), chance.choice(VALUES)) for _ in range(chance.randint(1, 3))}
    return sorted(rows)
