"""Python's own dataclass."""

from dataclasses import dataclass

__all__ = ["dataclass"]
