"""Detectors of layouts, roles and scales: one per module, each from plain values to findings."""
