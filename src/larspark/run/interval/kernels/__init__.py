"""The hot loops, over arrays of 64-bit integers: compiled with Numba where it is installed."""
