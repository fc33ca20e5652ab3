"""Ratings with a known truth: simulation, designs, and the example that comes with the package."""
