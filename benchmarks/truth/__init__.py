"""Rates, coverages and agreement with other programs, where the truth is known: `python -m benchmarks.truth.NAME`."""
