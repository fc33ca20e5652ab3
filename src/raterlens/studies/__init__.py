"""Ratings with a known truth: simulation, and the example that comes with the package."""
