"""Judges measured against the truth: known answers, consensus labels, pass rates, replacement of people."""
