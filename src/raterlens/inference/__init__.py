"""Inference: how sure the estimates are."""
