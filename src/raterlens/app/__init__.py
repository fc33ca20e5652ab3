"""Ways to use Raterlens without writing code."""
