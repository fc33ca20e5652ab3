"""Measured comparisons with other software."""
