"""The codes of problems that benchmarks report."""

CODES: dict[str, str] = {
    "L551": "there is no benchmark of this name",
    "L552": "two engines gave different answers, so their times say nothing",
}
