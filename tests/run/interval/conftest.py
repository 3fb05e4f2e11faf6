"""Kernels are tested in both forms: compiled, and as Python runs them."""

from collections.abc import Iterator
from typing import Any

import pytest

from larspark.run.interval.kernels import (
    accumulate,
    cover,
    expire,
    last_by_group,
    last_tuples,
    probe,
    profile,
    remove,
    saved_groups,
    scan,
    select,
    text_lookup,
)
from larspark.run.interval.kernels.compile import Kernel

MODULES = (
    accumulate,
    cover,
    expire,
    last_by_group,
    last_tuples,
    probe,
    profile,
    remove,
    saved_groups,
    scan,
    select,
    text_lookup,
)


@pytest.fixture(params=["compiled", "plain"])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let all kernels be run one way."""
    kernels: list[Kernel[Any, Any]] = [
        found for module in MODULES for found in vars(module).values() if isinstance(found, Kernel)
    ]
    before = [kernel.run for kernel in kernels]
    for kernel in kernels:
        kernel.run = kernel.compiled() if request.param == "compiled" else kernel.interpret
    yield
    for kernel, run in zip(kernels, before, strict=True):
        kernel.run = run
