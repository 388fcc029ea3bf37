"""Benchmarks of authorization."""
