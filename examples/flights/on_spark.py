"""The year of flights on Spark: the table of the main demonstration, from the same rules.

It needs the extra `spark`, and Java 17 or later.
"""

import time

from flights import flights_stream
from rich.console import Console

import larspark as lp
from larspark.spark import replay
from run import FACTS, PROGRAM, _findings


def main() -> None:
    console = Console()
    begun = time.perf_counter()
    answers = replay(lp.Program.load(PROGRAM), flights_stream(), progress=console.print)
    _findings(console, [] if answers is None else list(answers.intervals()))
    seconds = time.perf_counter() - begun
    console.print(f"{FACTS:,} facts on Spark, its start included, in {seconds:.1f} s.")


if __name__ == "__main__":
    main()
