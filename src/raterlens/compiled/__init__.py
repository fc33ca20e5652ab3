"""Compiled arithmetic that large data need everywhere. Nothing here is loaded where data are small."""
