"""Kernels: the hot loops, over arrays of 64-bit integers, compiled with Numba if installed."""
