"""Benchmarks: published workloads on the engines and on hand-written queries."""

from larspark.bench.measurement_output import bench_command
from larspark.bench.suite import Benchmark, benchmarks, run_benchmarks

__all__ = ["Benchmark", "bench_command", "benchmarks", "run_benchmarks"]
