"""Benchmarks: what docs/performance.md shows, runnable by anyone. Not part of `make test`."""
