"""The streams of the examples that are made up: random, but the same every time.

`python examples/streams.py` writes them anew.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent


def cooling() -> Iterator[list[str]]:
    """Water that is heated until it boils, cools down, and freezes at last."""
    chance = random.Random(4)
    degrees = 80.0
    for minute in range(60):
        target = 160 if minute < 25 else 40 if minute < 45 else -20
        degrees += 0.15 * (target - degrees) + chance.gauss(0, 3)
        yield [f"temp({round(degrees)})"]


def caching() -> Iterator[list[str]]:
    """A parameter of requests: a level is kept for twelve time points, then another is chosen."""
    chance = random.Random(3)
    for _ in range(5):
        low, high = chance.choice([(0, 12), (12, 18), (18, 30)])
        for _ in range(12):
            yield [f"alpha({chance.randrange(low, high)})"]


def content_retrieval() -> Iterator[list[str]]:
    """A small network: who asks for which video, who has it, who is down, how good lines are."""
    chance = random.Random(11)
    nodes, items = range(1, 7), ("film", "song")
    for minute in range(30):
        atoms = [f"quality({node},{chance.randrange(3)})" for node in nodes if minute % 10 == 0]
        atoms += [f"req({item},{chance.choice(nodes)})" for item in items if chance.random() < 0.2]
        if chance.random() < 0.3:
            atoms.append(f"cache({chance.choice(items)},{chance.choice(nodes)})")
        if 12 <= minute <= 22:
            atoms.append("down(3)")
        yield atoms


def numbers() -> Iterator[list[str]]:
    """Two hours of a plant: errors of three machines, four sensors, orders of three customers."""
    chance = random.Random(5)
    degrees = {"s1": 50.0, "s2": 48.0, "s3": 52.0, "s4": 45.0}
    for minute in range(120):
        atoms = []
        for machine, often in (("m1", 0.1), ("m2", 0.25), ("m3", 0.02)):
            if chance.random() < often:
                atoms.append(f"err({machine},{chance.choice((404, 500, 503))})")
        for sensor in degrees:
            target = 72 if sensor == "s1" and 30 <= minute < 70 else 50
            degrees[sensor] += 0.2 * (target - degrees[sensor]) + chance.gauss(0, 1)
            if minute % 3 == int(sensor[1]) % 3:
                atoms.append(f"temp({sensor},{round(degrees[sensor], 1)})")
        ordering = [c for c in ("ann", "bob", "eve") if minute < 90 and chance.random() < 0.07]
        yield atoms + [f"order({customer},o{minute})" for customer in ordering]


STREAMS = {
    "cooling": cooling,
    "caching": caching,
    "content-retrieval": content_retrieval,
    "numbers": numbers,
}


def lines(name: str) -> str:
    """A stream as JSON Lines, a line for each time point."""
    return "".join(
        json.dumps({"t": t, "atoms": atoms}) + "\n" for t, atoms in enumerate(STREAMS[name]())
    )


if __name__ == "__main__":
    for name in STREAMS:
        (HERE / name / "stream.jsonl").write_text(lines(name))
