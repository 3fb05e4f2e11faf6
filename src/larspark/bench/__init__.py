"""Measurements: the workloads of the field, on the engines and on queries written by hand."""

from larspark.bench.command import bench_command
from larspark.bench.registry import Benchmark, benchmarks, run_benchmarks

__all__ = ["Benchmark", "bench_command", "benchmarks", "run_benchmarks"]
