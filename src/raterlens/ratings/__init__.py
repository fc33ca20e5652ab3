"""Ratings: coded and immutable, in memory or packed on disk, and the design they form."""
