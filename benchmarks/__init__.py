"""Benchmarks: `python -m benchmarks SUITE`. Not part of the package."""
