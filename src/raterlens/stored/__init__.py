"""Ratings on disk: packed once, then memory-mapped, so that fits start at once and data may exceed memory."""
